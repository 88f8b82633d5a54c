"""A drafted domain: read off rows or known publicly, and reviewed by a person."""
