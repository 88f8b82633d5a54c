"""Synthetic rows from a model, adjusted to its marginals."""
