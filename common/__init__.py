"""What both sides of a release must agree on."""
