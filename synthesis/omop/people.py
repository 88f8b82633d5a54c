"""Made-up people with lasting conditions, and the visits that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .illness import LASTING, PASSING, Illness
from .model import EMERGENCY, INPATIENT, OUTPATIENT

SINCE, UNTIL = np.datetime64("2015-01-01"), np.datetime64("2024-12-31")
"""The first and the last day of the made-up records."""

_YEAR = 365.25
_RACES, _RACE_SHARES = (8527, 8516, 8515, 8657, 0), (0.62, 0.16, 0.12, 0.02, 0.08)
_RETURNS_WITHIN, _RETURNS = 60, 0.35
_SECOND_PERIOD = 0.08
_BETWEEN = 120

Days = NDArray[np.int64]
Flags = NDArray[np.bool_]

ILLNESSES: tuple[Illness, ...] = (*LASTING, *PASSING)
"""All conditions of the made-up people."""


@dataclass(frozen=True, eq=False)
class People:
    """The people, each array of shape (N,) or (N, lasting conditions); days are counted from `SINCE`.

    Attributes:
        female: who is a woman.
        born: year of birth.
        race: concept.
        hispanic: who is.
        start: first day of observation.
        end: last day of observation.
        gap_start: first day between two periods of observation; after `end` for one period.
        gap_end: last day between them.
        death: day of death; -1 if alive.
        has: which lasting conditions they have at the end.
        onset: first day of each.
        care: by how much they see doctors more than others do.
    """

    female: Flags
    born: Days
    race: Days
    hispanic: Flags
    start: Days
    end: Days
    gap_start: Days
    gap_end: Days
    death: Days
    has: Flags
    onset: Days
    care: NDArray[np.float64]

    def decades(
        self, day: Days | NDArray[np.float64], who: Days | slice = slice(None)
    ) -> NDArray[np.float64]:
        """Decades of age beyond 50 on a day."""
        years = (2015.0 + np.asarray(day) / _YEAR - self.born[who] - 50) / 10
        return np.asarray(years, dtype=np.float64)


def draw_people(count: int, rng: np.random.Generator) -> People:
    """Draws people.

    Args:
        count: number of people.
        rng: draws them.
    """
    most = int((UNTIL - SINCE).astype(np.int64))
    female = rng.random(count) < 0.52
    age = np.clip(
        np.where(rng.random(count) < 0.35, rng.normal(68, 11, count), rng.uniform(0, 70, count)), 0, 97
    )
    born = (2015 - age).astype(np.int64)
    race = rng.choice(_RACES, count, p=_RACE_SHARES)
    hispanic = rng.random(count) < np.where(race == 8527, 0.18, 0.05)
    start = np.where(rng.random(count) < 0.45, 0, rng.integers(0, most - 400, count))
    end = np.where(rng.random(count) < 0.5, most, start + 90 + rng.exponential(1500, count).astype(np.int64))
    end = np.minimum(end, most)
    decades = (2015 + (start + end) / 2 / _YEAR - born - 50) / 10
    adult = decades > -3.2
    frailty = rng.normal(0, 0.7, count)
    odds = [one.base + one.per_decade * decades + one.female * female + frailty for one in LASTING]
    has = rng.random((count, len(LASTING))) < 1 / (1 + np.exp(-np.column_stack(odds)))
    has &= adult[:, None] | (np.array([one.name == "Asthma" for one in LASTING]))[None]
    # Sugar, pressure and fat come together.
    names = [one.name for one in LASTING]
    pressure, sugar, fat = (
        names.index(name) for name in ("Essential hypertension", "Type 2 diabetes", "Hypercholesterolaemia")
    )
    has[:, pressure] |= has[:, sugar] & (rng.random(count) < 0.4)
    has[:, fat] |= has[:, sugar] & (rng.random(count) < 0.35)
    onset = start[:, None] + (rng.random(has.shape) * 1.6 - 0.8) * (end - start)[:, None]
    ill = has.sum(axis=1)
    yearly = 0.004 * np.exp(np.clip(0.85 * decades, -6, 3) + 0.18 * ill)
    day = start + rng.exponential(_YEAR / yearly)
    dies = day <= end + 30
    death = np.where(dies, day, -1).astype(np.int64)
    end = np.where(dies, np.minimum(end, death), end)
    twice = (rng.random(count) < _SECOND_PERIOD) & (end - start > 3 * _BETWEEN)
    gap_start = np.where(
        twice, start + ((end - start) * rng.uniform(0.3, 0.5, count)).astype(np.int64), end + 1
    )
    gap_end = np.where(twice, gap_start + rng.integers(30, _BETWEEN, count), end)
    care = rng.gamma(3.0, 1 / 3, count)
    return People(
        *(female, born, race.astype(np.int64), hispanic, start, end, gap_start, gap_end, death, has),
        onset.astype(np.int64),
        care,
    )


@dataclass(frozen=True, eq=False)
class Visits:
    """The visits, each array of shape (V,) or (V, lasting conditions).

    Attributes:
        who: row of the person, never decreasing.
        day: first day.
        end: last day.
        until: last day of the period of observation.
        kind: concept.
        reason: place in `ILLNESSES` of what it is about.
        active: the lasting conditions that the person has by then.
    """

    who: Days
    day: Days
    end: Days
    until: Days
    kind: Days
    reason: Days
    active: Flags


def draw_visits(people: People, rng: np.random.Generator) -> Visits:
    """Draws the visits of people.

    Args:
        people: the people.
        rng: draws visits.
    """
    years = (people.end - people.start) / _YEAR
    decades = people.decades((people.start + people.end) / 2)
    rate = people.care * (0.5 + 0.12 * np.maximum(decades + 2, 0) + 0.35 * people.has.sum(axis=1))
    count = rng.poisson(rate * years)
    who = np.repeat(np.arange(len(count)), count)
    length = (people.end - people.start + 1)[who]
    day = people.start[who] + np.floor(rng.random(len(who)) * length).astype(np.int64)
    kept = ~((day >= people.gap_start[who]) & (day <= people.gap_end[who]))
    who, day = who[kept], day[kept]
    order = np.lexsort((day, who))
    who, day = who[order], day[order]
    active = people.has[who] & (people.onset[who] <= day[:, None])
    reason = _reasons(people, who, day, active, rng)
    emergency = np.array([one.emergency for one in ILLNESSES])[reason]
    inpatient = np.array([one.inpatient for one in ILLNESSES])[reason]
    inpatient = inpatient * (1 + 0.15 * np.maximum(people.decades(day, who), 0))
    drawn = rng.random(len(who))
    kind = np.where(
        drawn < inpatient, INPATIENT, np.where(drawn < inpatient + emergency, EMERGENCY, OUTPATIENT)
    )
    stay = np.where(kind == INPATIENT, rng.geometric(1 / (4 + np.maximum(people.decades(day, who), 0))), 0)
    stay = np.where(kind == EMERGENCY, rng.integers(0, 2, len(who)), stay)
    until = np.where(
        day < people.gap_start[who], np.minimum(people.gap_start[who] - 1, people.end[who]), people.end[who]
    )
    return Visits(who, day, np.minimum(day + stay, until), until, kind.astype(np.int64), reason, active)


def _reasons(people: People, who: Days, day: Days, active: Flags, rng: np.random.Generator) -> Days:
    """What each visit is about: a lasting condition, a passing one, or what the one before was about."""
    decades = people.decades(day, who)
    winter = np.cos(2 * np.pi * (day % _YEAR) / _YEAR)
    seasonal = np.array([one.winter for one in LASTING])
    lasting = np.where(active, 0.55 * np.exp(seasonal[None] * winter[:, None]), 0)
    weights = [
        np.exp(one.base + one.per_decade * decades + one.female * people.female[who] + one.winter * winter)
        for one in PASSING
    ]
    passing = np.column_stack(weights)
    passing /= passing.sum(axis=1, keepdims=True)
    summed = np.cumsum(np.column_stack([lasting, passing]), axis=1)
    reason = (summed < rng.random(len(who))[:, None] * summed[:, -1:]).sum(axis=1)
    first = np.append(True, who[1:] != who[:-1])[: len(who)]
    soon = np.diff(day, prepend=day[:1]) < _RETURNS_WITHIN
    again = ~first & soon & (rng.random(len(who)) < _RETURNS)
    found: Days = reason[np.maximum.accumulate(np.where(again, 0, np.arange(len(who))))]
    return found


def at(days: Days) -> NDArray[Any]:
    """Dates of days counted from `SINCE`."""
    return (SINCE + days.astype("timedelta64[D]")).astype("datetime64[s]")
