"""Parameters of ABSyn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ....common.errors import DataError
from ....common.forms.values import whole
from ..parts.parameters import Positive, Share, check_parameters


@dataclass(frozen=True)
class ABSynSettings:
    """Budget split, limits of the model, and estimator.

    Attributes:
        variant: "default", or "paper" for the text of the paper.
        one_way: share of the budget for one-way marginals.
        scores: share of the budget for the R-scores of all pairs; the rest is for measurements.
        max_clique_cells: tau; pairs that would make a larger clique are not selected.
        max_model_mb: limit of the model's size.
        estimator: "exact" fits the whole model, "parallel" fits its cliques separately (Algorithm 4).
    """

    variant: Literal["default", "paper"] = "default"
    one_way: Share = 0.1
    scores: Share = 0.1
    max_clique_cells: Annotated[int, whole(4)] = 1_000_000
    max_model_mb: Positive = 32.0
    estimator: Literal["exact", "parallel"] = "exact"

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.one_way + self.scores >= 1:
            raise DataError("expected one_way + scores < 1, so that pairs can be measured; lower them")
