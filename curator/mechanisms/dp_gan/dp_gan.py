"""DP-GAN: rows from a generator whose critic was trained by DP-SGD.

Source: DP-Select, section 4.2, after DPGAN (Xie et al. 2018). The differences (docs/adr/0017): discrete noise
from a cryptographic stream, modes and initial weights from noisy one-way marginals, and weights averaged over
the latest steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ....common.extras import require_extra
from ...measurers.capabilities import holding_records
from ...measurers.measurer import Measurer
from ..parts.ending import averages_of, ended
from ..parts.fitted import FittedModel, Progress, Report
from ..parts.steps import PublicFacts, Step, by_name, one_way_step
from .run import start_of, train
from .settings import GanSettings, training_step


@dataclass(frozen=True)
class DPGan(GanSettings):
    """A generative network for central data; parameters: see `GanSettings`."""

    name: ClassVar[str] = "dp-gan"

    def describe(self) -> dict[str, Any]:
        """Name and parameters, for the certificate."""
        return {"name": self.name, "variant": "default", **self.without_checkpoint()}

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """One-way marginals and the training; see `Mechanism.steps`."""
        one_way = Fraction(self.one_way)
        return one_way_step(facts.domain, one_way), training_step(1 - one_way)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            MissingExtraError: PyTorch or Opacus is not installed; nothing was charged.
            DataError: the protocol keeps the records at the parties; nothing was charged.
        """
        require_extra("gan")
        holder = holding_records(measurer, self.name)
        steps = self.steps(holder, workload)
        start = start_of(self, holder, by_name(steps)["one-way"].budget(holder.granted))
        report(Progress("one-way marginals", (), 0, holder.accountant.spent_share))
        # The training gets the rest: one-way marginals cost slightly less than their share.
        sampled = self.plan_training(holder.accountant.remaining, holder.budget.order.alpha)
        model = train(self, holder, sampled, start, stream.child("gan"), report)
        report(Progress("generator", (), 0, holder.accountant.spent_share))
        averages = averages_of(holder, workload.cliques, start.one_way)
        return ended(holder, steps, model, start.one_way, averages=averages)
