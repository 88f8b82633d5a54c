"""Single columns of a synthetic table: with types, and computed from others."""
