"""How a party answers under each protocol."""
