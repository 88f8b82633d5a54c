"""Forms of files that people write, and of their numbers: one definition checks a file and states its schema."""
