"""What a column may hold, for each kind of attribute: how its values become codes, and codes values."""
