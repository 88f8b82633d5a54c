"""Quotas: what releases may cost in one calendar year, or for one curator, beside the limit of all releases.

A quota that renews limits how fast the lifetime budget is spent. Nothing that was spent comes back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...common.errors import PolicyError
from ...common.forms.tables import Key, MapOf, Table
from ...common.forms.values import Number
from ...common.privacy.spending import Cost, together

_LIMIT = Number(least=0)

QUOTAS = Table(
    {
        "yearly_rho": Key(_LIMIT, "Upper limit of what all releases cost in one calendar year, zCDP."),
        "curators": Key(
            MapOf(
                Table(
                    {
                        "yearly_rho": Key(_LIMIT, "Upper limit of its releases in one year, zCDP."),
                        "lifetime_rho": Key(_LIMIT, "Upper limit of all its releases together, zCDP."),
                    }
                )
            ),
            "By the name of a pinned curator, its quota; one that is left out is refused.",
        ),
    }
)
"""The section [quotas]."""


@dataclass(frozen=True)
class Taken:
    """What one release takes of the budgets of a party.

    Attributes:
        cost: what it was granted while it is open, what it cost once it is closed.
        this_year: the part of its rho that was charged in this calendar year (UTC), or still may be.
        curator: identity that signed its terms; None if it is not known, and counts for every curator.
        whole: id of the release of related tables of which it is a part; empty for none.
    """

    cost: Cost
    this_year: Fraction = Fraction(0)
    curator: bytes | None = None
    whole: str = ""


@dataclass(frozen=True)
class Asking:
    """The curator that asks for a release.

    Attributes:
        identity: by which its terms are signed; empty where any curator is accepted.
        name: name under which it is pinned; empty if it is not.
    """

    identity: bytes
    name: str


NOBODY = Asking(b"", "")
"""A curator that is not known."""


@dataclass(frozen=True)
class Quota:
    """Upper limits of the releases of one curator, zCDP; None for no limit of this kind.

    Attributes:
        yearly_rho: of those of one calendar year.
        lifetime_rho: of all of them together.
    """

    yearly_rho: Fraction | None = None
    lifetime_rho: Fraction | None = None


@dataclass(frozen=True)
class Left:
    """What is left of one limit.

    Attributes:
        key: of the limit, with its section.
        rho: the limit, zCDP.
        left_rho: what nothing has spent or reserved; negative if the limit does not suffice.
        yearly: whether it is of a calendar year.
        of_curator: whether it is of the releases of one curator.
    """

    key: str
    rho: Fraction
    left_rho: Fraction
    yearly: bool
    of_curator: bool

    @property
    def words(self) -> str:
        """What is left, in words."""
        when = " this calendar year" if self.yearly else ""
        if self.left_rho < 0:
            return f"NOTHING{when}: {self.key} {float(self.rho):.6g} does not suffice"
        return f"rho {_rounded_down(self.left_rho):.6g} of {self.key} {float(self.rho):.6g}{when}"


@dataclass(frozen=True)
class Quotas:
    """The quotas of a party. The defaults limit nothing beside its other limits.

    Attributes:
        yearly_rho: upper limit of what all releases cost in one calendar year, zCDP; None for no such limit.
        curators: the quota of each curator, by its pinned name; None if curators have no quotas of their own.
    """

    yearly_rho: Fraction | None = None
    curators: Mapping[str, Quota] | None = None

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Quotas:
        """The quotas of the section [quotas] of a policy."""
        curators = section.get("curators")
        return cls(
            _limit(section, "yearly_rho"),
            None
            if curators is None
            else {
                name: Quota(_limit(one, "yearly_rho"), _limit(one, "lifetime_rho"))
                for name, one in curators.items()
            },
        )

    def list_left(self, taken: Iterable[Taken], rows: int, asking: Asking) -> list[Left]:
        """What is left of each limit that holds for a curator.

        Args:
            taken: what the releases of the party take.
            rows: largest number of rows of a person that the party uses, or `ALL_ROWS`.
            asking: the curator.
        """
        every = list(taken)
        own = [one for one in every if one.curator in (None, asking.identity)]
        quota = (self.curators or {}).get(asking.name, Quota())
        key = f"[quotas.curators.{asking.name}]"
        limits = (
            (self.yearly_rho, "yearly_rho in [quotas]", every, True, False),
            (quota.yearly_rho, f"yearly_rho in {key}", own, True, True),
            (quota.lifetime_rho, f"lifetime_rho in {key}", own, False, True),
        )
        return [
            Left(said, limit, limit - _rho(counted, rows, yearly=yearly), yearly, of_curator)
            for limit, said, counted, yearly, of_curator in limits
            if limit is not None
        ]

    def refusals(
        self, asked: Cost, taken: Sequence[Taken], rows: int, asking: Asking
    ) -> Iterator[PolicyError]:
        """Every quota that a release would exceed; none if it fits.

        Args:
            asked: what the release may cost, and with a part of related tables those that are left.
            taken: what the releases accepted so far take.
            rows: see `list_left`.
            asking: see `list_left`.
        """
        if self.curators is not None and asking.name not in self.curators:
            yield PolicyError(
                "the policy has quotas of curators and none of this one; its owner can add a section "
                "[quotas.curators.NAME] with the curator's pinned name"
            )
        before = self.list_left(taken, rows, asking)
        after = self.list_left([*taken, Taken(asked, asked.zcdp_rho, asking.identity)], rows, asking)
        for had, left in zip(before, after, strict=True):
            if left.left_rho < 0:
                yield _refusal(had)


def _refusal(had: Left) -> PolicyError:
    # What other curators spent is not told to this one.
    known = f", which is rho {_rounded_down(max(Fraction(0), had.left_rho)):.6g}" if had.of_curator else ""
    whose = "this curator" if had.of_curator else "all curators together"
    if had.yearly:
        return PolicyError(
            f"the release requests more than is left of {had.key}, the quota of {whose} for this calendar "
            f"year{known}; lower its epsilon, or ask again when the next year has begun in UTC"
        )
    return PolicyError(
        f"the release requests more than is left of {had.key}, the quota of {whose}{known}; lower its "
        "epsilon, or the party's owner raises the quota"
    )


def _rho(taken: Iterable[Taken], rows: int, *, yearly: bool) -> Fraction:
    """What releases take of a limit: under the strictest of their adjacencies."""
    costs = (Cost(one.cost.unit, one.this_year) if yearly else one.cost for one in taken)
    return together((one for one in costs if one.zcdp_rho), rows).zcdp_rho


def _rounded_down(rho: Fraction) -> float:
    """A budget in six decimals of its leading digit, never more than it is."""
    if rho <= 0:
        return float(rho)
    digits = 5 - math.floor(math.log10(rho))
    return math.floor(rho * Fraction(10) ** digits) / 10.0**digits


def _limit(section: Mapping[str, Any], key: str) -> Fraction | None:
    return Fraction(section[key]) if key in section else None
