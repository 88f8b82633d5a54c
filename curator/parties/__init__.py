"""The curator's connections to parties, and its journal of their answers."""
