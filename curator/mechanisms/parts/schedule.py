"""How many new marginals each round may take, and how large the model may grow by then."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Rounds of select, measure, estimate, each of which may take twice as many as the one before.

    Early scores say little about which marginals explain which others.

    Attributes:
        rounds: how many there are.
        max_model_mb: limit of the model's size after the last one.
    """

    rounds: int
    max_model_mb: float

    def most(self, number: int, candidates: int) -> int:
        """How many new marginals round `number`, from 1, may take of so many candidates."""
        most: int = math.ceil(candidates * 2 ** (number - 1) / (2**self.rounds - 1))
        return most

    def limit_mb(self, number: int) -> float:
        """Limit of the model's size in round `number`, from 1: it grows evenly."""
        return self.max_model_mb * number / self.rounds
