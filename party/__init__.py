"""The program of one institution."""
