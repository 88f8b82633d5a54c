"""Attacks on a release, for the owner of the real rows."""
