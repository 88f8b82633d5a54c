"""Estimates about the real table or its population, from a finished release. They cost no budget."""
