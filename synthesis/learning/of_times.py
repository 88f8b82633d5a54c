"""Learns columns of dates and timestamps: the order of day and month, the finest unit, and where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import DateAttribute, GapAttribute
from ...common.data.attributes.granularity import OF_TIMES, Granularity, families
from ...common.data.attributes.moments import Moments
from ...common.forms.date_formats import days_of, has_offset, months_of, readings, unit_of
from ...common.forms.notation import LARGEST_WHOLE
from ...common.forms.zone_names import ZONE_NAMES, zone_named
from ...party.drafting.date_formats import zone_of
from .asking import PRESENT, Asking
from .columns import Column, times
from .forms.date_forms import CLOCKS, clock_of
from .frequent_texts import frequent_beside
from .kind import Times
from .kinds import Vote
from .private_counts import Noisy
from .ranges import Ruler
from .times.following import Dates, learned_gaps
from .times.rhythms import learned_rhythms

ORDER, MONTHS, OFFSET, HOW_LONG, FINEST_UNIT, SECOND_ZEROS, NO_DATE, COARSE, CLOSER, OF_TEXTS = (
    0.05,
    0.1,
    0.05,
    0.05,
    0.08,
    0.05,
    0.05,
    0.2,
    0.12,
    0.12,
)
"""Shares of a column for the order of day and month, the names of months, and as much for those of days, the
distance from UTC, how long durations are, the finest unit, the zeros of whole seconds, dates that stand for
none, a grid over centuries, one around the records, and texts beside the times."""

_SEEN = 4.0
"""A unit is seen if its times exceed so many deviations of their noise."""

_SEEN_OF_MANY = 5.0
"""One of the dates that stand for none is seen from so many: noise shows one in a column of 10^4."""

_YEARS, _SHORT_YEARS = ("1700-01-01", "2300-01-01"), ("1969-01-01", "2068-12-31")
"""Dates are looked for between these in fine cells, those with years of two digits where such years lie."""

_DECADES_BEFORE, _DECADES_AFTER = (
    tuple(f"{year:04d}-01-01" for year in years) for years in (range(10, 1700, 10), range(2310, 10000, 10))
)
"""Where the cells of a grid over centuries begin before that, and after it."""

_LAST = "9999-12-31"
"""The last day of the calendar."""

_STAND_FOR_NONE = (
    *("0001-01-01", "1000-01-01", "1582-10-15", "1700-01-01", "1753-01-01", "1800-01-01", "1840-12-31"),
    *("1850-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01", "1904-01-01", "1960-01-01"),
    *("1970-01-01", "2037-12-31", "2038-01-19", "2050-12-31", "2079-06-06", "2099-01-01", "2099-12-31"),
    *("2100-01-01", "2100-12-31", "2199-12-31", "2200-01-01", "2222-02-02", "2222-12-31", "2262-04-11"),
    *("2299-12-31", "2300-01-01", "2400-12-31", "2500-01-01", "2500-12-31", "2900-12-31", "2999-01-01"),
    *("2999-12-31", "3000-01-01", "3000-12-31", "3333-03-03", "3999-12-31", "4000-01-01", "4000-12-31"),
    *("4444-04-04", "4712-12-31", "5000-01-01", "5555-05-05", "6666-06-06", "7777-07-07", "8888-08-08"),
    *("8888-12-31", "9000-01-01", "9990-12-31", "9998-12-31", "9999-01-01", "9999-12-30", "9999-12-31"),
)
"""Dates that are written where there is none, such as the end of what goes on: the ends of calendars, their
epochs, and digits that repeat."""

_AT = ("T00:00:00", "T23:59:00", "T23:59:59", "T23:59:59.999", "T23:59:59.999999")
"""Times of such a day."""

_HOURS = ("0:00", "9999:59")
"""Times of day and durations are looked for between these."""

_DAY = np.datetime64("1970-01-02")
"""The end of a day, as a `Clock` counts it."""

_LONGER, _WITH_SECONDS = (2, 3), (1, 3)
"""Where `_by_day` counts durations of more than a day, and times that are not whole minutes."""

_DAYS = np.array([12, 13, 6, 0]) / 31
"""Shares of the days of a month in the ranges of `Cells.numbers_of_dates`."""

_SHOWN = 0.1
"""So many rows have to show that a day is in the second place, where a year may be in the first."""

_CLEARLY = 0.1
"""Numbers are more like days than others from this distance on."""

_OFFSETS = np.arange(-12 * 60, 14 * 60 + 1, 15)
"""Distances from UTC, in minutes."""

_SINGLE_ZONE = 0.9
"""Times are in a zone of one distance from UTC if more than so many have it."""


def learned_times(
    asking: Asking, kinds: Mapping[str, Times], votes: Mapping[str, Vote], delta: float
) -> dict[str, Column | None]:
    """The columns of dates and timestamps.

    Args:
        asking: the means.
        kinds: name -> format of its dates.
        votes: what cells voted for.
        delta: with which a text of one row of a column may be found.

    Returns:
        For each column how it is released; None if too few records were seen anywhere.
    """
    kinds = _settle_orders(asking, kinds)
    kinds = _settle_names(asking, kinds, "names of months", "%N", asking.cells.month_names, _with_months)
    kinds = _settle_names(asking, kinds, "names of days", "%K", asking.cells.day_names, _with_days)
    kinds, named = _settle_zones(asking, kinds)
    zones = _zones(asking, kinds) | named
    # Most of the time goes into reading texts, and most questions are about one column or two.
    held = lru_cache(maxsize=2)(partial(_local, asking))
    read = {name: partial(held, name, kind, zones[name]) for name, kind in kinds.items()}
    of_clocks = {name: partial(_by_day, read[name]) for name, kind in kinds.items() if kind.format in CLOCKS}
    lengths = asking.counts.histograms("lengths", of_clocks, HOW_LONG * asking.share)
    timed = {name: partial(_by_longest, read[name]) for name, kind in kinds.items() if kind.timed}
    finest = asking.counts.histograms("finest unit", timed, FINEST_UNIT * asking.share)
    granularities = {name: _granularity(kind, finest.get(name)) for name, kind in kinds.items()}
    clocks = {
        name: clock_of(kind.format, kind.detail, seconds=_is_seen(lengths[name], _WITH_SECONDS)).by(
            granularities[name]
        )
        for name, kind in kinds.items()
        if kind.format in CLOCKS
    }
    kinds |= _without_fractions(asking, kinds, granularities)
    moments = {
        name: clocks.get(name) or Moments(kinds[name].timed, unit, timezone=zones[name])
        for name, unit in granularities.items()
    }
    units = {name: partial(_units, moments[name], read[name]) for name in kinds}
    atoms, others = _atoms(asking, kinds, moments, units, votes)
    beside = {name: partial(_without, units[name], atoms[name]) for name in kinds}
    rulers = {name: _ruler(name, kind, moments[name]) for name, kind in kinds.items()}
    ranges = asking.ranges("range", beside, rulers, others, COARSE, CLOSER)
    # Floats tell single microseconds of some centuries apart.
    ends = {
        name: tuple(np.clip(ruler.numbers(0, ruler.cells), -LARGEST_WHOLE, LARGEST_WHOLE).tolist())
        for name, ruler in rulers.items()
    }
    for name in clocks:
        has_halves = clocks[name].has_halves
        if has_halves or not _is_seen(lengths[name], _LONGER):
            # Times of day have no margin beyond midnight.
            last = "23:59:59.999999" if has_halves else "24:00"
            ends[name] = (ends[name][0], clocks[name].bound(name, last))
    found = {
        name: one.within(*ends[name])
        if one.certain or not atoms[name]
        else replace(one, low=atoms[name][0], high=atoms[name][-1], certain=True)
        for name, one in ranges.items()
    }
    rhythms = learned_rhythms(
        asking, {name: one for name, one in moments.items() if found[name].certain}, beside
    )
    columns: dict[str, Column | None] = {
        name: Column(
            times(
                *(name, kind, granularities[name], found[name], atoms[name], zones[name]),
                clock=clocks.get(name),
                rhythm=rhythms.get(name),
                declared=name in asking.cells.timed,
                texts=frequent_beside(asking, name, kind, OF_TEXTS * asking.share, delta)[0]
                if votes[name].others
                else (),
            ),
            votes[name].missing > 0,
        )
        if found[name].certain
        else None
        for name, kind in kinds.items()
    }
    dates = {
        name: Dates(one, read[name], found[name], votes[name])
        for name, one in moments.items()
        if not atoms[name]
    }
    for name, (other, gaps) in learned_gaps(asking, dates).items():
        column = columns[name]
        assert column is not None
        assert isinstance(column.reading, DateAttribute)
        columns[name] = replace(column, reading=GapAttribute(name, gaps, column.reading.moments, other))
    return columns


def _ruler(name: str, kind: Times, moments: Moments) -> Ruler:
    """The grid on which times are looked for."""
    if isinstance(moments, Clock):
        first, last = _HOURS
    else:
        first, last = _SHORT_YEARS if "%y" in kind.format else _YEARS
    last_unit = moments.bound(name, last)
    edges = Ruler.between(moments.bound(name, first), last_unit, 1.0).edges
    edges[-1] = last_unit + 0.5
    if (first, last) == _YEARS:
        before, after = (
            [moments.bound(name, day) - 0.5 for day in days] for days in (_DECADES_BEFORE, _DECADES_AFTER)
        )
        edges = np.concatenate([before, edges, after, [moments.bound(name, _LAST) + 0.5]])
    return Ruler(edges, 1.0)


def _atoms(
    asking: Asking,
    kinds: Mapping[str, Times],
    moments: Mapping[str, Moments],
    units: Mapping[str, partial[NDArray[np.float64]]],
    votes: Mapping[str, Vote],
) -> tuple[dict[str, tuple[float, ...]], dict[str, Vote]]:
    """For each column the dates that stand for none, where they are seen; the votes without these."""
    known = {
        name: _units_of_none(one)
        for name, one in moments.items()
        if not isinstance(one, Clock) and "%y" not in kinds[name].format
    }
    asked = {name: partial(_by_number, units[name], numbers) for name, numbers in known.items()}
    noisy = asking.counts.histograms("dates that stand for none", asked, NO_DATE * asking.share)
    atoms: dict[str, tuple[float, ...]] = dict.fromkeys(kinds, ())
    others = dict(votes)
    for name, one in noisy.items():
        seen = np.flatnonzero(one.above_noise(_SEEN_OF_MANY)[:-1])
        atoms[name] = tuple(known[name][seen].tolist())
        others[name] = votes[name].without(float(one.values[seen].sum()), one.sigma * math.sqrt(len(seen)))
    return atoms, others


def _units_of_none(moments: Moments) -> NDArray[np.float64]:
    """The units of dates that stand for none, increasing, that the time zone lets write."""
    at = _AT if moments.timed else _AT[:1]
    times = np.array([day + time for day in _STAND_FOR_NONE for time in at], dtype="datetime64[us]")
    units: NDArray[np.int64] = np.unique(moments.unit_numbers(times))
    # Floats round the last microsecond of the calendar to one beyond it.
    units = units[units.astype(float).astype(np.int64) == units]
    # The first and the last hours of the calendar are outside of it in UTC.
    instants = moments.instants(moments.at(units))
    found: NDArray[np.float64] = units[(instants >= times.min()) & (instants <= times.max())].astype(float)
    return found


def _by_number(read: partial[NDArray[np.float64]], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of rows of each of these numbers, then of all others; shape (numbers + 1,)."""
    found = read()
    places = np.searchsorted(numbers, found).clip(0, len(numbers) - 1)
    places[numbers[places] != found] = len(numbers)
    return np.bincount(places, minlength=len(numbers) + 1).astype(np.int64)


