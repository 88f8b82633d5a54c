"""The steps of a mechanism as values: kind of query, marginals, and share of the budget.

A mechanism states them once. Its run takes from them the budget of each step, a forecast the noise, the
certificate and the report names and titles.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from ....common.data.domain import Clique, Domain
from ....common.data.grouping import Groups
from ....common.data.view import View
from ....common.privacy.cost import MAX_INTERACTION_SIZE


class Asks(enum.Enum):
    """Kind of query of a step; the value is its name in certificates and forecasts."""

    MARGINALS = "marginals"
    INTERACTIONS = "interactions"
    """Residuals of marginals (`common/data/interactions.py`)."""
    SCORES = "scores"
    CHOICES = "choices"
    """An exponential mechanism over values that the curator holds."""
    RECORDS = "records"
    """The records themselves, in one place."""


@dataclass(frozen=True)
class Step:
    """One step of a mechanism.

    Attributes:
        name: name under which it is charged.
        title: description for people, in reports and forecasts.
        asks: kind of query.
        share: share of the whole budget, all times together; the planned one if the mechanism adapts.
        cliques: marginals that it may ask for; empty if it asks for none.
        certain: those of them that it asks for whatever the data are.
        times: how often it runs, at most.
        at_once: how many of the cliques it asks for each time, at most; all by default.
        sizes: one number for each clique, by which the budget is split (`allocate`); the number of cells by
            default.
        groups: for each clique the groups of codes that it asks for, as planned; empty for single codes.
    """

    name: str
    title: str
    asks: Asks
    share: Fraction
    cliques: tuple[Clique, ...] = ()
    certain: tuple[Clique, ...] = ()
    times: int = 1
    at_once: int | None = None
    sizes: tuple[float, ...] = ()
    groups: tuple[Groups, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1 or self.times < 1:
            raise ValueError("expected a share of the budget in [0, 1], and a step that runs at least once")
        if not set(self.certain) <= set(self.cliques):
            raise ValueError("expected that `certain` contains only cliques of the step")
        if self.at_once is not None and self.at_once < max(1, len(self.certain)):
            raise ValueError(
                "expected that a step asks each time for at least one clique, and for all certain ones"
            )
        if self.sizes and len(self.sizes) != len(self.cliques):
            raise ValueError(
                f"expected {len(self.cliques)} sizes, one for each clique, got {len(self.sizes)}"
            )

        if self.groups and len(self.groups) != len(self.cliques):
            raise ValueError(f"expected groups for each of {len(self.cliques)} cliques")

    @property
    def asked(self) -> tuple[View, ...]:
        """The marginals of the cliques, each with its groups."""
        return tuple(map(View, self.cliques, self.groups or ((),) * len(self.cliques)))

    @property
    def most(self) -> int:
        """How many cliques it asks for each time, at most."""
        return len(self.cliques) if self.at_once is None else min(self.at_once, len(self.cliques))

    def sizes_in(self, domain: Domain) -> tuple[float, ...]:
        """One number for each clique, by which the budget is split."""
        return self.sizes or tuple(float(view.cells(domain)) for view in self.asked)

    def budget(self, granted: Fraction) -> Fraction:
        """Budget of the step each time, zCDP.

        Args:
            granted: the whole budget, zCDP.
        """
        return granted * self.share / self.times


class PublicFacts(Protocol):
    """Public facts of a measurer, or of a planned release, before anything is measured."""

    @property
    def domain(self) -> Domain:
        """Domain of the whole table."""
        ...

    @property
    def record_count(self) -> int:
        """Number of records of the whole table."""
        ...

    @property
    def granted(self) -> Fraction:
        """The whole budget, zCDP."""
        ...

    @property
    def scores_exactly(self) -> bool:
        """See `Measurer.scores_exactly`."""
        ...

    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        """See `Measurer.expected_sigma`."""
        ...


def measurable_as_interaction(shape: Sequence[int]) -> bool:
    """Whether an interaction of this shape can be measured without the whole marginal."""
    return all(2 <= n <= MAX_INTERACTION_SIZE for n in shape)


def one_way_step(domain: Domain, share: Fraction) -> Step:
    """The step that measures the marginal of each attribute that has two values, if any has."""
    singles = tuple((name,) for name in domain.varied or domain.names)
    return Step("one-way", "One-way marginals", Asks.MARGINALS, share, singles, singles)


def by_name(steps: Iterable[Step]) -> Mapping[str, Step]:
    """The steps by the names under which they are charged."""
    return {step.name: step for step in steps}
