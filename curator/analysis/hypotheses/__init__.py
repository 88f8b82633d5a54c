"""Tests of hypotheses about the population, from the noisy measurements of a release."""
