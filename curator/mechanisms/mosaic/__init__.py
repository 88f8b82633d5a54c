"""The default mechanism."""
