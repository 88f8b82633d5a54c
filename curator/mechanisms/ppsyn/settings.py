"""Parameters of PPSyn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....common.data.domain import Domain
from ....common.data.workload import Workload
from ....common.errors import DataError
from ..parts.allocation import check_smallest


@dataclass(frozen=True)
class PPSynSettings:
    """What is selected, at what cost, and how large the model may grow.

    Attributes:
        variant: "default", or "paper" for the text of Algorithms 1 to 4, which only a simulation can run.
        eta: the share of a marginal's contribution that noise and partition may take.
        one_way: share of the budget for one-way marginals.
        scores: share of the budget to select by.
        rounds: T; in the paper's variant a round selects one marginal, and there may be more rounds.
        maxsize: candidates with more cells are dropped.
        max_model_mb: limit of the model's size; grows to this with the rounds.
    """

    variant: Literal["default", "paper"] = "default"
    eta: float = 0.7
    one_way: float = 0.1
    scores: float = 0.05
    rounds: int = 4
    maxsize: int = 10_000
    max_model_mb: float = 32.0

    def __post_init__(self) -> None:
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        if not 0 < self.eta <= 1:
            raise DataError(f"eta: expected a share in (0, 1], got {self.eta}")
        for name in ("one_way", "scores"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        if self.one_way + self.scores >= 1:
            raise DataError("one_way and scores leave nothing for the rounds; lower them")
        if self.rounds < 1 or self.maxsize < 1 or not self.max_model_mb > 0:
            raise DataError("expected rounds >= 1, maxsize >= 1 and max_model_mb > 0")

    def candidates(self, domain: Domain, workload: Workload) -> Workload:
        """The workload's marginals, without those of too many cells.

        Raises:
            DataError: none is small enough.
            ModelError: not even the smallest makes a model within the limit.
        """
        candidates = workload.refined(domain, self.maxsize)
        check_smallest(domain, candidates.cliques, self.max_model_mb)
        return candidates
