"""What each paper's experiments are, with the numbers that it prints."""
