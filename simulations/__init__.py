"""K x S parties in one process."""
