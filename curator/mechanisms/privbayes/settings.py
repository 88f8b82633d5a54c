"""Parameters of PrivBayes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ....common.errors import DataError
from .network import Drawing


@dataclass(frozen=True)
class PrivBayesSettings:
    """How the budget is split, how large tables may be and how rows are drawn.

    Attributes:
        variant: "default", or "paper" for the paper's own text.
        network_share: share of the budget for learning the network (beta_1 + beta_2).
        noises_per_cell: a table is small enough if its average count is at least so many times the noise.
        group: an attribute of more than group^2 codes gets versions in which `group` codes are one.
        drawing: "without-replacement" (section 3.3) or "with-replacement" (section 2.3).
        consistency: whether tables are made consistent (section 3.2) or taken as they are (section 3.3.1).
    """

    variant: Literal["default", "paper"] = "default"
    network_share: float = 0.2
    noises_per_cell: float = 4.0
    group: int = 8
    drawing: Drawing = "without-replacement"
    consistency: bool = True

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if self.drawing not in ("without-replacement", "with-replacement"):
            raise DataError(
                f"drawing: expected 'without-replacement' or 'with-replacement', got {self.drawing!r}"
            )
        if not 0 < self.network_share < 1:
            raise DataError(f"network_share: expected a share in (0, 1), got {self.network_share}")
        if not 0 < self.noises_per_cell < math.inf or self.group < 2:
            raise DataError("expected noises_per_cell > 0 and group >= 2")
