"""RandDPGen where nobody gives scores: select by noisy marginals of all candidates, measure one at a time.

Selecting from noisy marginals is post-processing, so it costs nothing, and so does the check whether any
candidate is worth a round's budget: where none is, the budget grows and nothing is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ...pgm.estimation import estimate
from ...pgm.junction_tree import JunctionTree
from ...pgm.model import MarkovRandomField
from ..parts.allocation import EXPECTED_L1, measurable, measure_split, measure_step
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
        facts: what is known before anything is measured.
        cliques: that may be candidates.
        one_way: share of the budget for one-way marginals.
        alpha: share of the budget for noisy marginals of all candidates.
        rounds: T; equal ones would spend the rest.
        by_cells: see `candidates_step`.
    """
    kept = [cliques[i] for i in measurable(facts, cliques, facts.granted * alpha)]
    first = one_way_step(facts.domain, one_way)
    looked = candidates_step(kept, alpha, by_cells)
    # The last round begins as soon as no more is left than two rounds cost.
    left, times = 1 - one_way - alpha, max(0, rounds - 2)
    share, may = left * times / rounds, looked.cliques
    again = tuple(dict.fromkeys([*first.cliques, *may]))
    most = len(first.cliques) + times
    title = "Last measurements"
    last = Step("last round", title, Asks.MARGINALS, left - share, again, first.cliques, at_once=most)
    if not times:
        return first, looked, last
    title = "Measured in rounds"
    return first, looked, Step("round", title, Asks.MARGINALS, share, may, times=times, at_once=1), last


class MarginalRun(Algorithm2):
    """One run, by the steps of `steps_by_marginals`."""

    def _start(self) -> MarkovRandomField:
        self._use(measure_step(self._measurer, self._named["one-way"]))
        self._tell("one-way marginals")
        first = self._estimate(None)
        self._looked = measure_step(self._measurer, self._named["candidates"])
        self._candidates.learn(self._looked)
        self._tell("candidates")
        return first

    def _spend_the_rest(self, model: MarkovRandomField) -> MarkovRandomField:
        """Rounds until no more is left than two of them cost, and a last one for all that was measured."""
        times = self._named["round"].times if "round" in self._named else 0
        cost = self._measurer.accountant.remaining / (times + 2)
        while times and self._measurer.accountant.remaining > 2 * cost:
            index = self._first_that_fits(self._scores(model, cost), 0.0, model, cost)
            if index is None:
                cost *= 4
                continue
            model = self._round(self._candidates.cliques[index], cost, cost, model)
            cost *= 4 if self._rounds[-1].annealed else 1
        return self._measure_again(model)

    def _scores(self, model: MarkovRandomField, rho: Fraction) -> NDArray[np.float64]:
        """What measuring each candidate is expected to improve, in records of L1 error (line 9).

        The distance between the model's marginal and the noisy one, less what its noise adds to that, and
        no further than two marginals can be apart; less what the new measurement would leave.
        """
        of = self._candidates
        new, known = of.expected_sigmas(self._measurer, rho), of.sigmas
        left = EXPECTED_L1 / np.hypot(1 / new, 1 / known) * of.cells
        furthest = 2 * self._measurer.record_count
        gains = np.minimum(of.distances(model) - EXPECTED_L1 * known * of.cells, furthest) - left
        scores: NDArray[np.float64] = of.weights * gains
        return scores

    def _measure_again(self, model: MarkovRandomField) -> MarkovRandomField:
        """The last round: the rest goes to all that the model is made of."""
        left = self._measurer.accountant.remaining
        cliques = list(dict.fromkeys(measurement.clique for measurement in self._used))
        sizes = [self._domain.cells(clique) for clique in cliques]
        self._use(measure_split(self._measurer, cliques, sizes, left, self._named["last round"].name))
        model = self._estimate(model)
        self._tell("last round")
        return model

    def _estimate(self, warm_start: MarkovRandomField | None) -> MarkovRandomField:
        """Fits what was measured, and the candidates inside the model's cliques: they are paid for."""
        tree = JunctionTree.build(self._domain, [measurement.clique for measurement in self._used])
        inside = [found for found in self._looked if tree.home(found.clique) is not None]
        measurements, total = [*self._used, *inside], self._measurer.record_count
        return estimate(self._domain, measurements, total=total, warm_start=warm_start)
