"""PPSyn."""
