"""Numbers within bins: scales, cells, decimal lattices and densities."""
