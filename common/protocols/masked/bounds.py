"""Public bounds of opened answers: whatever the records are, honest parties' answers lie within them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.view import View
from ...errors import ProtocolError
from .plan import MaskedPlan


@dataclass(frozen=True)
class AnswerBounds:
    """Bounds of an opened sum, in units of 1/grid.

    Attributes:
        least: smallest value of an entry.
        largest: largest value of an entry.
        totals: smallest and largest sum of all entries; None if no public fact bounds it.
    """

    least: int
    largest: int
    totals: tuple[int, int] | None = None

    def check(self, values: NDArray[np.int64]) -> None:
        """Run by the curator: refuses a sum that no honest parties' answers add up to.

        It finds a record of a large weight only: weights that cancel each other, or that the noise hides,
        lie within the bounds.

        Args:
            values: shape (entries,).

        Raises:
            ProtocolError: an entry or their total is out of bounds.
        """
        inside = bool(np.all((self.least <= values) & (values <= self.largest)))
        if inside and self.totals is not None:
            # Python's integers: the total of a large marginal may exceed 64 bits.
            inside = self.totals[0] <= int(values.sum(dtype=object)) <= self.totals[1]
        if not inside:
            raise ProtocolError(
                "expected an answer that some table of this many records has, got another: a party did not "
                "follow the protocol, and the answer is not used; ask the parties' operators, then start a "
                "new release"
            )


def marginal_bounds(
    plan: MaskedPlan, view: View, sigma: float, *, sampled: bool = False, counted: int | None = None
) -> AnswerBounds:
    """Bounds of what parties send of a view.

    Args:
        plan: plan of the release.
        view: what is measured; outside of its boxes records may lie.
        sigma: charged scale of the noise, in counts.
        sampled: whether only sampled rows are counted.
        counted: number of records that are counted; None for all, or those of the sample.
    """
    if view.interaction:
        largest = plan.largest(sigma, interaction=view.interaction_shape(plan.domain))
        return AnswerBounds(-largest, largest)
    if counted is None:
        counted = sum(map(plan.opened_records, range(plan.slice_count))) if sampled else plan.record_count
    records, noise = plan.noise.grid(sigma) * counted, plan.noise.largest(sigma)
    noise_total = plan.noise.largest_total(sigma, view.size(plan.domain))
    # A vector of length one in so many cells has this sum at most.
    most = records if plan.adds_up(view) else records * (math.isqrt(view.size(plan.domain)) + 1)
    # Of the positions of an alignment, nobody knows how many count; nor who has rows.
    least = 0 if view.boxes or plan.alignment is not None or plan.parts > 1 else records
    return AnswerBounds(-noise, records + noise, (least - noise_total, most + noise_total))


def score_bounds(plan: MaskedPlan, sigma: float, largest_total: int) -> AnswerBounds:
    """Bounds of noisy L1 distances to references whose absolute values sum to at most `largest_total`."""
    return AnswerBounds(-plan.noise.largest(sigma), plan.largest(sigma, plan.record_count + largest_total))
