"""Public tables to try things on."""
