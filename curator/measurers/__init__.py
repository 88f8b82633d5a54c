"""Measurers: the curator's side of protocols, which gives mechanisms noisy marginals."""
