"""Generated related tables, on which settings of releases of people are chosen; no table that is reported.

- `visits`: heavy tails of numbers of rows, which depend on age; values depend on the kind of the visit, on
  the person's age, and on a trait that persists; dates.
- `follow`: persons are followed over a time of their own, in which their rows lie: many rows, short gaps;
  several rows share a day.
- `shops`: heavier tails, that depend on nothing else; columns depend weakly on people and not on the row
  before.
- `clicks`: a chain of actions in the order of rows, a few columns; light tails; strong dependence on the
  device.
- `codes`: sets of codes without an order, by a hidden class of the person.
- `homes`: homes, persons in them, trips of these: grandchildren.
- `chains`: a random family: 1,000 to 50,000 people of two to seven columns, whose events have codes that
  persist, dates in most families, and up to two columns of values. A trait that no column shows
  and the columns of the person change numbers of events, codes and values; how much is drawn for each family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Related:
    """Related tables.

    Attributes:
        tables: by name.
        relations: as of `dpmosaic.synthesize`.
        order: as of `dpmosaic.synthesize`.
    """

    tables: Mapping[str, pd.DataFrame]
    relations: Mapping[str, Mapping[str, str]]
    order: Mapping[str, str | bool] = field(default_factory=dict)


def visits(rng: Rng) -> Related:
    """See above."""
    size = 12_000
    age = rng.integers(18, 95, size)
    sex = rng.integers(0, 2, size)
    weight = np.round(70 + 10 * sex + rng.normal(0, 12, size) + 0.1 * (age - 50), 1)
    region = rng.choice(list("abcdef"), size, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    numbers = np.floor(np.exp(rng.normal(1.6 + 0.015 * (age - 50), 1.0))).astype(int).clip(0, 300)
    person = np.repeat(np.arange(size), numbers)
    trait = rng.normal(0, 1, size)
    kind = _chosen(rng, 0.3 + 0.7 * _softmax(np.outer((age - 50) / 25, [0, 1, -1, 0.5, 0])), person)
    kind = _persisting(rng, kind, person, 0.3)
    center, spread = np.array([120.0, 75, 50, 200, 28]), np.array([15.0, 8, 12, 35, 4])
    value = center[kind] + spread[kind] * (0.7 * trait[person] + 0.7 * rng.normal(0, 1, len(person)))
    value += spread[kind] * 0.02 * (age[person] - 50)
    day = _days(rng, person, np.exp(rng.normal(3.5, 1.0, size)))
    people = pd.DataFrame({"id": np.arange(size), "age": age, "sex": sex, "weight": weight, "region": region})
    rows = pd.DataFrame(
        {
            "id": person,
            "day": day,
            "kind": np.array(["pressure", "pulse", "hdl", "chol", "bmi"])[kind],
            "value": np.round(value).astype(int),
        }
    )
    return Related({"people": people, "visits": rows}, {"visits": {"id": "people"}}, {"visits": "day"})


def follow(rng: Rng) -> Related:
    """See above."""
    size = 9_000
    age = rng.integers(20, 90, size)
    arm = rng.choice(["a", "b", "c"], size, p=[0.5, 0.3, 0.2])
    followed = (np.exp(rng.normal(7.5, 0.7, size)) * (1 - 0.004 * (age - 20))).round().clip(30, 6000)
    numbers = np.floor(np.exp(rng.normal(2.0 + 0.2 * (arm == "b"), 0.9, size))).astype(int).clip(0, 200)
    days = np.repeat(np.arange(size), numbers)
    day = np.floor(rng.random(len(days)) * followed[days]).astype(int)
    person = np.repeat(days, 2)
    kind = np.tile([0, 1], len(days))
    level = rng.normal(0, 1, size)
    value = np.where(kind == 0, 130, 80) + 12 * (0.7 * level[person] + 0.7 * rng.normal(0, 1, len(person)))
    rows = pd.DataFrame(
        {
            "id": person,
            "day": np.repeat(day, 2),
            "kind": np.array(["upper", "lower"])[kind],
            "value": np.round(value).astype(int),
        }
    )
    people = pd.DataFrame({"id": np.arange(size), "age": age, "arm": arm, "followed": followed.astype(int)})
    return Related({"people": people, "rows": rows}, {"rows": {"id": "people"}}, {"rows": "day"})


def shops(rng: Rng) -> Related:
    """See above."""
    size = 10_000
    tier = rng.choice(["basic", "plus", "gold"], size, p=[0.7, 0.2, 0.1])
    since = rng.integers(0, 120, size)
    city = rng.choice([f"c{k}" for k in range(12)], size, p=_softmax(-0.3 * np.arange(12)[None])[0])
    numbers = np.floor(1.5 / rng.random(size) ** (1 / 1.3)).astype(int).clip(1, 800) - 1
    person = np.repeat(np.arange(size), numbers)
    amount = np.exp(rng.normal(3 + 0.3 * (tier[person] == "gold"), 0.8))
    branch = rng.choice(["food", "fuel", "home", "web"], len(person), p=[0.5, 0.2, 0.1, 0.2])
    amount = amount * np.where(branch == "home", 3, 1)
    day = _days(rng, person, np.full(size, 9.0))
    return Related(
        {
            "cards": pd.DataFrame({"card": np.arange(size), "tier": tier, "since": since, "city": city}),
            "payments": pd.DataFrame(
                {"card": person, "day": day, "branch": branch, "amount": np.round(amount).astype(int)}
            ),
        },
        {"payments": {"card": "cards"}},
        {"payments": "day"},
    )


def clicks(rng: Rng) -> Related:
    """See above."""
    size = 8_000
    device = rng.choice(["phone", "tablet", "laptop"], size, p=[0.5, 0.1, 0.4])
    age = rng.integers(15, 80, size)
    country = rng.choice([f"k{k}" for k in range(8)], size, p=_softmax(-0.5 * np.arange(8)[None])[0])
    numbers = np.where(rng.random(size) < 0.4, 0, 1 + rng.poisson(np.where(device == "laptop", 12, 5)))
    person = np.repeat(np.arange(size), numbers)
    chain = np.stack([_softmax(rng.normal(0, 1.6, (10, 10))) for _ in range(3)])
    first = _first(person)
    which = np.searchsorted(["laptop", "phone", "tablet"], device)
    action = np.zeros(len(person), dtype=int)
    lines = np.cumsum(chain, axis=2)
    draws = rng.random(len(person))
    for row in range(len(person)):
        before = 0 if first[row] else action[row - 1]
        action[row] = min(np.searchsorted(lines[which[person[row]], before], draws[row]), 9)
    seconds = np.exp(rng.normal(2 + 0.3 * action, 1.0))
    browser = np.where(rng.random(len(person)) < 0.9, which[person], rng.integers(0, 3, len(person)))
    return Related(
        {
            "users": pd.DataFrame(
                {"user": np.arange(size), "device": device, "age": age, "country": country}
            ),
            "clicks": pd.DataFrame(
                {
                    "user": person,
                    "action": np.array([f"a{k}" for k in range(10)])[action],
                    "browser": np.array(["b0", "b1", "b2"])[browser],
                    "seconds": np.round(seconds).astype(int),
                }
            ),
        },
        {"clicks": {"user": "users"}},
        {"clicks": True},
    )


def codes(rng: Rng) -> Related:
    """See above."""
    size = 9_000
    hidden = rng.integers(0, 5, size)
    age = (30 + 10 * hidden + rng.normal(0, 12, size)).round().clip(0, 100).astype(int)
    ward = _chosen(rng, _softmax(rng.normal(0, 1.2, (5, 6)))[hidden], np.arange(size))
    numbers = 1 + rng.poisson(1 + hidden)
    stay = np.repeat(np.arange(size), numbers)
    code = _chosen(rng, _softmax(rng.normal(0, 2, (5, 40)))[hidden], stay)
    side = rng.choice(["l", "r", "none"], len(stay), p=[0.2, 0.2, 0.6])
    return Related(
        {
            "stays": pd.DataFrame(
                {"stay": np.arange(size), "age": age, "ward": np.array(list("uvwxyz"))[ward]}
            ),
            "diagnoses": pd.DataFrame(
                {"stay": stay, "code": np.array([f"d{k:02d}" for k in range(40)])[code], "side": side}
            ),
        },
        {"diagnoses": {"stay": "stays"}},
    )


def homes(rng: Rng) -> Related:
    """See above."""
    size = 6_000
    rooms = 1 + rng.poisson(2, size)
    rent = np.round(300 + 250 * rooms + rng.normal(0, 200, size)).clip(100).astype(int)
    numbers = 1 + rng.binomial(6, np.clip(rooms / 12, 0, 0.6))
    home = np.repeat(np.arange(size), numbers)
    older = rng.integers(20, 90, size)
    child = ~_first(home) & (rng.random(len(home)) < 0.6)
    age = np.where(child, rng.integers(0, 20, len(home)), older[home] + rng.integers(-5, 6, len(home)))
    work = np.where(age < 18, "school", np.where(age > 66, "none", rng.choice(["job", "none"], len(home))))
    trips = np.where(work == "none", rng.poisson(2, len(home)), rng.poisson(6, len(home)))
    person = np.repeat(np.arange(len(home)), trips)
    mode = _chosen(rng, _softmax(np.outer((age < 18) * 2.0 - (age > 66), [1.0, -1, 0.5, 0])), person)
    hour = (8 + 2 * mode + rng.normal(0, 4, len(person))).round().clip(0, 23).astype(int)
    return Related(
        {
            "homes": pd.DataFrame({"home": np.arange(size), "rooms": rooms, "rent": rent}),
            "persons": pd.DataFrame(
                {"person": np.arange(len(home)), "home": home, "age": age.clip(0), "work": work}
            ),
            "trips": pd.DataFrame(
                {"person": person, "mode": np.array(["bus", "car", "foot", "bike"])[mode], "hour": hour}
            ),
        },
        {"persons": {"home": "homes"}, "trips": {"person": "persons"}},
        {"trips": True},
    )


def chains(rng: Rng) -> Related:
    """See above."""
    size = int(np.exp(rng.uniform(np.log(1_000), np.log(50_000))))
    trait = rng.normal(0, 1, size)
    people, effect = {"id": np.arange(size)}, np.zeros(size)
    for place in range(rng.integers(2, 8)):
        signal = rng.uniform(0, 0.7) * trait + rng.normal(0, 1, size)
        if rng.random() < 0.5:
            cuts = np.sort(rng.normal(0, 1, rng.integers(1, 8)))
            column = np.array(list("abcdefgh"))[np.searchsorted(cuts, signal)]
        else:
            column = np.round(50 + rng.uniform(5, 20) * signal).astype(int)
        people[f"p{place}"] = column
        effect += rng.normal(0, 0.3) * signal
    spread = rng.uniform(0.3, 1.1)
    rate = rng.uniform(0.5, 2.5) + rng.uniform(0, 0.5) * trait + effect
    numbers = np.floor(np.exp(rate + rng.normal(0, spread, size))).astype(int).clip(0, 400)
    numbers[rng.random(size) < rng.uniform(0, 0.5)] = 0
    while numbers.sum() > 400_000:
        numbers //= 2
    person = np.repeat(np.arange(size), numbers)
    kinds = int(rng.integers(4, 16))
    likely = _softmax(
        rng.normal(0, 1.2, kinds)[None] + rng.uniform(0, 0.8) * np.outer(trait, rng.normal(0, 1, kinds))
    )
    kind = _persisting(rng, _chosen(rng, likely, person), person, rng.uniform(0, 0.6))
    rows = {"id": person}
    if timed := rng.random() < 0.7:
        followed = np.exp(rng.normal(7, rng.uniform(0.1, 1), size) - 0.1 * trait).clip(30, 6000)
        begun = rng.uniform(0, 2000) * rng.random(size) ** 2
        times = np.floor(begun[person] + rng.random(len(person)) ** rng.uniform(0.7, 1.5) * followed[person])
        rows["day"] = times[np.lexsort((times, person))].astype(int)
    rows["kind"] = np.array([f"k{k:02d}" for k in range(kinds)])[kind]
    for place in range(rng.integers(0, 3)):
        center, scale = rng.normal(0, 1, kinds), rng.uniform(0.3, 1, kinds)
        own = rng.uniform(0, 0.9)
        level = (
            own * trait[person] + np.sqrt(1 - own**2) * rng.normal(0, 1, len(person)) + 0.5 * effect[person]
        )
        rows[f"v{place}"] = np.round(
            100 + 20 * (rng.uniform(0, 2) * center[kind] + scale[kind] * level)
        ).astype(int)
    return Related(
        {"people": pd.DataFrame(people), "events": pd.DataFrame(rows)},
        {"events": {"id": "people"}},
        {"events": "day" if timed else True},
    )


GENERATED: dict[str, Callable[[Rng], Related]] = {
    made.__name__: made for made in (visits, follow, shops, clicks, codes, homes, chains)
}


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: NDArray[np.float64] = found / found.sum(axis=-1, keepdims=True)
    return shares


def _chosen(rng: Rng, shares: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """One of the columns of shares for each row, which says the line of them."""
    lines = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)[rows]
    found: NDArray[np.int64] = (rng.random(len(rows))[:, None] > lines[:, :-1]).sum(axis=1)
    return found


def _first(person: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.append(True, person[1:] != person[:-1])[: len(person)]


def _persisting(
    rng: Rng, values: NDArray[np.int64], person: NDArray[np.int64], share: float
) -> NDArray[np.int64]:
    """Values of which a share is that of the row before."""
    kept = (rng.random(len(values)) < share) & ~_first(person)
    at = np.maximum.accumulate(np.where(kept, 0, np.arange(len(values))))
    return values[at]


def _days(rng: Rng, person: NDArray[np.int64], typical: NDArray[np.float64]) -> NDArray[np.int64]:
    """Days in order, by gaps of a typical length of the person; several rows may share a day."""
    first = _first(person)
    gap = np.floor(rng.exponential(typical[person]) * (rng.random(len(person)) < 0.6))
    gap[first] = rng.integers(0, 1000, first.sum())
    summed = np.cumsum(gap)
    starts = np.flatnonzero(first)
    before = np.repeat(np.where(starts > 0, summed[starts - 1], 0), np.diff(np.append(starts, len(person))))
    found: NDArray[np.int64] = (summed - before).astype(np.int64)
    return found
