"""Messages between a curator and its parties."""
