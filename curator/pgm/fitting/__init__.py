"""Fitting a graphical model to noisy marginals."""
