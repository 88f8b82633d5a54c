"""An institution: its rows, whom it trusts, and what it checks before it takes part in a release."""
