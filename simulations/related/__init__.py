"""Releases of related tables, by somebody who holds them all."""
