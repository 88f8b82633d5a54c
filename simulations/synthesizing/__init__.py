"""A private release of one table by somebody who holds it whole, in one call or command."""
