"""What a party or dealer has promised and spent: its ledger, and releases as the ledger keeps them."""
