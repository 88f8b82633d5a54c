"""Domains from the names and types of columns alone: no value is read for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..common.data.attribute import Attribute
from ..common.data.boolean import BooleanAttribute
from ..common.data.categorical import CategoricalAttribute, Category
from ..common.data.dates import DateAttribute
from ..common.data.domain import Domain
from ..common.data.moments import Granularity, Moments
from ..common.data.numeric import NumericAttribute
from ..common.data.values import text_of
from ..party.sources.profile import NOT_AVAILABLE

FIRST_DAY, LAST_DAY = "1900-01-01", "2099-12-31"
"""Public range of dates and timestamps of which only the type is known; others count at the nearest end."""

OTHER = "other"
"""The category of texts that no release finds often enough."""

MISSING = tuple(text for text in NOT_AVAILABLE if text)
"""Texts that stand for a missing value in a text file's columns of numbers and dates."""


class DomainWarning(UserWarning):
    """A release knows its columns by their types alone; a reviewed domain gives less error."""


@dataclass(frozen=True)
class Flag:
    """The type of booleans.

    Attributes:
        nullable: whether a value can be missing.
    """

    nullable: bool

    def attribute(self, name: str) -> Attribute:
        """True, false and perhaps missing."""
        return BooleanAttribute(name, self.nullable)


@dataclass(frozen=True)
class Number:
    """A type of numbers.

    Attributes:
        integer: whether it holds whole numbers only.
        nullable: whether a value can be missing.
        bounds: smallest and largest value of a type of one byte; None for larger types.
        texts: whether the numbers are text, so that texts such as NA stand for a missing value.
    """

    integer: bool
    nullable: bool
    bounds: tuple[int, int] | None = None
    texts: bool = False

    def attribute(self, name: str) -> Attribute:
        """Numbers whose bounds and bins a release chooses."""
        low, high = self.bounds or (None, None)
        return NumericAttribute(
            name,
            low,
            high,
            None,
            self.nullable,
            self.integer,
            # Zero is a value of its own in many columns, and would come back as a small number.
            atoms=() if self.integer else (0.0,),
            unreadable="missing" if self.nullable else "error",
            missing=MISSING if self.texts else (),
        )


@dataclass(frozen=True)
class Text:
    """The type of texts, which nobody can list."""

    def attribute(self, name: str) -> Attribute:
        """Categories that a release chooses by partition selection."""
        return CategoricalAttribute(name, ("", OTHER), other=OTHER, open=True)


@dataclass(frozen=True)
class Listed:
    """A type that lists its values.

    Attributes:
        categories: the values.
        ordered: whether they are in an order that has a meaning.
    """

    categories: tuple[object, ...]
    ordered: bool

    def attribute(self, name: str) -> Attribute:
        """The listed categories, and a missing value."""
        known = [one if isinstance(one, (str, int, float)) else text_of(one) for one in self.categories]
        listed: tuple[Category, ...] = ("", *(one for one in known if one != ""))
        return CategoricalAttribute(name, listed, ordered=self.ordered)


@dataclass(frozen=True)
class Time:
    """A type of dates or timestamps; values can always be missing.

    Attributes:
        timed: whether it holds timestamps.
        timezone: IANA name of the time zone of timestamps; empty if they have none.
        texts: whether the times are text, so that texts such as NA stand for a missing value.
    """

    timed: bool
    timezone: str = ""
    texts: bool = False

    def attribute(self, name: str) -> Attribute:
        """Days or seconds from `FIRST_DAY` to `LAST_DAY`, whose bins a release chooses."""
        granularity = Granularity.SECOND if self.timed else Granularity.DAY
        moments = Moments(self.timed, granularity, timezone=self.timezone)
        first = moments.bound(name, FIRST_DAY)
        last = moments.bound(name, f"{LAST_DAY}T23:59:59" if self.timed else LAST_DAY)
        units = NumericAttribute(
            name,
            first,
            last,
            None,
            True,
            integer=True,
            unreadable="missing",
            missing=MISSING if self.texts else (),
        )
        return DateAttribute(name, units, moments)


ColumnType = Flag | Number | Text | Listed | Time
"""What the type of a column says of its values."""


def domain_of_types(types: Mapping[str, ColumnType]) -> Domain:
    """The domain of columns of which only names and types are known, which count as public.

    Args:
        types: name -> type of each column, in order.

    Raises:
        DataError: there is no column, or a type lists one value twice.
    """
    return Domain(tuple(kind.attribute(name) for name, kind in types.items()))
