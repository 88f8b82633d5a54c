"""Who is in a federation: cards, keys and hand-overs of identities."""
