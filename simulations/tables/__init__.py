"""Tables from data frames, and back."""
