"""Certificates: issued, signed, verified."""
