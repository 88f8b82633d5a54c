"""What the releases of one table promise together."""
