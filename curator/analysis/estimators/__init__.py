"""Estimates about the real table, or the population behind it, from a finished release. They cost no budget."""
