"""A dealer as a process: it deals the randomness of masked releases, and holds no rows."""