def _without(read: partial[NDArray[np.float64]], numbers: tuple[float, ...]) -> NDArray[np.float64]:
    """The numbers of a column, without some."""
    found = read()
    found[np.isin(found, numbers)] = np.nan
    return found


def _settle_orders(asking: Asking, kinds: Mapping[str, Times]) -> dict[str, Times]:
    """The formats, with day, month and a year of two digits in the order that most cells show."""
    unknown = {
        name: form
        for name, kind in kinds.items()
        for form in (kind.format, *kind.also)
        if form.startswith("a")
    }
    asked = {name: partial(asking.cells.numbers_of_dates, name) for name in unknown}
    noisy = asking.counts.histograms("day and month", asked, ORDER * asking.share)
    ordered = dict(kinds)
    for name, seen in noisy.items():
        form, kind = unknown[name], kinds[name]
        found = list(readings(form))[_order(seen.values, form)]
        also = tuple(found if one == form else one for one in kind.also)
        ordered[name] = replace(kind, format=found if kind.format == form else kind.format, also=also)
    return ordered


def _order(seen: NDArray[np.float64], form: str) -> int:
    """The place among its readings of the order that a format has.

    Args:
        seen: noisy rows, as `Cells.numbers_of_dates` counts them.
        form: the format.
    """
    rows, month_first = seen[:16].reshape(4, 4), seen[16]
    short = "%y" in form
    day_first = rows[1:3, :].sum() if short else rows[1:3, 3].sum()
    # The second number of a year, a month and a day is a month too.
    if month_first > max(day_first, _SHOWN * rows.sum() if short else 0.0):
        return 1
    first, third = (_unlike_days(rows.sum(axis=axis)) for axis in (1, 0))
    # Where nothing tells, dashes are those of ISO 8601, and so are digits alone.
    return 2 if short and third - first < (_CLEARLY if form[1] in "-b" else -_CLEARLY) else 0


