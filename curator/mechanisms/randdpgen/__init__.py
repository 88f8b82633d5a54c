"""RandDPGen."""
