"""Where the rows of a party live."""
