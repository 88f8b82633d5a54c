"""Releases of several related tables, in which a person with all rows is the unit of privacy."""
