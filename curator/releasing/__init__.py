"""From a plan to a release: checks, orchestration and results."""
