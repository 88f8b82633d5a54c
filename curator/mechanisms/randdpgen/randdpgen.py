"""RandDPGen: rounds that select marginals, measure them and estimate the distribution.

Source: Zhang et al., "High-dimensional Hybrid Partitioned Data Release under Differential Privacy",
Algorithm 2. `variant="paper"` follows its text (`paper`). The default differs:

- If the protocol gives scores, all candidates are scored in a few rounds that each select several
  (`by_scores`).
- Otherwise it selects by noisy marginals (`by_marginals`), which is post-processing; the paper spends most of
  every round's budget on an exponential mechanism over them.
- The candidates' noisy marginals are also fitted if the model's cliques contain them.
- It starts from one-way marginals, not from the uniform distribution.
- Candidates that noise would dominate at their part of the budget are dropped (`measurable`).
- The estimate of a candidate uses all measurements that contain it, not only its first one.
- The last round measures all marginals of the model once more, split by `allocate`, instead of one marginal.
- Budgets are split by number of cells, and the model's size has a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.workload import Workload
from ....common.errors import DataError
from ....common.privacy.budget import Budget
from ...measurers.measurer import Measurer
from ..mechanism import GaussianMechanism
from ..parts.fitted import FittedModel, Report
from ..parts.parameters import Cells, Positive, Share, Times, check_parameters
from ..parts.steps import PublicFacts, Step
from .by_marginals import MarginalRun, steps_by_marginals
from .by_scores import ScoredRun, steps_by_scores
from .paper import PaperRun, steps_of_the_paper


@dataclass(frozen=True)
class RandDPGen(GaussianMechanism):
    """The mechanism of the RandDPGen paper, for partitioned tables.

    Attributes:
        variant: "default", or "paper" for the text of Algorithm 2.
        alpha: share of the budget for noisy marginals of all candidates, for the selection.
        beta: share of the budget for the measurements of rounds; only in the paper's variant, where the rest
            is for an exponential mechanism.
        one_way: share of the budget for one-way marginals; only in the default.
        rounds_per_attribute: T = rounds_per_attribute * d bounds the number of rounds.
        maxsize: most cells of a candidate; larger ones are dropped (line 3).
        max_model_mb: limit of the model's size; grows to this with the budget spent.
        selection: by "scores", in the default and if the measurer gives them (then alpha and
            rounds_per_attribute are ignored), or by noisy "marginals" of all candidates.
        allocation: split of the first phase, by number of "cells", which minimises the expected error, or
            of "attributes", as in the paper's formula (line 4).
    """

    name: ClassVar[str] = "randdpgen"

    variant: Literal["default", "paper"] = "default"
    alpha: Share = 0.3
    beta: Share = 0.2
    one_way: Share = 0.1
    rounds_per_attribute: Times = 16
    maxsize: Cells = 10_000
    max_model_mb: Positive = 32.0
    selection: Literal["scores", "marginals"] = "scores"
    allocation: Literal["cells", "attributes"] = "cells"

    def __post_init__(self) -> None:
        check_parameters(self)
        first = self.alpha + (self.beta if self.paper else self.one_way)
        if first >= 1:
            raise DataError("alpha with beta or one_way leaves no budget for the rounds; lower them")

    @classmethod
    def of_the_paper(cls) -> RandDPGen:
        """The parameters of the paper's experiments (section 6.1)."""
        return cls(variant="paper", alpha=0.1, beta=0.2, allocation="attributes")

    @property
    def paper(self) -> bool:
        """Whether the paper's text is followed."""
        return self.variant == "paper"

    def granted(self, budget: Budget) -> Fraction:
        """The exact calibration for the default, which is Gaussian; Theorem 5.1 for the paper's variant."""
        return budget.granted_by_bun_steinke() if self.paper else budget.granted(gaussian_only=True)

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`.

        Raises:
            DataError: no candidate is small enough.
        """
        return self._steps(facts, workload.refined(facts.domain, self.maxsize).cliques)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: no candidate is small enough.
        """
        candidates = workload.refined(measurer.domain, self.maxsize)
        steps, limit = self._steps(measurer, candidates.cliques), self.max_model_mb
        if self.paper:
            return PaperRun(measurer, candidates, steps, limit, stream, report).run()
        if self._by_scores(measurer):
            return ScoredRun(measurer, candidates, steps, limit, report).run()
        return MarginalRun(measurer, candidates, steps, limit, report).run()

    def _by_scores(self, facts: PublicFacts) -> bool:
        return self.selection == "scores" and facts.scores_exactly

    def _steps(self, facts: PublicFacts, cliques: Sequence[Clique]) -> tuple[Step, ...]:
        alpha, beta, one_way = Fraction(self.alpha), Fraction(self.beta), Fraction(self.one_way)
        rounds, by_cells = self.rounds_per_attribute * len(facts.domain), self.allocation == "cells"
        if self.paper:
            return steps_of_the_paper(cliques, alpha, beta, rounds, by_cells)
        if self._by_scores(facts):
            return steps_by_scores(facts, cliques, one_way)
        return steps_by_marginals(facts, cliques, one_way, alpha, rounds, by_cells)
