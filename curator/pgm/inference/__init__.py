"""Exact marginals of a junction tree's distribution."""
