"""What goes on beside the jobs, and nobody waits for: forgetting, keeping search quick, checking what is stored."""
