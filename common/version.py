"""Version of the distribution, stated in certificates, descriptions and reports."""

__version__ = "0.1.0"
