"""Marginals of a party's rows, counted by the engine in which the rows live."""
