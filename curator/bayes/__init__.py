"""Bayesian networks over attributes and their coarsened versions."""
