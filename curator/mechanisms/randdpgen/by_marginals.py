"""RandDPGen without scores: selects by noisy marginals of all candidates, measures one at a time.

Selection from noisy marginals is post-processing. So is the check whether any candidate is worth a round's
budget: if none is, the budget of the round grows and nothing is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ...pgm.fitting.estimation import estimate
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import JunctionTree
from ..parts.allocation import EXPECTED_L1, measurable, measure_step
from ..parts.scoring import FINAL
from ..parts.steps import Asks, PublicFacts, Step, one_way_step
from .algorithm2 import Algorithm2, candidates_step


def steps_by_marginals(
    facts: PublicFacts,
    cliques: Sequence[Clique],
    one_way: Fraction,
    alpha: Fraction,
    rounds: int,
    by_cells: bool,
) -> tuple[Step, ...]:
    """The steps of a run that selects by marginals.

    Args:
        facts: public facts of the release.
        cliques: possible candidates.
        one_way: share of the budget for one-way marginals.
        alpha: share of the budget for noisy marginals of all candidates.
        rounds: T; T equal rounds would spend the rest.
        by_cells: see `candidates_step`.
    """
    kept = [cliques[i] for i in measurable(facts, cliques, facts.granted * alpha)]
    first = one_way_step(facts.domain, one_way)
    candidates = candidates_step(kept, alpha, by_cells)
    # The last round begins as soon as at most the cost of two rounds is left.
    left, times = 1 - one_way - alpha, max(0, rounds - 2)
    share, may = left * times / rounds, candidates.cliques
    again = tuple(dict.fromkeys([*first.cliques, *may]))
    most = len(first.cliques) + times
    title = "All marginals of the model once more"
    last = Step("last round", title, Asks.MARGINALS, left - share, again, first.cliques, at_once=most)
    if not times:
        return first, candidates, last
    title = "One selected marginal in each round"
    return first, candidates, Step("round", title, Asks.MARGINALS, share, may, times=times, at_once=1), last


class MarginalRun(Algorithm2):
    """One run with the steps of `steps_by_marginals`."""

    def _start(self) -> MarkovRandomField:
        self._use(measure_step(self._measurer, self._named["one-way"]))
        self._tell("one-way marginals")
        return super()._start()

    def _spend_the_rest(self, model: MarkovRandomField) -> MarkovRandomField:
        """Rounds until at most the cost of two is left, and a last one for all marginals of the model."""
        times = self._named["round"].times if "round" in self._named else 0
        cost = self._measurer.accountant.remaining / (times + 2)
        while times and self._measurer.accountant.remaining > 2 * cost:
            index = self._first_that_fits(self._scores(model, cost), 0.0, model, cost)
            if index is None:
                cost *= 4
                continue
            model = self._round(self._candidates.cliques[index], cost, cost, model)
            cost *= 4 if self._rounds[-1].annealed else 1
        self._use(self._measure_again(self._measurer.accountant.remaining))
        model = self._estimate(model)
        self._tell("last round")
        return model

    def _scores(self, model: MarkovRandomField, rho: Fraction) -> NDArray[np.float64]:
        """Expected gain of measuring each candidate, in records of L1 error (line 9).

        The distance between the model's marginal and the noisy one, minus the effect of its noise and at most
        the largest distance of two marginals; minus the expected error after the new measurement.
        """
        of = self._candidates
        new, known = of.expected_sigmas(self._measurer, rho), of.sigmas
        left = EXPECTED_L1 / np.hypot(1 / new, 1 / known) * of.cells
        furthest = 2 * self._measurer.record_count
        gains = np.minimum(of.distances(model) - EXPECTED_L1 * known * of.cells, furthest) - left
        scores: NDArray[np.float64] = of.weights * gains
        return scores

    def _estimate(self, warm_start: MarkovRandomField | None, tolerance: float = FINAL) -> MarkovRandomField:
        """Fits the measurements, and the noisy candidates inside the model's cliques."""
        tree = JunctionTree.build(self._domain, [measurement.clique for measurement in self._used])
        inside = [found for found in self._noisy_candidates if tree.home(found.clique) is not None]
        measurements, total = [*self._used, *inside], self._measurer.record_count
        return estimate(self._domain, measurements, total=total, warm_start=warm_start, tolerance=tolerance)
