"""Requests of curators, and the operator's signed decisions on them, as they are stored."""
