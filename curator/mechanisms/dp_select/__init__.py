"""DP-Select: selection of generated rows under differential privacy."""
