"""Databases of the OMOP common data model: made up, read, released and checked."""
