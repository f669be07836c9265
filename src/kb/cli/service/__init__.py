"""kb as a service of one user: the unit that systemd is given, and what is asked of systemd."""
