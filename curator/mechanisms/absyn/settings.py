"""Parameters of ABSyn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....common.errors import DataError


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
    one_way: float = 0.1
    scores: float = 0.1
    max_clique_cells: int = 1_000_000
    max_model_mb: float = 32.0
    estimator: Literal["exact", "parallel"] = "exact"

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if self.estimator not in ("exact", "parallel"):
            raise DataError(f"estimator: expected 'exact' or 'parallel', got {self.estimator!r}")
        for name in ("one_way", "scores"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        if self.one_way + self.scores >= 1:
            raise DataError("expected one_way + scores < 1, so that pairs can be measured; lower them")
        if self.max_clique_cells < 4 or not self.max_model_mb > 0:
            raise DataError("expected max_clique_cells >= 4 and max_model_mb > 0")
