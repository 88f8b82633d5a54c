"""Values, messages and protocols that the parties and the curator share."""
