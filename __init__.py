"""Differentially private synthetic tables from data that lie in pieces at several institutions."""

__version__ = "0.1.0"
