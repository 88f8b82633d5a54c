"""What a release tells its readers."""
