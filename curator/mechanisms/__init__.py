"""Mechanisms: which marginals to measure, at what cost, and the model that is fitted to them."""
