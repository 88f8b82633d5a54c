"""The console of a party: what its institution decides on, and what it has decided and spent so far."""
