"""Arithmetic of secure protocols: integers modulo a power of two, and modulo a prime."""
