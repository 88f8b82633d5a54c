"""From a plan to a release: checks, the one path of a release, its results."""
