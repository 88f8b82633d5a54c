"""Tables from data frames and files, and back."""
