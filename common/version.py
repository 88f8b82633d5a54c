"""The version of the distribution; certificates, descriptions and reports name it."""

__version__ = "0.1.0"
