"""The number of records, if it is not public and every marginal tells more about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...common.terms import ReleaseTerms
from .lengths import Lengths


@dataclass(frozen=True)
class NoisySize:
    """A noisy number of records.

    Attributes:
        value: unbiased estimate.
        variance: of its noise; positive.
    """

    value: float
    variance: float

    def combine_with(self, value: float, variance: float) -> NoisySize:
        """The estimate of least variance from this one and another with independent noise.

        Args:
            value: the other estimate, such as the sum of a noisy marginal.
            variance: of its noise.
        """
        weight = variance / (self.variance + variance)
        return NoisySize(weight * self.value + (1 - weight) * value, weight * self.variance)

    @property
    def record_count(self) -> int:
        """The nearest possible number of records, at least 1."""
        return max(1, round(self.value))


@dataclass(frozen=True, eq=False)
class Supposed:
    """What is known of records before they are measured.

    Attributes:
        size: their number.
        lengths: how rows of people count that weigh by length; None if all weights add up.
    """

    size: NoisySize
    lengths: Lengths | None = None

    def in_terms(self, terms: ReleaseTerms) -> Supposed:
        """The same where terms say how rows weigh: those of an earlier version add up."""
        part = terms.plan.related
        return self if part is not None and part.by_length else replace(self, lengths=None)
