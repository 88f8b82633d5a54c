"""What the noise of a first step may hide of a column that it learned."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Unseen:
    """Records of a column that may have other values than the release has; upper limits, public.

    Attributes:
        name: the column.
        usual: code as which `moved` records count.
        moved: records that may have no value, or one that the release does not list.
        below: records that may lie below the bounds of numbers or dates, and count at the lower one.
        above: the same above the upper one.
    """

    name: str
    usual: int
    moved: float
    below: float = 0.0
    above: float = 0.0

    def __post_init__(self) -> None:
        limits = (self.moved, self.below, self.above)
        if self.usual < 0 or not all(0 <= limit < math.inf for limit in limits):
            raise ValueError("expected a code and numbers of records")
