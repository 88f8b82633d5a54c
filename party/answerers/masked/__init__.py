"""A party's part in the protocol `masked`."""
