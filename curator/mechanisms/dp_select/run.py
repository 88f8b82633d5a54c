"""A run of DP-Select's default variant; see `dp_select.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.workload import Workload
from ....common.privacy.budget import Charge
from ....common.privacy.renyi import ExponentialSteps
from ...measurers.capabilities import HoldsRecords
from ...pgm.fitting.estimation import estimate
from ..dp_gan.run import start_of, train
from ..dp_gan.settings import TRAINING, training_step
from ..parts.allocation import measurable, measure_split
from ..parts.bounds import ScoredDistance, weighted_average
from ..parts.fitted import FittedModel, Report
from ..parts.records import SelectedRecords
from ..parts.run import Run
from ..parts.scoring import SELECTED_BY, score_against
from ..parts.steps import Asks, PublicFacts, Step, one_way_step
from .bounded_range import step_epsilon_for, steps_cost
from .distances import Reference, sensitivity
from .sections import Selection, parts, select_in_sections
from .settings import SelectSettings

if TYPE_CHECKING:
    from ..dp_gan.model import GeneratorModel


class SelectRun(Run):
    """One run of the default variant.

    Attributes:
        selected_by: the values by which marginals are selected, for the certificate.

    Args:
        config: parameters of the mechanism.
        measurer: a measurer that holds the records.
        workload: candidate marginals.
        stream: source of randomness.
        report: called with the progress after every step.
    """

    selected_by: ClassVar[str] = SELECTED_BY
    _measurer: HoldsRecords

    def __init__(
        self,
        config: SelectSettings,
        measurer: HoldsRecords,
        workload: Workload,
        stream: RandomStream,
        report: Report,
    ) -> None:
        super().__init__(measurer, self.steps(config, measurer, workload), report)
        self._config = config
        self._workload = workload
        self._stream = stream
        self._scored: dict[Clique, ScoredDistance] = {}

    @staticmethod
    def steps(config: SelectSettings, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """Steps of the default; the selection uses noisy marginals or exponential mechanisms."""
        domain = facts.domain
        one_way, gan, scores = (Fraction(share) for share in (config.one_way, config.gan, config.scores))
        pairs = tuple(c for c in workload.cliques if len(c) > 1) or tuple(combinations(domain.names, 2))
        if not pairs:
            scores = Fraction(0)
        singles: tuple[Clique, ...] = tuple((name,) for name in domain)
        measured = config.reference == "measured"
        return (
            one_way_step(domain, one_way),
            *([Step("scores", "Scores of marginals", Asks.SCORES, scores, pairs, pairs)] if pairs else []),
            training_step(gan),
            Step(
                "selection",
                "Selection of records",
                Asks.MARGINALS if measured else Asks.RECORDS,
                1 - one_way - scores - gan,
                tuple(dict.fromkeys((*pairs, *singles))) if measured else (),
            ),
        )

    def run(self) -> FittedModel:
        """Algorithm 1."""
        generator, cliques, weights = self._generator()
        records = self._measurer.record_count
        pool = generator.generate(self._config.pool * records, self._stream.child("pool").generator())
        self._tell("pool")
        pieces = parts(records, min(self._config.sections, records))
        selection, references = self._selection(pieces, cliques, weights)
        chosen = select_in_sections(
            pool,
            references,
            [piece.stop - piece.start for piece in pieces],
            selection,
            self._stream.child("selection"),
            lambda done: self._tell(f"selection: {done:.0%}"),
        )
        model = SelectedRecords(pool.take(chosen), references[0].cliques, records)
        self._tell("selected")
        return self._end(model)

    def _end(self, model: SelectedRecords) -> FittedModel:
        wanted = self._workload.cliques
        return self._result(
            model,
            wanted,
            scored={c: s for c, s in self._scored.items() if c in wanted},
            selected=model.cliques,
            selection=self.selected_by,
        )

    def _generator(self) -> tuple[GeneratorModel, tuple[Clique, ...], NDArray[np.float64]]:
        """A trained generator, and the important marginals with their weights."""
        config = self._config
        start = start_of(config, self._measurer, self._budget("one-way"))
        self._used += start.one_way
        self._tell("one-way marginals")
        cliques, weights = most_important(self._importance(), config.marginals)
        sampled = config.plan_training(self._budget(TRAINING), self._measurer.budget.order.alpha)
        generator = train(config, self._measurer, sampled, start, self._stream.child("gan"), self._report)
        return generator, cliques, weights

    def _importance(self) -> dict[Clique, float]:
        """Noisy distance of each marginal from independence, times its weight in the workload."""
        domain = self._measurer.domain
        matters = dict(zip(self._workload.cliques, self._workload.weights, strict=True))
        scores = self._named.get("scores")
        if scores is not None:
            independent = estimate(domain, self._used, total=self._measurer.record_count)
            budget = scores.budget(self._measurer.granted)
            self._scored = score_against(self._measurer, independent, scores.cliques, budget)
        self._tell("scores")
        if not self._scored:
            # A single attribute has no pairs to score.
            return {(name,): 1.0 for name in domain}
        return {c: matters.get(c, 1.0) * max(0.0, scored.distance) for c, scored in self._scored.items()}

    def _selection(
        self, pieces: Sequence[slice], cliques: Sequence[Clique], weights: NDArray[np.float64]
    ) -> tuple[Selection, list[Reference]]:
        """The parameters of the selection and each section's reference; spends the rest of the budget."""
        config, remaining = self._config, self._measurer.accountant.remaining
        if config.reference == "measured":
            reference = self._measured_reference(cliques, weights, remaining)
            selection = Selection(config.distance, config.candidates, config.at_once, math.inf)
            return selection, [reference] * len(pieces)
        largest = max(piece.stop - piece.start for piece in pieces)
        step_epsilon = step_epsilon_for(remaining, -(-largest // config.at_once))
        smallest = min(piece.stop - piece.start for piece in pieces)
        return self._exponential(pieces, cliques, weights, step_epsilon, sensitivity(smallest))

    def _measured_reference(
        self, cliques: Sequence[Clique], weights: NDArray[np.float64], budget: Fraction
    ) -> Reference:
        """The important marginals, measured here, and one-way marginals, from all measurements.

        The result is public. Marginals that noise would dominate are left out; if none remains, one-way
        marginals are measured once more.
        """
        domain = self._measurer.domain
        singles: list[Clique] = [(name,) for name in domain]
        kept = measurable(self._measurer, cliques, budget)
        cliques = [cliques[i] for i in kept] or singles
        cells = [domain.cells(clique) for clique in cliques]
        self._used += measure_split(self._measurer, cliques, cells, budget, "selection")
        wanted = dict(zip(cliques, weights[kept] if kept else np.ones(len(cliques)), strict=True))
        # One-way marginals get the mean weight of the important marginals.
        wanted |= dict.fromkeys(singles, max(float(np.mean(list(wanted.values()))), 1e-9))
        averages = {clique: weighted_average(domain, clique, self._used) for clique in wanted}
        shares = [_shares(average.values) for average in averages.values() if average is not None]
        return Reference.of(tuple(wanted), np.array(list(wanted.values())), shares)

    def _exponential(
        self,
        pieces: Sequence[slice],
        cliques: Sequence[Clique],
        weights: NDArray[np.float64],
        step_epsilon: float,
        moved: float,
    ) -> tuple[Selection, list[Reference]]:
        """Charges the exponential mechanisms of all sections, and reads the table.

        Guarantee: each step is an exponential mechanism with parameter step_epsilon, so its range is bounded
            by step_epsilon (Lemma 6). A record is in only one section, whose steps compose.
        """
        config = self._config
        selection = Selection(config.distance, config.candidates, config.at_once, step_epsilon / (2 * moved))
        steps = selection.steps(max(piece.stop - piece.start for piece in pieces))
        declared = ExponentialSteps(step_epsilon, steps, len(pieces))
        cost = steps_cost(declared.step_epsilon, declared.steps)
        table = self._measurer.records(Charge("selection", (), cost, steps=declared))
        # The assignment of records to sections does not depend on their values.
        order = self._stream.child("sections").generator().permutation(table.record_count)
        sections = [table.take(order[piece]) for piece in pieces]
        return selection, [Reference.exact(section, cliques, weights) for section in sections]


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of noisy counts, clipped at zero."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else np.full(counts.size, 1 / counts.size)


def most_important(
    importance: Mapping[Clique, float], share: float
) -> tuple[tuple[Clique, ...], NDArray[np.float64]]:
    """The most important marginals, at least one, and their weights (section 4.3.1)."""
    count = max(1, round(share * len(importance)))
    kept = sorted(importance, key=lambda clique: -importance[clique])[:count]
    weights = np.array([importance[clique] for clique in kept])
    if weights.sum() <= 0:
        weights = np.ones(count)
    return tuple(kept), weights / weights.sum()
