"""Forms of files that people write, and of numbers: one definition checks a file and states its schema."""
