"""DP-Select by the text of its paper: it reads records without a charge, and adds epsilons.

Not differentially private: it runs only in simulation, and its result is labelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.errors import BudgetError
from ....common.measurement import Measurement
from ....common.privacy.renyi import renyi_order
from ...measurers.capabilities import showing_records
from ..dp_gan.checkpoint import Start
from ..dp_gan.run import train
from ..dp_gan.settings import training_step
from ..parts.steps import Asks, PublicFacts, Step
from .bounded_range import lemma_step_epsilon
from .distances import Reference, paper_sensitivity
from .information import mutual_information
from .run import SelectRun, most_important
from .sections import Selection
from .settings import SelectSettings

if TYPE_CHECKING:
    from ..dp_gan.model import GeneratorModel

UNPAID = (
    "it computes the important marginals, their weights and the best state of the GAN from records, "
    "for which the DP-Select paper charges nothing"
)


class PaperSelectRun(SelectRun):
    """One run of the paper's variant; arguments as for `SelectRun`."""

    selected_by = "exact mutual information, unpaid"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._table = showing_records(self._measurer).records_unpaid(UNPAID)
        epsilon, delta = self._measurer.budget.epsilon, self._measurer.budget.delta
        if epsilon is None or delta is None:
            raise BudgetError("expected a budget in epsilon and delta, got rho; set epsilon and delta")
        self._epsilon, self._delta = epsilon, delta

    @staticmethod
    def steps(config: SelectSettings, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """Training and selection; the shares are of epsilon, not of zCDP as for other mechanisms."""
        gan = Fraction(config.gan)
        return training_step(gan), Step("selection", "Selection of records", Asks.RECORDS, 1 - gan)

    def _generator(self) -> tuple[GeneratorModel, tuple[Clique, ...], NDArray[np.float64]]:
        """Sections 4.2, 4.3.1 and 5.1: the snapshot that is best on private records."""
        config, table = self._config, self._table
        candidates = [c for c in self._workload.cliques if len(c) > 1]
        importance = {clique: mutual_information(table, clique) for clique in candidates}
        cliques, weights = most_important(
            importance or {(name,): 1.0 for name in table.domain}, config.marginals
        )
        exact = [(name, table.marginal((name,)).astype(np.float64)) for name in table.domain]
        start = Start(tuple(Measurement(View((name,)), counts, 1.0, 0.0) for name, counts in exact), ())
        order = renyi_order(config.gan * self._epsilon, self._delta / 2)
        sampled = config.plan_training(Fraction(order.zcdp_rho), order.alpha)

        def judge(model: GeneratorModel) -> float:
            found = 0.0
            for clique, weight in zip(cliques, weights, strict=True):
                found += float(weight * np.abs(model.marginal(clique) - table.marginal(clique)).sum())
            return found

        stream = self._stream.child("gan")
        generator = train(config, self._measurer, sampled, start, stream, self._report, judge)
        return generator, cliques, weights

    def _selection(
        self, pieces: Sequence[slice], cliques: Sequence[Clique], weights: NDArray[np.float64]
    ) -> tuple[Selection, list[Reference]]:
        """Algorithm 3: the selection with the rest of epsilon, by Lemma 6."""
        sizes = [piece.stop - piece.start for piece in pieces]
        steps = -(-max(sizes) // self._config.at_once)
        step_epsilon = lemma_step_epsilon((1 - self._config.gan) * self._epsilon, steps, self._delta / 2)
        return self._exponential(pieces, cliques, weights, step_epsilon, paper_sensitivity(min(sizes)))
