"""The parties of a release as the curator reaches them, and what it remembers of them."""
