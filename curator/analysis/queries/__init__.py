"""Queries in SQL on a release, answered from its model with intervals."""
