"""Rules: public statements of a table's owner about its rows, which no synthetic row breaks."""

from .impossible import with_atoms
from .reading import read_rules
from .rule import Rule

__all__ = ["Rule", "read_rules", "with_atoms"]
