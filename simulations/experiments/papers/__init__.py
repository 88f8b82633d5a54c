"""The experiments of each paper, with the numbers that it reports."""
