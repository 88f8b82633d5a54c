"""When in a month, a week and a day times are, how round their minutes are, and how far apart they come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...later import np
from .months import CYCLE, DAYS_OF_MONTH, LAST, days_of_months

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

MINUTES = (60, 30, 15, 10, 5, 1)
"""Minutes of an hour are told apart by the first of these that divides them."""

WEEKDAYS, HOURS_OF_DAY = 7, 24

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
"""Seconds."""

ABOUT = 0.125
"""Gaps are about as long as another one that differ by no more than this part of it."""

_FROM_MONDAY = 3
"""Days from a Monday to 1970-01-01."""

_LEAST_TIMES = 200
"""Fewer times tell no rhythm."""

_ABOVE_NOISE = 3.0
"""Shares are seen that exceed so many deviations of their noise."""

_SELDOM_BY_CHANCE, _UNLIKE_EVEN = 3.0, 0.05
"""Shares are stated that are so many deviations from even ones, and so far from them in total variation."""

_OF_A_MONTH = 1.5
"""Days of a month are told apart that have so many times as many times as even ones."""

_APART = re.compile(r"([1-9][0-9]{0,3}) (day|month)s?")
"""What lies between times, in a rhythm."""

_PARTS = 5
"""Days of a month are told apart that stand out in all of so many parts of the times but one."""

_AT_MIDNIGHT = 0.02
"""So large a share of times at midnight is stated apart."""


@dataclass(frozen=True)
class Rhythm:
    """When times are, as far as it is the same in each week and on each day.

    Attributes:
        weekdays: the shares of the days of a week from Monday on; empty if they are even.
        hours: the shares of the hours of a day, of times that are not at midnight; empty if they are even.
        midnight: the share of times at midnight, as of dates among timestamps; None for no other than others.
        minutes: some of `MINUTES`, and the share of times, of those that are not at midnight, at minutes that
            they divide and none before; others are no whole minutes. Empty if they are even.
        monthdays: days of a month, `LAST` for its last one, and the share of times on each of them; times on
            others are even.
        gaps: what lies between a time and the one before of the same parent, such as "1 month" or "14 days",
            and which share is exactly this of all gaps that are about as long; see `lengths`.
    """

    weekdays: tuple[float, ...] = ()
    hours: tuple[float, ...] = ()
    midnight: float | None = None
    minutes: tuple[tuple[int, float], ...] = ()
    monthdays: tuple[tuple[int, float], ...] = ()
    gaps: tuple[tuple[str, float], ...] = ()

    @property
    def lengths(self) -> tuple[tuple[int, int, float], ...]:
        """The gaps that are exact: days and months of each, one of which is 0, and its share."""
        found = []
        for one, share in self.gaps:
            number, unit = one.split(" ")
            found.append((0, int(number), share) if unit.startswith("month") else (int(number), 0, share))
        return tuple(found)

    @property
    def finest(self) -> float:
        """Seconds of the unit of which times have to be counted at least."""
        return MINUTE if self.minutes or self.midnight is not None else HOUR if self.hours else DAY

    def to_json(self) -> dict[str, Any]:
        """What is stated."""
        form: dict[str, Any] = {"weekdays": list(self.weekdays), "hours": list(self.hours)}
        form = {key: shares for key, shares in form.items() if shares}
        form |= {} if self.midnight is None else {"midnight": self.midnight}
        form |= {"minutes": {str(one): share for one, share in self.minutes}} if self.minutes else {}
        days = {"last" if one == LAST else str(one): share for one, share in self.monthdays}
        return form | ({"monthdays": days} if days else {}) | ({"gaps": dict(self.gaps)} if self.gaps else {})

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Rhythm:
        """Reads what `to_json` writes."""
        minutes = sorted(((int(one), float(share)) for one, share in form.get("minutes", {}).items()))
        midnight = form.get("midnight")
        days = form.get("monthdays", {}).items()
        of_month = sorted((LAST if day == "last" else int(day), float(share)) for day, share in days)
        return cls(
            tuple(map(float, form.get("weekdays", ()))),
            tuple(map(float, form.get("hours", ()))),
            None if midnight is None else float(midnight),
            tuple(reversed(minutes)),
            tuple(of_month),
            tuple((str(one), float(share)) for one, share in form.get("gaps", {}).items()),
        )

    def problem(self) -> str:
        """What is wrong with it; empty if nothing is."""
        for what, listed, length in (
            ("weekdays", self.weekdays, WEEKDAYS),
            ("hours", self.hours, HOURS_OF_DAY),
        ):
            if listed and (len(listed) != length or min(listed) < 0 or not 0.5 <= sum(listed) <= 1.5):
                return f"{what} of a rhythm are {length} shares, 0 or more, that add up to 1"
        if self.midnight is not None and not 0 <= self.midnight <= 1:
            return "midnight of a rhythm is a share from 0 to 1"
        shares = [share for _, share in self.minutes]
        if not all(one in MINUTES for one, _ in self.minutes) or (
            shares and (min(shares) < 0 or not 0 < sum(shares) <= 1 + 1e-9)
        ):
            named = ", ".join(map(str, MINUTES))
            return f"minutes of a rhythm are shares of multiples of {named}, 0 or more, at most 1 together"
        shares = [share for _, share in self.monthdays]
        if shares and (min(shares) < 0 or sum(shares) > 1 + 1e-9):
            return "monthdays of a rhythm are shares of days, 0 or more, at most 1 together"
        if not all(_APART.fullmatch(one) and 0 <= share <= 1 for one, share in self.gaps):
            return 'gaps of a rhythm are shares from 0 to 1 of lengths such as "1 month" or "14 days"'
        return ""


@dataclass(frozen=True)
class Pace:
    """The distribution of numbers of units since 1970 began within weeks and days.

    Attributes:
        rhythm: when they are.
        unit: seconds of a unit, at most those that the rhythm needs.
    """

    rhythm: Rhythm
    unit: float

    def in_rhythm(self, numbers: Numbers, least: Numbers, most: Numbers) -> Numbers:
        """Numbers that lie evenly in ranges, moved to where the rhythm has them; their order is the same.

        Args:
            numbers: of units, evenly between them too, shape (N,).
            least: the first unit of the range of each, shape (N,).
            most: the last one, shape (N,).
        """
        begin, end = self._below(least), self._below(most + 1)
        share = (numbers + 0.5 - least) / (most - least + 1)
        found = np.clip(self._at(begin + share * (end - begin)), least, most)
        # In a range that the rhythm leaves out they stay.
        return np.where(end > begin, found, np.clip(np.floor(numbers + 0.5), least, most))

    def without_rhythm(self, numbers: Numbers, least: Numbers, most: Numbers) -> Numbers:
        """The numbers that `in_rhythm` moves to these, perhaps between two units; shape (N,)."""
        begin, end = self._below(least), self._below(most + 1)
        held = end > begin
        share = (self._below(numbers + 0.5) - begin) / np.where(held, end - begin, 1.0)
        return np.where(held, least + share * (most - least + 1) - 0.5, numbers)

    def weekday_shares(self, days: NDArray[np.int64]) -> Numbers:
        """The share of the day of the week of each day since 1970 began, if it has one, shape (N,)."""
        shares: Numbers = np.array(self.rhythm.weekdays)[(days + _FROM_MONDAY) % WEEKDAYS]
        return shares

    def monthday_shares(self, days: NDArray[np.int64]) -> Numbers:
        """How much likelier each day since 1970 began is than one on average, by its month, shape (N,)."""
        day, length = days_of_months(days)
        listed = dict(self.rhythm.monthdays)
        each = np.full(32, max(0.0, 1 - sum(listed.values())) / (DAYS_OF_MONTH - len(listed)))
        for one, share in listed.items():
            each[one] = share
        found: Numbers = each[day] * DAYS_OF_MONTH
        if LAST in listed:
            found = np.where(day == length, each[LAST] * DAYS_OF_MONTH, found)
        return found

    def _below(self, numbers: Numbers) -> Numbers:
        """The times before points of time, in those of an average day, shape (N,)."""
        day = DAY / self.unit
        days = np.floor(numbers / day)
        begin, below = self._days
        length = len(below) - 1
        cycles, at = np.divmod(days.astype(np.int64) - begin, length)
        places, masses = self._pieces
        of_day = np.interp(numbers - days * day, places, masses)
        found: Numbers = cycles * below[-1] + below[at] + (below[at + 1] - below[at]) * of_day
        return found

    def _at(self, below: Numbers) -> Numbers:
        """The units before which, and perhaps in part of them, so many times lie, shape (N,)."""
        begin, days = self._days
        cycles = np.floor(below / days[-1])
        rest = below - cycles * days[-1]
        # Errors of arithmetic do not move one beyond its piece, where perhaps none lies.
        at = np.minimum(np.searchsorted(days, rest, "right"), len(days) - 1) - 1
        places, masses = self._pieces
        of_day = (rest - days[at]) / np.maximum(days[at + 1] - days[at], np.finfo(float).tiny)
        piece = np.minimum(np.searchsorted(masses, of_day, "right"), len(masses) - 1) - 1
        width, mass = (np.diff(one)[piece] for one in (places, masses))
        share = (of_day - masses[piece]) / np.maximum(mass, np.finfo(float).tiny)
        inside: Numbers = np.clip(np.floor(share * width), 0, np.maximum(width - 1, 0))
        day = begin + cycles * (len(days) - 1) + at
        found: Numbers = day * (DAY / self.unit) + places[piece] + inside
        return found

    @cached_property
    def _days(self) -> tuple[int, Numbers]:
        """The first day of a cycle, and the times before each of its days and the end, in average days."""
        begin, length = -_FROM_MONDAY, WEEKDAYS if self.rhythm.weekdays else 1
        if self.rhythm.monthdays:
            length = CYCLE
        days = np.arange(begin, begin + length)
        shares = np.ones(length)
        if self.rhythm.weekdays:
            shares = shares * self.weekday_shares(days)
        if self.rhythm.monthdays:
            shares = shares * self.monthday_shares(days)
        shares = shares * (length / float(shares.sum()))
        return begin, np.append(0.0, np.cumsum(shares))

    @cached_property
    def _pieces(self) -> tuple[Numbers, Numbers]:
        """Places of a day in units, its end last, and the share of its times before each of them."""
        places, masses = self._day
        return np.append(places, DAY / self.unit), np.append(0.0, np.cumsum(masses)) / float(masses.sum())

    @cached_property
    def _day(self) -> tuple[Numbers, Numbers]:
        """Places of a day in units, and the share of the times between each and the next."""
        rhythm = self.rhythm
        if self.unit >= DAY or rhythm.finest == DAY:
            return np.zeros(1), np.ones(1)
        hours: Numbers = np.array(rhythm.hours or (1 / HOURS_OF_DAY,) * HOURS_OF_DAY)
        if rhythm.finest == HOUR:
            begun: Numbers = np.arange(HOURS_OF_DAY, dtype=np.float64) * (HOUR / self.unit)
            return begun, hours / float(hours.sum())
        whole = _shares_of_minutes(rhythm.minutes) if rhythm.minutes else np.full(60, 1 / 60)
        if self.unit >= MINUTE:
            minutes = whole[:, None]
        elif rhythm.minutes:
            # The first unit of a minute is the whole minute, and others are told apart.
            minutes = np.stack([whole, np.full(60, max(0.0, 1 - whole.sum()) / 60)], axis=1)
        else:
            minutes = whole[:, None] * np.array([self.unit / MINUTE, 1 - self.unit / MINUTE])
        masses: Numbers = (hours[:, None, None] * minutes).ravel()
        if rhythm.midnight is not None:
            masses[0] = 0.0
            masses *= (1 - rhythm.midnight) / max(masses.sum(), np.finfo(float).tiny)
            masses[0] = rhythm.midnight
        begun = np.arange(HOURS_OF_DAY * 60, dtype=np.float64)[:, None] * (MINUTE / self.unit) + np.arange(
            minutes.shape[1]
        )
        return begun.ravel(), masses / float(masses.sum())


def _shares_of_minutes(minutes: tuple[tuple[int, float], ...]) -> Numbers:
    """The share of each minute of an hour, shape (60,)."""
    kinds, shares = _kinds_of_minutes(), np.zeros(len(MINUTES))
    for one, share in minutes:
        shares[MINUTES.index(one)] = share
    found: Numbers = (shares / np.bincount(kinds, minlength=len(MINUTES)))[kinds]
    return found


def _kinds_of_minutes() -> NDArray[np.int64]:
    """The place in `MINUTES` of the first that divides each minute of an hour, shape (60,)."""
    divided = np.arange(60)[:, None] % np.array(MINUTES) == 0
    found: NDArray[np.int64] = np.argmax(divided, axis=1)
    return found


@dataclass(frozen=True)
class TimesCounted:
    """Rows of times by the parts of a rhythm.

    Attributes:
        weekdays: from Monday on, shape (7,).
        hours: at midnight, then in each hour beside, shape (25,).
        minutes: by `MINUTES`, and those that are no whole minutes, without those at midnight; shape (7,).
        monthdays: on the last day of a month, then on each other one from the first on, of each fifth of the
            times; shape (5, 32).
    """

    weekdays: Numbers = field(default_factory=lambda: np.zeros(WEEKDAYS))
    hours: Numbers = field(default_factory=lambda: np.zeros(1 + HOURS_OF_DAY))
    minutes: Numbers = field(default_factory=lambda: np.zeros(len(MINUTES) + 1))
    monthdays: Numbers = field(default_factory=lambda: np.zeros((_PARTS, 32)))

    @classmethod
    def of(cls, times: NDArray[np.datetime64], rows: NDArray[np.integer[Any]]) -> TimesCounted:
        """Counts local times, datetime64, none of them missing.

        Args:
            times: shape (N,).
            rows: number of rows of each, shape (N,).
        """
        microseconds = times.astype("datetime64[us]").astype(np.int64)
        days, of_day = np.divmod(microseconds, int(DAY * 1e6))
        minutes, beyond = np.divmod(of_day, int(MINUTE * 1e6))
        kinds = np.where(beyond > 0, len(MINUTES), _kinds_of_minutes()[minutes % 60])
        by_hour = np.where(of_day > 0, 1 + minutes // 60, 0)
        later = np.where(of_day > 0, rows, 0)
        of_month, length = days_of_months(days)
        counted = (
            ((days + _FROM_MONDAY) % WEEKDAYS, rows, WEEKDAYS),
            (by_hour, rows, 1 + HOURS_OF_DAY),
            (kinds, later, len(MINUTES) + 1),
        )
        of_month = np.where(of_month == length, LAST, of_month)
        weekdays, hours, by_minutes = (np.bincount(*one).astype(np.float64) for one in counted)
        monthdays = np.bincount(32 * _fifths(days, rows) + of_month, rows, 32 * _PARTS)
        return cls(weekdays, hours, by_minutes, monthdays.reshape(_PARTS, 32).astype(np.float64))

    def rhythm(self, unit: float, noise: float = 0.0, dated: bool = True) -> Rhythm | None:
        """What they say of their rhythm; None if that they come evenly.

        Args:
            unit: seconds of which all times are multiples.
            noise: standard deviation of each count.
            dated: whether they are times of days that are known.
        """
        dated &= unit <= DAY
        weekdays = _uneven(self.weekdays, np.full(WEEKDAYS, 1 / WEEKDAYS), noise) if dated else None
        hours, minutes, midnight = None, None, None
        if unit <= HOUR and dated:
            of_hours = self.hours[1:].copy()
            total = max(float(self.hours.sum()), 1.0)
            # As many as at other full hours, if these are told apart.
            by_chance = max(total * unit / DAY, float(self.minutes[0]) / (HOURS_OF_DAY - 1))
            if unit <= MINUTE and self.hours[0] > by_chance + max(_AT_MIDNIGHT * total, _ABOVE_NOISE * noise):
                midnight = min(1.0, round(float(self.hours[0]) / total, 3))
            else:
                of_hours[0] += self.hours[0]
            hours = _uneven(of_hours, np.full(HOURS_OF_DAY, 1 / HOURS_OF_DAY), noise)
        if unit <= MINUTE:
            each = np.bincount(_kinds_of_minutes(), minlength=len(MINUTES)) / 60
            whole = min(1.0, unit / MINUTE)
            minutes = _uneven(self.minutes, np.append(each * whole, 1 - whole), noise)
        monthdays = _uneven_days(self.monthdays) if dated else ()
        if (weekdays, hours, minutes, midnight) == (None, None, None, None) and not monthdays:
            return None
        # The last share is that of times that are no whole minutes.
        known = zip(MINUTES, minutes or (), strict=False)
        shares = tuple((one, share) for one, share in known if share > 0)
        return Rhythm(weekdays or (), hours or (), midnight, shares, monthdays)


def _uneven_days(counts: Numbers) -> tuple[tuple[int, float], ...]:
    """The days of a month with many more times than others, and their shares; empty if there are none.

    Args:
        counts: see `TimesCounted`.
    """
    total = counts.sum(axis=1, keepdims=True)
    if total.min() < _LEAST_TIMES / _PARTS:
        return ()
    # Each comes in each month, and the last four in those in which they are not the last.
    expected = total * np.append(np.ones(28), [0.936875, 11 / 12, 7 / 12, 0.0]) / DAYS_OF_MONTH
    by_chance = _SELDOM_BY_CHANCE * np.sqrt(np.maximum(expected, 1.0) / _PARTS)
    # What is so in one part alone is a date, and no day of months.
    many = (counts > _OF_A_MONTH * expected + by_chance).sum(axis=0) >= _PARTS - 1
    shares = np.median(counts / total, axis=0)
    if (shares - expected[0] / total[0])[many].sum() < _UNLIKE_EVEN:
        return ()
    shares = np.floor(1000 * shares / max(1.0, float(shares[many].sum()))) / 1000
    return tuple((int(day), float(shares[day])) for day in np.flatnonzero(many))


def _fifths(days: NDArray[np.int64], rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The fifth of all rows in which each day is, in their order, shape (N,)."""
    order = np.argsort(days, kind="stable")
    found = np.empty(len(days), dtype=np.int64)
    before = np.cumsum(rows[order]) - rows[order]
    found[order] = _PARTS * before // max(int(rows.sum()), 1)
    return found


