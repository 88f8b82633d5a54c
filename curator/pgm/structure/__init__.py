"""The structure of a graphical model: elimination orders, junction trees, structural zeros."""
