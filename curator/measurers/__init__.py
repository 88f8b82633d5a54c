"""Measurers: how a mechanism gets its noisy marginals."""
