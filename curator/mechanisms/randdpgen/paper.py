"""RandDPGen by the text of its paper: Algorithm 2, with an exponential mechanism over noisy marginals.

Source: Zhang et al., "High-dimensional Hybrid Partitioned Data Release under Differential Privacy".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.workload import Workload
from ....common.privacy.budget import Charge
from ....common.privacy.cost import exponential_cost
from ...measurers.measurer import Measurer
from ...pgm.model import MarkovRandomField
from ..parts.allocation import EXPECTED_L1
from ..parts.fitted import Report
from ..parts.steps import Asks, Step
from .algorithm2 import Algorithm2, candidates_step


def steps_of_the_paper(
    cliques: Sequence[Clique], alpha: Fraction, beta: Fraction, rounds: int, by_cells: bool
) -> tuple[Step, ...]:
    """Theorem 5.1: a share alpha first; then T rounds with beta for measurements, the rest for selection.

    Args:
        cliques: candidates.
        alpha: share of the budget for noisy marginals of all candidates.
        beta: share of the budget for the measurements of rounds.
        rounds: T.
        by_cells: see `candidates_step`.
    """
    may = tuple(cliques)
    return (
        candidates_step(may, alpha, by_cells),
        Step(
            "select", "Selection of one marginal in each round", Asks.CHOICES, 1 - alpha - beta, times=rounds
        ),
        Step(
            "round", "One selected marginal in each round", Asks.MARGINALS, beta, may, times=rounds, at_once=1
        ),
    )


class PaperRun(Algorithm2):
    """One run with the steps of `steps_of_the_paper`; for the other arguments see `Algorithm2`.

    Args:
        stream: randomness of the exponential mechanism.
    """

    def __init__(
        self,
        measurer: Measurer,
        workload: Workload,
        steps: tuple[Step, ...],
        max_model_mb: float,
        stream: RandomStream,
        report: Report,
    ) -> None:
        super().__init__(measurer, workload, steps, max_model_mb, report)
        self._rng = stream.generator()
        measures, selects = self._named["round"].share, self._named["select"].share
        self._measuring = measures / (measures + selects)

    def _spend_the_rest(self, model: MarkovRandomField) -> MarkovRandomField:
        cost = self._measurer.accountant.remaining / self._named["round"].times
        last = False
        while not last:
            left = self._measurer.accountant.remaining
            last = left <= 2 * cost
            cost = left if last else cost
            rho = cost * self._measuring
            scores = self._exponential(self._scores(model, rho), cost - rho)
            index = self._first_that_fits(scores, -math.inf, model, cost)
            if index is None:
                cost *= 4
                continue
            model = self._round(self._candidates.cliques[index], rho, cost, model)
            cost *= 4 if self._rounds[-1].annealed else 1
        return model

    def _scores(self, model: MarkovRandomField, rho: Fraction) -> NDArray[np.float64]:
        """Expected gain of measuring each candidate, in records of L1 error (line 9).

        It has one square root over the variances of both measurements, and no upper bound on the distance,
        so the noisiest candidate is selected.
        """
        of = self._candidates
        new, known = of.expected_sigmas(self._measurer, rho), of.sigmas
        gains = of.distances(model) - EXPECTED_L1 * np.hypot(new, known) * of.cells
        scores: NDArray[np.float64] = of.weights * gains
        return scores

    def _exponential(self, scores: NDArray[np.float64], rho: Fraction) -> NDArray[np.float64]:
        """Scores with Gumbel noise; their argmax is the choice of the exponential mechanism (line 9).

        The paper's text divides by the sensitivity of the score; its Algorithm 2, followed here, does not.
        """
        epsilon = math.sqrt(8 * rho) * (1 - 2.0**-40)
        self._measurer.charge(Charge(self._named["select"].name, (), exponential_cost(epsilon)))
        return epsilon / 2 * scores + self._rng.gumbel(size=len(scores))
