"""Differentially private selection of records from a pool."""