def _unlike_days(rows: NDArray[np.float64]) -> float:
    """How far numbers are from days of months: from 0 to 2, by the rows of each range."""
    known = rows.clip(0)
    return float(np.abs(known / max(known.sum(), 1.0) - _DAYS).sum())


def _settle_names(
    asking: Asking,
    kinds: Mapping[str, Times],
    what: str,
    mark: str,
    count: Callable[[str], NDArray[np.int64]],
    settled_by: Callable[[Times, list[float]], Times],
) -> dict[str, Times]:
    """The formats, with the names of months or days that most cells have.

    Args:
        asking: the means.
        kinds: name of a column -> its format.
        what: names what is counted.
        mark: what stands for the names in a format.
        count: counts the cells of a column by their names.
        settled_by: the format with the names that most of so many cells of each have.
    """
    unknown = {name: partial(count, name) for name, kind in kinds.items() if mark in kind.format}
    noisy = asking.counts.histograms(what, unknown, MONTHS * asking.share)
    found = {name: settled_by(kinds[name], seen.values[:-1].tolist()) for name, seen in noisy.items()}
    return {**kinds, **found}


def _with_months(kind: Times, seen: list[float]) -> Times:
    return replace(kind, format=kind.format.replace("%N", "%b"), months=months_of(seen))


