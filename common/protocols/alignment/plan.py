"""Plan of a release that aligns the rows of parties; it measures nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import DataError
from ..partition import Partition
from .match_keys import MatchKey, check_match

ALIGNMENT = "alignment"
"""Name of the protocol in terms."""

MAX_PARTIES = 8
"""Largest number of parties whose rows are compared; the number of dummies doubles with each."""

HMAC, DDH = "hmac", "ddh"
KEYINGS = (HMAC, DDH)
FIRST, REFUSE = "first", "refuse"


@dataclass(frozen=True)
class AlignmentPlan(Partition):
    """What all parties sign before they align their rows. Numbers of records are not public: all are zero.

    Attributes:
        match: match keys in order; rows that the first one does not match are matched by the second, and so
            on.
        keying: how identifiers are hidden from the matcher: "hmac", under a key that the parties share, or
            "ddh", under keys of which each party has one.
        duplicates: which of several rows of one person at one party is used: "first", or "refuse" for none.
        across_slices: what becomes of a person in two slices: "" to compare nothing, or "first" to use only
            the rows in the first slice that has the person.
    """

    match: tuple[MatchKey, ...] = field(kw_only=True, default=(("key:exact",),))
    keying: str = field(kw_only=True, default=HMAC)
    duplicates: str = field(kw_only=True, default=FIRST)
    across_slices: str = field(kw_only=True, default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(entry.record_count for entry in self.roster):
            raise DataError("a plan that aligns rows must not state numbers of records")
        if self.alignment is not None or self.chosen is not None:
            raise DataError("a plan that aligns rows must state neither an alignment nor chosen codes")
        check_match(self.match)
        for name, value, known in (
            ("keying", self.keying, KEYINGS),
            ("duplicates", self.duplicates, (FIRST, REFUSE)),
            ("across_slices", self.across_slices, ("", FIRST)),
        ):
            if value not in known:
                raise DataError(f"{name}: expected one of {', '.join(map(repr, known))}; fix the plan")
        if self.across_slices and min(map(len, self.slices)) < 2:
            raise DataError(
                "across_slices: expected at least two parties in each slice, got one; compare no slices, or "
                "divide its attributes between parties"
            )
        if max(map(len, self.groups)) > MAX_PARTIES:
            raise DataError(
                f"expected at most {MAX_PARTIES} parties whose rows are compared, got more; the number of "
                "dummies doubles with each: let fewer parties of a slice take part"
            )

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices in the roster of parties whose rows are compared: one group of all, or the slices."""
        if self.across_slices:
            return (tuple(range(len(self.roster))),)
        return tuple(map(self.members, range(self.slice_count)))

    def group(self, place: int) -> tuple[int, tuple[int, ...]]:
        """Number and parties of the group of one party.

        Args:
            place: index of the party in the roster.
        """
        return next((number, group) for number, group in enumerate(self.groups) if place in group)
