"""The forms of cells, public and the same for every table: names, shapes, and what is read in each."""
