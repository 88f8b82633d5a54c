"""What every participant of a release shares with the others, and the role that deals randomness."""
