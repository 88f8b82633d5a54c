"""What a release will cost and bring, before anything is charged."""
