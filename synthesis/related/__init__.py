"""Related tables released by somebody who holds them all."""
