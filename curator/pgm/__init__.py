"""Graphical models: junction trees, inference, estimation and sampling of rows."""
