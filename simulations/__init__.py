"""Simulations of K x S parties in one process, and experiments with them."""
