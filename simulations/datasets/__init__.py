"""Public tables for trying out releases."""
