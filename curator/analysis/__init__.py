"""What an analyst does with a finished release: rows, queries, estimates, intervals. It costs no budget."""
