"""Parameters of DP-Select."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ....common.errors import DataError
from ....common.forms.values import whole
from ..dp_gan.settings import GanSettings
from ..parts.parameters import Part, Share, Times
from .distances import Distance


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
    gan: Share = 0.3
    scores: Share = 0.1
    reference: Literal["measured", "exact"] = "measured"
    pool: Times = 10
    marginals: Part = 0.3
    distance: Distance = "density"
    candidates: Annotated[int, whole(2)] = 100
    at_once: Times = 1
    sections: Times = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.one_way + self.gan + self.scores >= 1:
            raise DataError(
                "expected one_way + scores + gan < 1, so that the selection gets a share; lower them"
            )
        if self.variant == "paper" and self.checkpoint is not None:
            raise DataError(
                "checkpoint: expected none for the variant 'paper', whose start is not private; leave it out"
            )
