"""Alignments of rows before a release."""
