"""What a release leaves: its table and model, as files and as data frames."""
