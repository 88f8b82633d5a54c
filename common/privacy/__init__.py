"""Budgets, costs, conversions and noise."""
