"""The console of a curator: one plan, its parties, and the release that is made from it."""
