"""How the plan of a release refers to an alignment, which was made and charged before."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from ..errors import DataError
from ..privacy.cost import Neighbours, counting_sigma

DEFAULT_RHO = 0.002
"""What an alignment may cost unless a plan says otherwise, zCDP."""


NoisyCount = Annotated[int, "signed"]
"""A number of people with noise, which may make it negative."""


class Population(enum.Enum):
    """Whose records a release over aligned parties is about; the value is its name in plans."""

    EVERYWHERE = "everywhere"
    """The people who are in every party of the slice."""
    ANYWHERE = "anywhere"
    """The people who are in any party of the slice; attributes of the others have the value `absent`."""

    @classmethod
    def named(cls, name: str) -> Population:
        """The population of that name."""
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(member.value for member in cls)
            raise DataError(f"population: expected one of {known}, got {name!r}; fix the plan") from None


@dataclass(frozen=True)
class Alignment:
    """The alignment of all slices of a plan.

    A pattern is the set of parties of a slice that hold a person, as a number whose bit j stands for the j-th
    party of the slice in the roster.

    Attributes:
        alignment_id: id of the release that made it, under which every party charged it.
        population: whose records are counted.
        people: for each slice, noisy number of people of each pattern 1 .. 2^S - 1; public.
        zcdp_rho: what it cost, zCDP.
        match_keys: number of match keys; with several, the promise is for linked records, given the links.
    """

    alignment_id: str
    population: Population
    people: tuple[tuple[NoisyCount, ...], ...]
    zcdp_rho: Fraction
    match_keys: int = 1

    def __post_init__(self) -> None:
        if not self.people or any((len(counts) + 1).bit_count() != 1 for counts in self.people):
            raise DataError("an alignment must state the number of people of every pattern of every slice")
        if not 0 < self.zcdp_rho < math.inf:
            raise DataError("an alignment must state what it cost, a positive rho")
        if self.match_keys < 1:
            raise DataError("an alignment must state how many match keys it has, at least one")

    def record_count(self, number: int) -> int:
        """Noisy number of people of the population in a slice, at least 1; public."""
        counts = self.people[number]
        return max(1, counts[-1] if self.population is Population.EVERYWHERE else sum(counts))

    def sigma(self, adjacency: Neighbours) -> float:
        """Least standard deviation of a number of people.

        It has the noise of the dummies, and twice this variance again from the matcher; more if every party
        has a key, or if slices are compared.
        """
        return math.sqrt(3) * counting_sigma(self.zcdp_rho, adjacency)

    def absent(self, number: int, parties: int) -> int:
        """Noisy number of people in a slice who are in none of these parties.

        Args:
            number: number of the slice.
            parties: a pattern.
        """
        counts = enumerate(self.people[number], start=1)
        return max(0, sum(count for pattern, count in counts if not pattern & parties))
