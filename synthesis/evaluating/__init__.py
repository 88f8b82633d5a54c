"""Evaluations of releases, by the command and of data frames: not for publication."""
