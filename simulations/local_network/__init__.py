"""A federation of daemons on this machine."""
