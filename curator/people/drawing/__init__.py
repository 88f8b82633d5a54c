"""Rows of related tables are drawn: how many, which ones, and what they keep to."""
