"""What attacks on a release found: not for publication."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

from ...common.data.domain import Clique
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import Adjacency
from ...simulations.evaluation.metrics import PRIVATE
from .disclosure import Copies, RareGroups
from .inference import Inferred
from .membership import RowGuesses


@dataclass(frozen=True)
class Ceiling:
    """What the promise allows.

    Attributes:
        epsilon: of the promise.
        delta: of the promise.
        mu: of Gaussian differential privacy, by all that was charged.
        adjacency: which tables are neighbours.
    """

    epsilon: float
    delta: float
    mu: float
    adjacency: Adjacency

    @property
    def guess(self) -> float:
        """Largest probability of a right guess whether a record was in the table, from even odds."""
        return NormalDist().cdf(self.mu / 2)

    @property
    def gain(self) -> float:
        """By how much one record changes the probability of anything, at most."""
        return 2 * self.guess - 1

    @property
    def epsilon_of_replacing(self) -> float:
        """The epsilon of replacing one record, at the same delta; that is removing one and adding another."""
        factor = 1 if self.adjacency is Adjacency.REPLACE_ONE else 2
        return gaussian_epsilon(factor * self.mu, self.delta)


@dataclass(frozen=True)
class Finding:
    """One attack in words.

    Attributes:
        name: of the attack.
        tried: what was tried.
        found: what it found.
        chance: how likely that is, at most, of a release that keeps its promise; 1 for nothing unusual.
        alarm: whether it contradicts the promise.
    """

    name: str
    tried: str
    found: str
    chance: float
    alarm: bool


@dataclass(frozen=True)
class Membership:
    """What the published measurements tell of a record.

    Attributes:
        freedom: number of independent noisy numbers that were published.
        mu_of_a_record: of removing a record, by the published measurements and their stated noise.
        mu_of_the_worst: of the worst two neighbouring tables.
        agree: if a record is replaced, the columns in which the worst two records agree.
        mu_bound: lower bound on mu from the noise that was drawn, with a confidence of 99 %.
        epsilon_bound: the same as epsilon, at the delta of the release.
        right: probability of a right guess whether a record was in the table, by the scale of the noise that
            was drawn.
        right_of_real: share of right guesses over real records, each with and without it under the same
            noise; all share one draw, so that it may be a point above or below.
        by_rows: guesses by the released rows alone; None without rows that were held out.
        gaps: what mu^2 went into, as shares.
    """

    freedom: int
    mu_of_a_record: float
    mu_of_the_worst: float
    agree: Clique
    mu_bound: float
    epsilon_bound: float
    right: float
    right_of_real: float
    by_rows: RowGuesses | None
    gaps: tuple[tuple[str, float], ...]


@dataclass(frozen=True, repr=False)
class Findings:
    """All attacks on a release; not for publication.

    Attributes:
        records: number of real rows.
        held_out: number of rows that the release has not used; None without any.
        false_alarms: probability with which a release that keeps its promise raises an alarm, at most.
        ceiling: what the promise allows.
        membership: what published measurements tell of a record; None if there are none.
        inferred: guesses of each column.
        copies: equal rows.
        rare_groups: combinations that few rows have.
        findings: each attack in words.
    """

    records: int
    held_out: int | None
    false_alarms: float
    ceiling: Ceiling
    membership: Membership | None
    inferred: tuple[Inferred, ...]
    copies: Copies
    rare_groups: tuple[RareGroups, ...]
    findings: tuple[Finding, ...]

    @property
    def alarms(self) -> tuple[str, ...]:
        """Names of the attacks that contradict the promise; empty if none does."""
        return tuple(one.name for one in self.findings if one.alarm)

    def to_json(self) -> dict[str, Any]:
        """All numbers, and that they are not for release."""
        form = asdict(self)
        form["inferred"] = [asdict(one) | {"gain": one.gain} for one in self.inferred]
        form["ceiling"] |= {"guess": self.ceiling.guess, "gain": self.ceiling.gain}
        return {"private": PRIVATE, "alarms": list(self.alarms), **_plain(form)}

    def __repr__(self) -> str:
        return f"Attacks({'; '.join(self.alarms) or 'no alarm'}; {PRIVATE})"


def _plain(value: Any) -> Any:
    """JSON has no infinite numbers."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
