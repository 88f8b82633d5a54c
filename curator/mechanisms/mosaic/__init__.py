"""Mosaic, the default mechanism."""