def _with_days(kind: Times, seen: list[float]) -> Times:
    return replace(kind, format=kind.format.replace("%K", "%a"), days=days_of(seen))


def _settle_zones(asking: Asking, kinds: Mapping[str, Times]) -> tuple[dict[str, Times], dict[str, str]]:
    """The formats, with the name of a time zone that most cells have; and the zones whose names alternate."""
    unknown = {
        name: partial(asking.cells.zone_names, name) for name, kind in kinds.items() if "%Z" in kind.format
    }
    noisy = asking.counts.histograms("names of zones", unknown, OFFSET * asking.share)
    settled, zones = dict(kinds), {}
    for name, one in noisy.items():
        rows = dict(zip(ZONE_NAMES, one.above_noise(_SEEN)[:-1].tolist(), strict=True))
        written, zones[name] = zone_named(rows)
        settled[name] = replace(kinds[name], format=kinds[name].format.replace("%Z", written))
    return settled, zones


def _zones(asking: Asking, kinds: Mapping[str, Times]) -> dict[str, str]:
    """The time zones of columns: the declared one, or of the usual distance from UTC; empty for none."""
    written = {
        name: partial(_by_offset, asking, name)
        for name, kind in kinds.items()
        if has_offset(kind.format) and name not in asking.cells.timezones
    }
    noisy = asking.counts.histograms("distance from UTC", written, OFFSET * asking.share)
    zones = {name: asking.cells.timezones.get(name, "") for name in kinds}
    for name, one in noisy.items():
        seen = one.above_noise(_SEEN)[:-1]
        best = int(np.argmax(seen))
        single = seen[best] > _SINGLE_ZONE * seen.sum()
        zones[name] = zone_of(timedelta(minutes=int(_OFFSETS[best]))) if single else "UTC"
    return zones


