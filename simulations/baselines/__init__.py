"""Baselines of the papers' experiments, reconstructed from published descriptions."""
