"""Mechanisms that the papers compare with, as far as their published descriptions allow."""
