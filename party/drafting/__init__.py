"""A drafted domain: what is known publicly of some columns, and its review by a person."""
