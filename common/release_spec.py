"""The description of a release that its plan, order, terms, certificate, forecast and simulation embed.

An option of a release is a field here, with its check and its line of help. The key of a plan, the option of
`dpmosaic simulate`, canonical bytes and JSON are derived from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypedDict

from .about import About
from .errors import DataError
from .forms.options import option
from .forms.values import Choice, Text, whole
from .privacy.budget import Budget
from .privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from .privacy.rows_of_person import MOST_ROWS, ROWS, rows_of
from .protocols.registry import BUILT_IN, CHECK, MASKED, Protocol

if TYPE_CHECKING:
    from .protocols.partition import Partition

BUDGET, PARTITION, OUTPUT = "Budget", "Partition and protocol", "Output"
"""Headings of options in help."""


@dataclass(frozen=True)
class ReleaseSpec:
    """What a release promises, how it measures, and how many rows it has.

    Attributes:
        budget: the promise for each person with up to `rows_per_person` rows of one slice.
        adjacency: which tables are neighbours.
        protocol: name of the measurement protocol.
        collusions: number of parties that may collude; None for the protocol's default, and in terms where it
            tolerates none.
        check: what parties prove of their openings (`MaskedPlan`); empty for nothing.
        sample: rows of the largest slice that products between parties use (`MaskedPlan`); None for a limit,
            and in terms for all.
        may_drop_out: number of parties that may drop out for good before the release ends (`DropoutPlan`).
        rows: number of synthetic rows; None for as many as the table has, up to a limit.
        rows_per_person: rows of one person in one slice that the promise covers, or `ALL_ROWS`.
        about: the reason of the release, for the people who decide on it.

    Raises:
        DataError: an option is out of range.
    """

    budget: Budget
    adjacency: Adjacency = field(
        default=Adjacency.ZERO_OUT,
        metadata=option(
            Choice(tuple(Adjacency)), "zero-out, replace-one, or with aligned rows add-remove.", BUDGET
        ),
    )
    protocol: str = field(
        default=MASKED.name, metadata=option(Text(), f"One of {', '.join(BUILT_IN)}.", PARTITION)
    )
    collusions: int | None = field(
        default=None,
        metadata=option(whole(0), "masked: number of parties that may collude; 1 by default.", PARTITION),
    )
    check: str = field(
        default="",
        metadata=option(
            Choice((CHECK,)),
            "masked: one-hot, to have parties prove that they open each record once.",
            PARTITION,
        ),
    )
    sample: int | None = field(
        default=None,
        metadata=option(
            whole(1),
            "masked: rows that marginals across parties use; by default all, at most 10^7.",
            PARTITION,
        ),
    )
    may_drop_out: int = field(
        default=0,
        metadata={
            **option(
                whole(0),
                "masked, one party in each slice: number of parties that may drop out for good.",
                PARTITION,
            ),
            "optional": True,
            "follows": "the plan of the terms",
        },
    )
    rows: int | None = field(
        default=None,
        metadata=option(
            whole(1, MOST_ROWS),
            "Number of synthetic rows; by default as many as the table has, at most 10^7.",
            OUTPUT,
        ),
    )
    rows_per_person: int = field(
        default=1, metadata=option(ROWS, "Rows of one person in one slice that the promise covers, or all.")
    )
    about: About = field(default_factory=About)

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise DataError(f"rows: expected at least 1, got {self.rows}; ask for more")
        if self.rows_per_person < ALL_ROWS:
            raise DataError(f"rows_per_person: expected at least 1, got {self.rows_per_person}; cover more")
        if not self.protocol:
            raise DataError(f"protocol: expected a name such as {MASKED.name!r}, got none; name one")

    @classmethod
    def of(cls, budget: Budget, options: Mapping[str, Any], about: About | None = None) -> Self:
        """The description with these options, as files and commands write them.

        Raises:
            DataError: a value is out of range.
            BudgetError: there is no such adjacency.
        """
        given = dict(options)
        if "adjacency" in given:
            given["adjacency"] = Adjacency.named(given["adjacency"])
        if "rows_per_person" in given:
            given["rows_per_person"] = rows_of(given["rows_per_person"])
        if isinstance(given.get("protocol"), Protocol):
            given["protocol"] = given["protocol"].name
        return cls(budget, about=about or About(), **given)

    def covering(self, rows: int) -> Self:
        """The same for each person with so many rows, or `ALL_ROWS`."""
        return replace(self, rows_per_person=rows)

    @property
    def unit(self) -> PrivacyUnit:
        """What differs between neighbouring tables; every cost is for it."""
        return PrivacyUnit(self.adjacency, self.rows_per_person)

    def check_protocol(self, protocol: Protocol) -> None:
        """Refuses options that the protocol has not.

        Raises:
            DataError: names the option.
        """
        if protocol.tolerates_collusions:
            if self.sample is not None and self.sample < 1:
                raise DataError(f"sample: expected at least 1 row, got {self.sample}; leave it out")
            return
        if self.collusions is not None:
            raise DataError(
                f"collusions: the protocol {protocol.name!r} tolerates none; leave them out or choose "
                f"{MASKED.name!r}"
            )
        if self.sample is not None:
            raise DataError(
                f"sample: the protocol {protocol.name!r} has none; leave it out or choose {MASKED.name!r}"
            )
        if self.may_drop_out:
            raise DataError(
                f"may_drop_out: the protocol {protocol.name!r} needs all parties; leave it out or choose "
                f"{MASKED.name!r}"
            )
        if self.check:
            raise DataError(
                f"check: the protocol {protocol.name!r} opens nothing; leave it out or choose {MASKED.name!r}"
            )

    def over(self, plan: Partition) -> Self:
        """The same description with what these parties agree on in place of defaults."""
        return replace(self, **plan.options)


class ReleaseOptions(TypedDict, total=False):
    """The options of a release in a call, those of `ReleaseSpec` that commands have too."""

    adjacency: Adjacency | str
    protocol: Protocol | str
    collusions: int | None
    check: str
    sample: int | None
    may_drop_out: int
    rows: int | None
