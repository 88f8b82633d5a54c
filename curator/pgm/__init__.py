"""Graphical models: junction trees, inference, estimation and synthetic rows."""
