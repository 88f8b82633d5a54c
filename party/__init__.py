"""Program of one institution."""
