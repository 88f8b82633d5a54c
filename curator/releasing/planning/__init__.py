"""What is to be released: the plan, its file and its changes."""
