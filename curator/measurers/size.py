"""The number of records, if it is not public and every marginal tells more about it."""

from __future__ import annotations

from dataclasses import dataclass


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
