"""How close a synthetic table is to the real one, and how useful: not for publication."""
