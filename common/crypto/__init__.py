"""Randomness, keys, identities, certificates and sealed streams."""
