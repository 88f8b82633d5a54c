"""A party's role in the protocol `masked`."""
