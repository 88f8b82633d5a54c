"""A party's role when rows are aligned."""
