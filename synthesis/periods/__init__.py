"""Releases of the same people, period after period, under one promise."""
