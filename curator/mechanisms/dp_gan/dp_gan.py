"""DP-GAN alone: rows from a generator whose critic was trained by DP-SGD.

Source: DP-Select, section 4.2, after DPGAN (Xie et al. 2018). What differs is in docs/adr/0017: discrete
noise from a cryptographic stream, modes and the networks' start from noisy one-way marginals, the last
state averaged over the latest steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ....common.extras import require_extra
from ....common.privacy.budget import Budget
from ...measurers.central import central
from ...measurers.measurer import Measurer
from ..parts.bounds import error_bounds, weighted_average
from ..parts.fitted import FittedModel, Progress, Report
from .run import start_of, train
from .settings import GanSettings


@dataclass(frozen=True)
class DPGan(GanSettings):
    """A generative network, central, with the parameters of `GanSettings`."""

    @property
    def name(self) -> str:
        """As on the command line."""
        return "dp-gan"

    def granted(self, budget: Budget) -> Fraction:
        """What may be spent at one Rényi order, since sampled noise has no zCDP."""
        return Fraction(budget.order.zcdp_rho)

    def describe(self) -> dict[str, Any]:
        """Name and parameters, for the certificate."""
        return {"name": self.name, "variant": "default", **self.described()}

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            MissingExtraError: PyTorch or Opacus is not installed; nothing was charged.
            DataError: the protocol keeps records where they are; nothing was charged.
        """
        require_extra("gan")
        holder = central(measurer, self.name)
        start = start_of(self, holder)
        accountant = holder.accountant
        report(Progress("one-way marginals", (), 0, accountant.spent_share))
        steps = self.planned(accountant.remaining, holder.budget.order.alpha)
        model = train(self, holder, steps, start, stream.child("gan"), report)
        report(Progress("generator", (), 0, float(holder.accountant.spent / accountant.granted)))
        averages = {c: weighted_average(measurer.domain, c, start.one_way) for c in workload.cliques}
        known = {clique: average for clique, average in averages.items() if average is not None}
        bounds = error_bounds(model, known, (), measurer.record_count)
        return FittedModel(model, start.one_way, (), bounds)
