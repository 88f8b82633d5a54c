"""How far a release may be from the table in what no measurement says."""
