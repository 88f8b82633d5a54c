"""Parameters of PrivBayes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ....common.errors import DataError
from .network import Drawing


@dataclass(frozen=True)
class PrivBayesSettings:
    """Budget split, limits of tables and method of drawing.

    Attributes:
        variant: "default", or "paper" for the text of the paper.
        network_share: share of the budget for learning the network (beta_1 + beta_2).
        noises_per_cell: smallest average count of a table's cells, as a multiple of the noise.
        group: codes that become one in the coarser version of an attribute of more than group^2 codes.
        drawing: "without-replacement" (section 3.3) or "with-replacement" (section 2.3).
        consistency: whether tables are made consistent (section 3.2) or not (section 3.3.1).
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
