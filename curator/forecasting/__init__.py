"""Forecasts of a release: cost, noise, traffic and time, before anything is charged."""
