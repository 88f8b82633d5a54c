"""How close the values of two tables are, not their codes: not for publication."""