def _by_offset(asking: Asking, name: str) -> NDArray[np.int64]:
    """The number of cells of each distance from UTC, then of any other; shape (_OFFSETS + 1,)."""
    minutes, rows = asking.cells.offsets(name)
    places = np.where(np.isin(minutes, _OFFSETS), np.searchsorted(_OFFSETS, minutes), len(_OFFSETS))
    return np.bincount(places, rows, len(_OFFSETS) + 1).astype(np.int64)


def _local(asking: Asking, name: str, kind: Times, zone: str) -> NDArray[np.datetime64]:
    """The times of a column in its time zone, shape (N,)."""
    found = asking.cells.times(name, kind)
    if "%Z" in kind.format:
        return found
    known = ~np.isnat(found)
    found[known] = Moments(True, Granularity.MICROSECOND, timezone=zone).local(found[known])
    return found


def _by_longest(read: partial[NDArray[np.datetime64]]) -> NDArray[np.int64]:
    """The number of times by the longest unit that begins at them, then of no times; (OF_TIMES + 1,)."""
    found = read()
    known = found[~np.isnat(found)]
    places = np.full(len(known), len(OF_TIMES) - 1)
    for place in reversed(range(len(OF_TIMES) - 1)):
        places[OF_TIMES[place].begins(known)] = place
    counts = np.bincount(places, minlength=len(OF_TIMES) + 1)
    counts[-1] = len(found) - len(known)
    return counts


def _by_day(read: partial[NDArray[np.datetime64]]) -> NDArray[np.int64]:
    """The number of times of a day and of its end, of longer durations, each of whole minutes and others.

    Then of cells without one; shape (5,).
    """
    found = read()
    known = found[~np.isnat(found)]
    places = 2 * (known > _DAY) + (known != known.astype("datetime64[m]"))
    return np.append(np.bincount(places, minlength=4), len(found) - len(known)).astype(np.int64)


def _is_seen(noisy: Noisy, places: Sequence[int]) -> bool:
    """Whether some counts together exceed their noise."""
    return bool(noisy.values[list(places)].sum() > _SEEN * math.sqrt(len(places)) * noisy.sigma)


def _granularity(kind: Times, by_longest: Noisy | None) -> Granularity:
    """The coarsest unit of which all seen times are whole numbers, and that the format can write."""
    if by_longest is None:
        return Granularity(unit_of(kind.format))
    for unit, family in reversed(families().items()):
        if _is_seen(by_longest, [OF_TIMES.index(one) for one in family]):
            return next((one for one in family if _is_step(one, family, by_longest)), unit)
    return Granularity.DAY


def _is_step(step: Granularity, family: Sequence[Granularity], by_longest: Noisy) -> bool:
    """Whether times that are whole numbers of one of a family are seen, and hardly any others."""
    whole = [one for one in family if one.numbers[1] % step.numbers[1] == 0]
    others = [OF_TIMES.index(one) for one in family if one not in whole]
    noise = PRESENT * math.sqrt(len(others)) * by_longest.sigma
    rows = float(by_longest.values[[OF_TIMES.index(one) for one in whole]].sum())
    rest = float(by_longest.values[others].sum())
    return rest <= noise and rest + noise < rows


def _without_fractions(
    asking: Asking, kinds: Mapping[str, Times], units: Mapping[str, Granularity]
) -> dict[str, Times]:
    """The formats of whole seconds, or milliseconds, with the zeros that are always behind them."""
    asked = {
        name: partial(asking.cells.fraction_digits, name)
        for name, kind in kinds.items()
        if "%f" in kind.format and kind.format not in CLOCKS
        if units[name] is not Granularity.MICROSECOND
    }
    digits = asking.counts.histograms("zeros of seconds", asked, SECOND_ZEROS * asking.share)
    most = {name: 1 + int(np.argmax(one.values[1:])) for name, one in digits.items()}
    fractions = {
        name: "%f" + "0" * (number - 3) if units[name] is Granularity.MILLISECOND else "0" * number
        for name, number in most.items()
    }
    return {
        name: replace(kinds[name], format=kinds[name].format.replace("%f", fraction))
        for name, fraction in fractions.items()
    }


def _units(moments: Moments, read: partial[NDArray[np.datetime64]]) -> NDArray[np.float64]:
    found = read()
    units = np.full(len(found), np.nan)
    known = ~np.isnat(found)
    units[known] = moments.unit_numbers(found[known])
    return units
