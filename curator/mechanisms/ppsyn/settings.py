"""Parameters of PPSyn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....common.data.domain import Domain
from ....common.data.workload import Workload
from ....common.errors import DataError
from ..parts.allocation import check_smallest
from ..parts.parameters import Part, Positive, Share, Times, check_parameters


@dataclass(frozen=True)
class PPSynSettings:
    """Budget split, candidates and limits of the model.

    Attributes:
        variant: "default", or "paper" for the text of Algorithms 1 to 4, which only a simulation can run.
        eta: share of a marginal's contribution that noise and partition may lose.
        one_way: share of the budget for one-way marginals.
        scores: share of the budget for the selection.
        rounds: T; in the paper's variant a round selects one marginal, and a run may have more rounds.
        maxsize: most cells of a candidate; larger ones are dropped.
        max_model_mb: limit of the model's size; grows to this with the rounds.
    """

    variant: Literal["default", "paper"] = "default"
    eta: Part = 0.7
    one_way: Share = 0.1
    scores: Share = 0.05
    rounds: Times = 4
    maxsize: Times = 10_000
    max_model_mb: Positive = 32.0

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.one_way + self.scores >= 1:
            raise DataError("expected one_way + scores < 1, so that rounds get a share; lower them")

    def candidates(self, domain: Domain, workload: Workload) -> Workload:
        """The workload's marginals with at most `maxsize` cells.

        Raises:
            DataError: none is small enough.
            ModelError: even the smallest makes a model beyond the limit.
        """
        candidates = workload.refined(domain, self.maxsize)
        check_smallest(domain, candidates.cliques, self.max_model_mb)
        return candidates
