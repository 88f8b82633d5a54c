"""Measurement protocols as pure step functions, role by role."""
