"""A generative adversarial network whose critic is trained under differential privacy."""