def _uneven(counts: Numbers, even: Numbers, noise: float) -> tuple[float, ...] | None:
    """Shares of counts; None if they may as well be even ones."""
    total = float(counts.sum())
    if total < max(_LEAST_TIMES, _ABOVE_NOISE * noise * len(counts) ** 0.5):
        return None
    expected, free = even * total, len(counts) - 1
    far = ((counts - expected) ** 2 / np.maximum(expected + noise**2, 1.0)).sum()
    # The quantile of a chi-square distribution, by the approximation of Wilson and Hilferty.
    if far < free * (1 - 2 / (9 * free) + _SELDOM_BY_CHANCE * (2 / (9 * free)) ** 0.5) ** 3:
        return None
    seen = counts > _ABOVE_NOISE * noise
    rest = max(0.0, float(counts[~seen].sum()))
    if rest <= _ABOVE_NOISE * noise * np.sqrt((~seen).sum()):
        rest = 0.0
    # What no single count tells is spread as evenly as it can be.
    unseen = np.where(seen, 0.0, even)
    shares = np.where(seen, counts, 0.0) + rest * unseen / max(float(unseen.sum()), 1e-300)
    shares = np.round(shares / shares.sum(), 3)
    if np.abs(shares - even).sum() / 2 < _UNLIKE_EVEN:
        return None
    shares[np.argmax(shares)] -= max(0.0, shares.sum() - 1)
    return tuple(np.round(shares, 3).tolist())
