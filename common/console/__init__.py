"""Pages for people who do not work in a terminal: served on this machine only, while one process runs."""
