"""ABSyn."""
