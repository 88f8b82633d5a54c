"""Parameters of PrivBayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ....common.forms.values import whole
from ..parts.parameters import Positive, Share, check_parameters
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
    network_share: Share = 0.2
    noises_per_cell: Positive = 4.0
    group: Annotated[int, whole(2)] = 8
    drawing: Drawing = "without-replacement"
    consistency: bool = True

    def __post_init__(self) -> None:
        check_parameters(self)
