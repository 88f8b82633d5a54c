"""Parameters of DP-Select."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....common.errors import DataError
from ..dp_gan.settings import GanSettings
from .distances import DISTANCES, Distance


@dataclass(frozen=True)
class SelectSettings(GanSettings):
    """Parameters of the selection from a DP-GAN's pool, in addition to those of the training.

    Attributes:
        variant: "default", or "paper" for the text of the paper.
        gan: share of the budget for training; in the paper's variant a share of epsilon (its epsilon ratio).
        scores: share of the budget for scoring all marginals of the workload.
        reference: "measured" to select by marginals that are measured once, with noise; "exact" for
            exponential mechanisms over exact marginals.
        pool: number of generated records for each selected one.
        marginals: share of the workload's marginals by which records are selected.
        distance: distance between marginals.
        candidates: number of candidates in each step.
        at_once: number of records of a candidate.
        sections: number of parts of the pool and, with exact marginals, of the table.
    """

    variant: Literal["default", "paper"] = "default"
    gan: float = 0.3
    scores: float = 0.1
    reference: Literal["measured", "exact"] = "measured"
    pool: int = 10
    marginals: float = 0.3
    distance: Distance = "density"
    candidates: int = 100
    at_once: int = 1
    sections: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        for name in ("gan", "scores"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        if not 0 < self.marginals <= 1:
            raise DataError(f"marginals: expected a share in (0, 1], got {self.marginals}")
        if self.one_way + self.gan + self.scores >= 1:
            raise DataError(
                "expected one_way + scores + gan < 1, so that the selection gets a share; lower them"
            )
        if self.reference not in ("measured", "exact"):
            raise DataError(f"reference: expected 'measured' or 'exact', got {self.reference!r}")
        if self.distance not in DISTANCES:
            raise DataError(f"distance: expected one of {', '.join(DISTANCES)}, got {self.distance!r}")
        if self.candidates < 2 or min(self.pool, self.at_once, self.sections) < 1:
            raise DataError("expected candidates >= 2, and pool, at_once and sections >= 1")
        if self.variant == "paper" and self.checkpoint is not None:
            raise DataError(
                "checkpoint: expected none for the variant 'paper', whose start is not private; leave it out"
            )
