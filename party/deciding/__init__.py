"""Where an operator decides on requested releases: what is explained, and the commands."""
