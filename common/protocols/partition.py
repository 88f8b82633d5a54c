"""Which party holds what of the table: public facts, which all parties of a release sign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from ..data.domain import Clique, Domain
from ..errors import DataError
from .aligned import Alignment
from .chosen import Chosen
from .related import RelatedPart


class Participant(Protocol):
    """What is known of everyone that takes part in a release."""

    @property
    def name(self) -> str:
        """Name in the federation."""
        ...

    @property
    def identity(self) -> bytes:
        """Long-term Ed25519 public key, 32 bytes."""
        ...


@dataclass(frozen=True)
class RosterEntry:
    """One party of a release.

    Attributes:
        name: name in the federation.
        slice: number of its slice, from 0.
        attributes: attributes that it answers for, in domain order.
        record_count: number of rows of its slice, or of positions if the slice is aligned; public.
        identity: long-term Ed25519 public key, 32 bytes.
    """

    name: str
    slice: int
    attributes: Clique
    record_count: int
    identity: bytes


@dataclass(frozen=True)
class Partition:
    """The partition of a table across parties. The parties of a slice hold the same records, or are aligned.

    Attributes:
        domain: names and sizes of the attributes of the whole table.
        roster: the parties, slice by slice.
        alignment: alignment of the rows of each slice; None if the parties of a slice hold the same records
            in the same order.
        chosen: codes that an earlier release chose, which the domain has already; None if the domain files
            say all codes.
        related: of whose records this is a part of a release of related tables; None of a single table.
    """

    domain: Domain
    roster: tuple[RosterEntry, ...]
    alignment: Alignment | None = field(kw_only=True, default=None)
    chosen: Chosen | None = field(kw_only=True, default=None)
    related: RelatedPart | None = field(kw_only=True, default=None)

    @classmethod
    def of_slices(cls, domain: Domain, slices: Iterable[tuple[int, Sequence[Clique]]]) -> Partition:
        """The partition of a table across parties that nobody enrolled.

        Args:
            domain: names and sizes of the attributes of the whole table.
            slices: for each slice, its number of records and the attributes of each party.
        """
        roster = (
            RosterEntry(f"party-{number + 1}-{place}", number, attributes, records, b"")
            for number, (records, parties) in enumerate(slices)
            for place, attributes in enumerate(parties, start=1)
        )
        return cls(domain, tuple(roster))

    def __post_init__(self) -> None:
        slices = [entry.slice for entry in self.roster]
        if not slices or slices != sorted(slices) or len(set(slices)) != slices[-1] + 1:
            raise DataError("a plan must list its parties slice by slice, from slice 0 on")
        if len({entry.name for entry in self.roster}) < len(slices):
            raise DataError("two parties of the plan have the same name; give each a unique name")
        for number in range(slices[-1] + 1):
            members = [self.roster[i] for i in self._members[number]]
            held = [name for entry in members for name in entry.attributes]
            if sorted(held) != sorted(self.domain.names):
                raise DataError(f"slice {number + 1}: its parties do not hold every attribute exactly once")
            if any(entry.attributes != self.domain.canonical(entry.attributes) for entry in members):
                raise DataError(f"slice {number + 1}: a party's attributes are not in domain order")
            if len({entry.record_count for entry in members}) > 1:
                raise DataError(f"slice {number + 1}: its parties hold different numbers of records")
        aligned = (
            [] if self.alignment is None else [(len(n) + 1).bit_length() - 1 for n in self.alignment.people]
        )
        if aligned not in ([], [len(self.members(number)) for number in range(self.slice_count)]):
            raise DataError("the alignment of the plan is for slices of other numbers of parties")

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the release that its parties agree on (`ReleaseSpec`), by name."""
        return {"collusions": None, "check": "", "sample": None, "may_drop_out": 0}

    @property
    def participants(self) -> tuple[Participant, ...]:
        """All that take part, by their places in the plan: the parties, in the roster's order."""
        return self.roster

    def check_identities(self) -> None:
        """Refuses participants of which two have one identity: they would count as two who do not collude.

        Raises:
            DataError: two names have the same identity; names both.
        """
        names: dict[bytes, str] = {}
        for one in self.participants:
            other = names.setdefault(one.identity, one.name)
            if other != one.name:
                raise DataError(
                    f"expected participants with identities of their own, and {other!r} and {one.name!r} "
                    "have the same; name different institutions in the plan"
                )

    @property
    def slice_count(self) -> int:
        """Number of slices, K."""
        return self.roster[-1].slice + 1

    @property
    def record_count(self) -> int:
        """Number of rows or positions of all slices: an upper bound of every count."""
        return sum(self.records(number) for number in range(self.slice_count))

    def records(self, number: int) -> int:
        """Number of rows of one slice, or of positions if it is aligned."""
        return self.roster[self.members(number)[0]].record_count

    def members(self, number: int) -> tuple[int, ...]:
        """Indices in the roster of a slice's parties."""
        return self._members.get(number, ())

    @property
    def slices(self) -> tuple[tuple[RosterEntry, ...], ...]:
        """The parties of each slice."""
        return tuple(tuple(self.roster[i] for i in self.members(k)) for k in range(self.slice_count))

    @cached_property
    def _members(self) -> dict[int, tuple[int, ...]]:
        """Indices in the roster by slice, so that a plan of many slices is checked in one pass."""
        places: dict[int, list[int]] = {}
        for place, entry in enumerate(self.roster):
            places.setdefault(entry.slice, []).append(place)
        return {number: tuple(held) for number, held in places.items()}
