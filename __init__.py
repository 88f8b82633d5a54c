"""Differentially private synthetic tables from data that lie in pieces at several institutions."""
