"""Rows of related tables: where they are in their order, and what a record of one of the tables knows."""
