"""Forms of files that people write: one definition checks a file and states its JSON schema."""
