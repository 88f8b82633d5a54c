"""A mechanism's steps as values: what each asks, of which marginals, for which share of the budget.

A mechanism states them once. Its run takes the budget of each step from here, a forecast the noise that
follows from it, the certificate and the report their names and titles.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from ....common.data.domain import Clique, Domain
from ....common.privacy.cost import MAX_INTERACTION_SIZE


class Asks(enum.Enum):
    """What a step asks of the parties; the value is its name in certificates and forecasts."""

    MARGINALS = "marginals"
    INTERACTIONS = "interactions"
    """Residuals of marginals (`common/data/interactions.py`)."""
    SCORES = "scores"
    CHOICES = "choices"
    """An exponential mechanism over values that the curator has."""
    RECORDS = "records"
    """The records themselves, in one place."""


@dataclass(frozen=True)
class Step:
    """One step of a mechanism.

    Attributes:
        name: under which it is charged.
        title: the same for readers.
        asks: what is asked.
        share: of the whole budget, all times together; of a mechanism that adapts, as it sets out.
        cliques: the marginals that may be asked for; empty where it asks for none.
        certain: those of them that are asked for whatever the data say.
        times: how often it is taken at most.
        at_once: how many of the cliques it asks for each time, at most; all where left out.
        sizes: one number for each clique, by which the budget is split (`allocate`); its
            cells where left out.
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

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1 or self.times < 1:
            raise ValueError("a step has a share of the budget in [0, 1], and is taken at least once")
        if not set(self.certain) <= set(self.cliques):
            raise ValueError("what a step certainly asks for is among what it may ask for")
        if self.at_once is not None and self.at_once < max(1, len(self.certain)):
            raise ValueError(
                "each time a step asks for at least one clique, and for all that it certainly asks for"
            )
        if self.sizes and len(self.sizes) != len(self.cliques):
            raise ValueError(f"{len(self.cliques)} cliques have as many sizes, not {len(self.sizes)}")

    @property
    def most(self) -> int:
        """How many cliques it asks for each time, at most."""
        return len(self.cliques) if self.at_once is None else min(self.at_once, len(self.cliques))

    def sizes_in(self, domain: Domain) -> tuple[float, ...]:
        """One number for each clique, by which the budget is split."""
        return self.sizes or tuple(float(domain.cells(clique)) for clique in self.cliques)

    def budget(self, granted: Fraction) -> Fraction:
        """What the step may cost each time, zCDP.

        Args:
            granted: the whole budget.
        """
        return granted * self.share / self.times


class PublicFacts(Protocol):
    """What is known before anything is measured: of a measurer, or of a release that is only planned."""

    @property
    def domain(self) -> Domain:
        """Of the whole table."""
        ...

    @property
    def record_count(self) -> int:
        """Records of the whole table."""
        ...

    @property
    def granted(self) -> Fraction:
        """The whole budget, zCDP."""
        ...

    @property
    def scores_exactly(self) -> bool:
        """See `Measurer.scores_exactly`."""
        ...

    def expected_sigma(self, clique: Clique, zcdp_rho: Fraction, interaction: bool = False) -> float:
        """See `Measurer.expected_sigma`."""
        ...


def alone(shape: Sequence[int]) -> bool:
    """Whether an interaction of this shape can be measured alone, not as part of the whole marginal."""
    return all(2 <= n <= MAX_INTERACTION_SIZE for n in shape)


def one_way_step(domain: Domain, share: Fraction) -> Step:
    """The step that measures the marginal of each attribute."""
    singles = tuple((name,) for name in domain)
    return Step("one-way", "One-way marginals", Asks.MARGINALS, share, singles, singles)


def by_name(steps: Iterable[Step]) -> Mapping[str, Step]:
    """The steps by the names under which they are charged."""
    return {step.name: step for step in steps}
