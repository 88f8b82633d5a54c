"""The first step of a release from one table: what its columns hold, learned under differential privacy."""
