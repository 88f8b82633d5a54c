"""Columns that follow from where the number or date of another one lies: its parts, and its steps."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..attributes.attribute import ABSENT, Attribute
from ..attributes.categorical import Category
from ..attributes.clock import Clock
from ..attributes.date_parts import Part
from ..attributes.dates import DateAttribute, GapAttribute, TimeAttribute
from ..attributes.granularity import Granularity
from ..attributes.moments import Times
from ..attributes.numeric import NumericAttribute
from .pieces import Targets, number_in, places_of, targets_of
from .plain import absent_codes, plain, plain_dates, texts, with_numbers
from .rule import Codes, Computing, Mask, Rule, check_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Clique, Domain


_LONGEST_CALENDAR = 2**22
"""Days, hours or minutes between the first and the last time of a column whose parts others are."""

_NESTED = {
    "year": (Granularity.YEAR, Granularity.QUARTER, Granularity.MONTH),
    "quarter": (Granularity.QUARTER, Granularity.MONTH),
    "month": (Granularity.MONTH,),
    "week": (Granularity.WEEK,),
}
"""Units longer than a day of which each lies within one such part."""

_LENGTHS = {"hour": Granularity.HOUR, "minute": Granularity.MINUTE}
"""The parts shorter than a day, and how long they are."""

PARTS = ("weekday", "year", "quarter", "month", "week", "day", "hour", "minute")
"""The parts of a time that a column may be."""


def part_of(part: str, times: Times) -> NDArray[np.int64]:
    """The part of each time, as people count: weekdays from Monday = 1 on, weeks as in ISO 8601."""
    match part:
        case "year":
            return Part.YEAR.of(times) + 1970
        case "week":
            thursdays = times.astype("datetime64[D]") + (3 - Part.WEEKDAY.of(times))
            found: NDArray[np.int64] = (thursdays - thursdays.astype("datetime64[Y]")).astype(np.int64) // 7
            return found + 1
        case "hour":
            return Part.HOUR.of(times)
        case "minute":
            return times.astype("datetime64[m]").astype(np.int64) % 60
    return Part(part).of(times) + 1


@dataclass(frozen=True)
class Follows(Computing):
    """A column that is a function of another one of numbers or dates; missing values are left out.

    Attributes:
        column: the column that follows.
        of: the other one.
    """

    column: str
    of: str

    @property
    def columns(self) -> Clique:
        """The column, then the one that it follows from."""
        return (self.column, self.of)

    @property
    def result(self) -> str:
        """See `Computing`."""
        return self.column

    @property
    def agrees(self) -> bool:
        """See `Computing`."""
        return True

    @abstractmethod
    def classes(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """A number for what the column is, by `places_of` the other one, shape (N,)."""

    @abstractmethod
    def value(self, one: int) -> Category:
        """What the column is, by such a number."""

    @abstractmethod
    def begins(self, attribute: Attribute) -> NDArray[np.float64]:
        """Numbers of the bins of the other column from which on its class may be another; increasing."""

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 2)
        if isinstance(domain[self.column], TimeAttribute):
            raise DataError(
                f"rules: {self.column!r} holds dates, which do not follow from others in this way; list "
                "categories, or declare numbers"
            )
        held = self.targets(domain)
        if not (held.codes >= 0).any() and not domain[self.column].open:
            raise DataError(
                f"rules: {self.column!r} holds none of the values that follow from {self.of!r}; add them to "
                "the domain, or fix the rule"
            )

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`."""
        held = self.targets(domain)
        wanted, found = codes[self.of], codes[self.column]
        keys = wanted.astype(np.int64) * held.size + found
        place = np.minimum(np.searchsorted(held.pairs, keys), max(len(held.pairs) - 1, 0))
        known = held.pairs[place] == keys if len(held.pairs) else np.zeros(keys.shape, dtype=np.bool_)
        return np.asarray(~known & ~held.any_of[wanted] & ~held.silent[found])

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`."""
        found = columns[self.column]
        broken = np.zeros(len(found), dtype=np.bool_)
        if isinstance(domain[self.of], GapAttribute):
            # A gap alone tells no date.
            return broken
        places, known = places_of(domain[self.of], columns[self.of])
        wanted, position = np.unique(self.classes(places), return_inverse=True)
        values = [self.value(one) for one in wanted.tolist()]
        if found.dtype.kind == "f":
            expected = np.array([number_in(value) for value in values])[position]
            held = found[known]
            broken[known] = (held != expected) & ~np.isnan(held)
            return broken
        said = self.targets(domain).text_of
        expected = np.array([said(value) for value in values], dtype=object)[position]
        held = found[known]
        broken[known] = (held != expected) & (held != "") & (expected != "")
        if absent_codes(domain[self.column]).any():
            broken &= found != ABSENT
        return broken

    def dependent(self, domain: Domain, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """The column's code, moved to the nearest that the other one allows."""
        held, found = self.targets(domain), codes[self.column]
        wrong = np.flatnonzero(self.forbids(domain, codes))
        if not len(wrong):
            return {self.column: found}
        begun = codes[self.of][wrong].astype(np.int64) * held.size
        keys = begun + found[wrong]
        after = np.searchsorted(held.pairs, keys)
        near = [held.pairs[np.clip(after - back, 0, len(held.pairs) - 1)] for back in (1, 0)]
        far = [
            np.where(one // held.size == begun // held.size, np.abs(one - keys), held.size) for one in near
        ]
        changed = found.copy()
        changed[wrong] = np.where(far[0] <= far[1], *near) - begun
        return {self.column: changed}

    def compute(self, domain: Domain, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """See `Computing`; a value that the column does not hold is left out."""
        attribute, found = domain[self.column], values[self.column]
        places, known = places_of(domain[self.of], plain_dates(domain[self.of], values[self.of]))
        now = plain(attribute, found)
        classes = np.zeros(len(found), dtype=np.int64)
        classes[known] = self.classes(places)
        known &= ~np.isnan(now) if now.dtype.kind == "f" else (now != "")
        if absent_codes(attribute).any():
            known &= now != ABSENT
        wanted, position = np.unique(classes, return_inverse=True)
        each = [self.value(one) for one in wanted.tolist()]
        if now.dtype.kind == "f":
            numbers = np.array([number_in(one) for one in each])[position]
            return with_numbers(attribute, found, known & (numbers != now) & ~np.isnan(numbers), numbers)
        held = self.targets(domain)
        codes = np.array([held.code_of(one) for one in each], dtype=np.int64)[position]
        known &= (codes >= 0) & (now != np.array([*texts(attribute), ""], dtype=object)[codes])
        changed = found.copy()
        changed[known] = attribute.decode(codes[known], np.random.default_rng(0))
        return changed

    def targets(self, domain: Domain) -> Targets:
        """What the column may be for each code of the other one."""
        return targets_of(self, domain[self.column], domain[self.of])


@dataclass(frozen=True)
class PartOf(Follows):
    """A column that is a part of a date or timestamp, such as its weekday.

    In a domain file: `{"part": "weekday", "column": "day", "of": "admitted"}`, and with names
    `"map": {"1": "Monday", ...}`.

    Attributes:
        part: one of `PARTS`.
        names: what the column holds for a part, by its text; empty for the part itself.
    """

    part: str
    names: tuple[tuple[str, Category], ...] = ()

    def same_part(self, other: Rule) -> bool:
        """Whether another rule says the same of another date."""
        return isinstance(other, PartOf) and replace(other, of=self.of) == self

    def classes(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """The part."""
        return part_of(self.part, places)

    def value(self, one: int) -> Category:
        """The name of the part; a missing value if it has none."""
        return _name_of_part(self.names).get(str(one), "") if self.names else one

    def begins(self, attribute: Attribute) -> NDArray[np.float64]:
        """The units in which days, hours or minutes begin."""
        assert isinstance(attribute, DateAttribute)
        moments, (first, last) = attribute.moments, attribute.units.ends
        length = _LENGTHS.get(self.part, Granularity.DAY)
        if moments.granularity.seconds >= length.seconds:
            return np.arange(first, last + 1)
        kind = f"datetime64[{length.numbers[0]}]"
        ends = moments.at(np.array([first, last]).astype(np.int64)).astype(kind).astype(np.int64)
        begun = np.arange(ends[0], ends[1] + 1).astype(kind)
        return moments.unit_numbers(begun.astype("datetime64[us]")).astype(np.float64)

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 2)
        held = domain[self.of]
        if not isinstance(held, DateAttribute | GapAttribute):
            raise DataError(
                f"rules: {self.of!r} holds no dates or timestamps in bins, of which others are parts; "
                "declare it as one, or leave out the rule"
            )
        moments = held.moments
        length = _LENGTHS.get(self.part, Granularity.DAY)
        if moments.granularity.seconds > length.seconds and moments.granularity not in _NESTED.get(
            self.part, ()
        ):
            raise DataError(
                f"rules: {self.of!r} is counted in {moments.granularity.plural}, which do not tell the "
                f"{self.part}; choose a finer granularity, or leave out the rule"
            )
        if isinstance(moments, Clock) and self.part not in _LENGTHS:
            raise DataError(f"rules: {self.of!r} holds times of day, which have no {self.part}; fix the rule")
        if isinstance(held, DateAttribute):
            begun, ended = held.moments.at(np.array(held.units.ends).astype(np.int64)).astype("datetime64[s]")
            if (ended - begun).astype(np.int64) / length.seconds > _LONGEST_CALENDAR:
                raise DataError(
                    f"rules: the bounds of {self.of!r} are too far apart for a part that is the "
                    f"{self.part}; state narrower ones, or leave out the rule"
                )
        super().check(domain)

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        form: dict[str, Any] = {"part": self.part, "column": self.column, "of": self.of}
        return form | ({"map": dict(self.names)} if self.names else {})


@dataclass(frozen=True)
class StepsOf(Follows):
    """A column that says between which steps a number or date lies, such as an age group.

    In a domain file: `{"steps": "working_age", "of": "age", "at": [18, 65], "values": ["no", "yes", "no"]}`.
    Below the first step it has the first value, and from each step on the next one.

    Attributes:
        at: the steps, increasing; of dates in ISO 8601.
        values: one more than steps.
    """

    at: tuple[float | str, ...]
    values: tuple[Category, ...]

    def classes(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """The number of steps at or below."""
        steps: Any = np.array(self.at, dtype=places.dtype)
        return np.searchsorted(steps, places, "right").astype(np.int64)

    def value(self, one: int) -> Category:
        """The value between two steps."""
        return self.values[one]

    def begins(self, attribute: Attribute) -> NDArray[np.float64]:
        """The steps."""
        if isinstance(attribute, DateAttribute):
            steps = np.array(self.at, dtype="datetime64[us]")
            units = attribute.moments.unit_numbers(steps)
            return (units + (attribute.moments.at(units) < steps)).astype(np.float64)
        return np.array(self.at, dtype=np.float64)

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 2)
        held, dated = domain[self.of], isinstance(domain[self.of], DateAttribute | GapAttribute)
        if not dated and not isinstance(held, NumericAttribute):
            raise DataError(
                f"rules: {self.of!r} holds no numbers or dates in bins, between which steps lie; declare it "
                "so, or leave out the rule"
            )
        if any(isinstance(step, str) is not dated for step in self.at):
            raise DataError(
                f"rules: the steps of {self.of!r} are of another kind than it holds; state numbers of "
                "numbers, and dates of dates"
            )
        try:
            steps: NDArray[Any] = np.array(self.at, dtype="datetime64[us]" if dated else np.float64)
            ordered = bool((steps[1:] > steps[:-1]).all()) and not (dated and np.isnat(steps).any())
        except ValueError:
            ordered = False
        if not len(self.at) or not ordered or len(self.values) != len(self.at) + 1:
            raise DataError(
                f"rules: expected for {self.column!r} increasing steps, of dates as 2020-12-31, and one "
                "value more than steps; fix the rule"
            )
        super().check(domain)

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        form: dict[str, Any] = {"steps": self.column, "of": self.of}
        return form | {"at": list(self.at), "values": list(self.values)}


@functools.lru_cache(maxsize=256)
def _name_of_part(pairs: tuple[tuple[str, Category], ...]) -> Mapping[str, Category]:
    return dict(pairs)


def following_from(names: Collection[str], domain: Domain) -> tuple[Follows, ...]:
    """The rules of columns that follow from some, and from these in turn."""
    rules = [rule for rule in domain.rules if isinstance(rule, Follows)]
    known = {*names}
    for _ in rules:
        known.update(rule.column for rule in rules if rule.of in known)
    return tuple(rule for rule in rules if rule.of in known)
