"""Alignment: parties of a slice give the rows of one person one position, and nobody learns who is where."""
