"""DP-Select: selection of generated rows."""
