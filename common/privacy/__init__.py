"""Budgets, accounting, noise and ledger values."""
