"""Reports of releases and evaluations for readers."""
