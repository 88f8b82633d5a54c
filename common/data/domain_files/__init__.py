"""Domain files: their form, and how their entries are read."""
