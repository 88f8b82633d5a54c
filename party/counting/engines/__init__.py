"""The engines that count: DuckDB in this process, others where the rows live."""
