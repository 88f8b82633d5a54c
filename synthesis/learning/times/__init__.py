"""What columns of times are to each other, and when in a week and in a day they are."""
