"""Work: what a release may take in time and memory, and how fast this machine does it; from public facts."""
