"""What a release of related tables is asked to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...common.data.domain import Domain
from ...common.labels import DELTA_SHARE
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from ...curator.mechanisms.mechanism import Mechanism
from ..unfinished import Forgotten, Unfinished

A_PERSON = PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS)
"""What differs between neighbouring tables."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What a release of related tables is asked to be.

    Attributes:
        budget: the whole promise.
        mechanism: mechanism of every release of records.
        domains: for each table that has one, the domain of its columns but keys.
        anyway: see `synthesize`.
        seed: see `synthesize`.
        progress: see `synthesize`.
        kept: what keeps the answers.
        releases: number of releases that share the promise evenly.
    """

    budget: Budget
    mechanism: Mechanism
    domains: Mapping[str, Domain]
    anyway: bool
    seed: int | None
    progress: bool | None
    kept: Unfinished | Forgotten
    releases: int = 1


def labels_delta(budget: Budget) -> float:
    """What texts may take of delta, in all tables together."""
    return DELTA_SHARE * budget.delta if budget.delta is not None else 0.0
