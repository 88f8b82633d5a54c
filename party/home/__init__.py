"""The folder of a party or dealer, and what its daemon opens there."""
