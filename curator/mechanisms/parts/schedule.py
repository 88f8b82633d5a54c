"""How many new marginals each round may select, and how large the model may be after it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Rounds of select, measure, estimate; each may select twice as many marginals as the one before.

    Early scores contain little information about which marginals explain which others.

    Attributes:
        rounds: number of rounds.
        max_model_mb: limit of the model's size after the last one.
    """

    rounds: int
    max_model_mb: float

    def most(self, number: int, candidates: int) -> int:
        """Most new marginals that round `number`, from 1, may select."""
        most: int = math.ceil(candidates * 2 ** (number - 1) / (2**self.rounds - 1))
        return most

    def limit_mb(self, number: int) -> float:
        """Limit of the model's size in round `number`, from 1; it grows linearly."""
        return self.max_model_mb * number / self.rounds
