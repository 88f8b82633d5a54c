"""DP-GAN: a generator trained under differential privacy."""
