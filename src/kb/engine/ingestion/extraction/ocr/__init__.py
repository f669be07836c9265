"""What pictures say. `page` reads one; `child` does so in a process of its own."""
