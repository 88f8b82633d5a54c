"""PPSyn: marginals measured over partitions."""
