"""Parties without a network: calls go out as files, and people carry the answers back."""
