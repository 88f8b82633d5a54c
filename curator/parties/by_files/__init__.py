"""Parties that nobody dials: calls go out as files; people carry them, or parties fetch them over HTTPS."""
