"""The one who coordinates a release."""
