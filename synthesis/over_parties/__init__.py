"""Related tables, and people with several rows, over parties on this machine."""
