"""Tables with a label to predict, from a seed: shapes of public tables of which learners were found to lose.

- `dense`: 30 numbers that all depend on each other a little, and a class that is linear in them.
- `payments`: 23 attributes, among them three runs of six months that nearly repeat each other.
- `sessions`: days and times that tell the session and each other, places of a tag, and an activity of eleven.
- `letters`: line segments of one of ten letters.
- `characters`: strokes of ten capital letters of many sizes, in whole numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from tables import HOLDOUT, Generated

from dpmosaic.common.data.attributes.attribute import Attribute
from dpmosaic.common.data.attributes.categorical import CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table

LABEL = "label"

STROKES = (
    [(0, 0, 0.5, 1), (0.5, 1, 1, 0), (0.25, 0.5, 0.75, 0.5)],
    [(1, 1, 0, 1), (0, 1, 0, 0), (0, 0, 1, 0)],
    [(0, 0, 0, 1), (0, 1, 1, 0.5), (1, 0.5, 0, 0)],
    [(0, 0, 0, 1), (0, 1, 1, 1), (0, 0.5, 0.8, 0.5), (0, 0, 1, 0)],
    [(0, 0, 0, 1), (0, 1, 1, 1), (0, 0.5, 0.7, 0.5)],
    [(1, 1, 0, 1), (0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 1, 0.5), (1, 0.5, 0.5, 0.5)],
    [(0, 0, 0, 1), (1, 0, 1, 1), (0, 0.5, 1, 0.5)],
    [(0, 1, 0, 0), (0, 0, 1, 0)],
    [(0, 0, 0, 1), (0, 1, 1, 1), (1, 1, 1, 0.5), (1, 0.5, 0, 0.5)],
    [(0, 0, 0, 1), (0, 1, 1, 1), (1, 1, 1, 0.5), (1, 0.5, 0, 0.5), (0.5, 0.5, 1, 0)],
)
"""The strokes of A, C, D, E, F, G, H, L, P and R in a unit box: both ends of each."""

Rng = np.random.Generator
Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Columns = dict[str, tuple[Attribute, Codes]]


def labelled(name: str, seed: int) -> Generated:
    """A table and other rows of the same distribution.

    Args:
        name: one of `TABLES`.
        seed: of what is hidden and of the rows.

    Raises:
        KeyError: there is no such table.
    """
    draw, rows = TABLES[name]
    rng = np.random.default_rng([zlib.crc32(name.encode("ascii")), seed])
    columns = draw(rng, rows + HOLDOUT)
    order = [list(columns)[place] for place in rng.permutation(len(columns))]
    domain = Domain(tuple(columns[column][0] for column in order))
    codes = np.column_stack([columns[column][1] for column in order])
    every = Table.from_codes(domain, codes[rng.permutation(len(codes))])
    return Generated(every.rows(0, rows), every.rows(rows, rows + HOLDOUT), LABEL, ())


def dense(rng: Rng, rows: int) -> Columns:
    """Normal numbers with a random covariance, and the sign of a random sum of them."""
    numbers = 30
    spread = rng.normal(size=(numbers, numbers))
    values = rng.multivariate_normal(
        np.zeros(numbers), spread @ spread.T / numbers + 0.3 * np.eye(numbers), rows
    )
    values /= values.std(axis=0)
    total = values @ rng.normal(size=numbers)
    label = total / total.std() + 0.3 * rng.normal(size=rows) > 0
    columns = {f"number{k}": _number(f"number{k}", (values[:, k] + 3) / 6, 16) for k in range(numbers)}
    return columns | _coded({LABEL: (2, label.astype(np.int64))})


def payments(rng: Rng, rows: int) -> Columns:
    """States, bills and payments of six months; the class depends on the last two states most."""
    thresholds = [-1.5, -0.8, 0.6, 1.1, 1.6, 2.2, 2.6, 3.0, 3.3, 3.6]
    hidden = rng.normal(size=rows)
    owed = 0.3 * hidden + rng.normal(size=rows)
    state, columns, states = hidden, Columns(), []
    for month in range(6):
        state = 0.85 * state + 0.5 * rng.normal(size=rows)
        owed = 0.95 * owed + 0.3 * rng.normal(size=rows)
        paid = 0.5 * owed - 0.4 * state + 0.8 * rng.normal(size=rows)
        states.append(np.searchsorted(thresholds, state))
        columns |= _coded({f"state{month}": (11, states[-1])})
        columns[f"bill{month}"] = _number(f"bill{month}", ndtr(owed) ** 3, 50)
        columns[f"paid{month}"] = _number(f"paid{month}", ndtr(paid) ** 4, 50)
    limit = -0.5 * hidden + 0.4 * owed + 0.7 * rng.normal(size=rows)
    columns["limit"] = _number("limit", ndtr(limit) ** 2, 40)
    columns["age"] = _number("age", rng.beta(2, 4, rows), 50)
    others = {"sex": (2, rng.integers(0, 2, rows)), "school": (7, np.minimum(6, rng.poisson(1.5, rows)))}
    late = 1.9 * (states[0] >= 4) + 0.4 * (states[1] >= 4) + 0.3 * (states[2] >= 4)
    defaults = rng.random(rows) < 1 / (1 + np.exp(1.9 - late + 0.2 * limit))
    return columns | _coded({**others, LABEL: (2, defaults.astype(np.int64))})


def sessions(rng: Rng, rows: int) -> Columns:
    """Rows in the order of time: where a tag of a person is, and what the person does."""
    activities, when = 11, np.arange(rows) / rows
    tag, pick = rng.integers(0, 4, rows), rng.integers(0, 3, rows)
    usual = rng.choice(activities, rows, p=rng.dirichlet(np.ones(activities)))
    of_time = rng.integers(0, activities, 200)[(when * 200).astype(np.int64)]
    activity = np.where(rng.random(rows) < 0.4, of_time, usual)
    heights = rng.uniform(0, 1.2, (activities, 4))[activity, tag] + 0.2 * rng.normal(size=rows)
    across, along = (rng.uniform(0, 1, (activities, 3))[activity, pick] for _ in range(2))
    numbers = {
        "time": (when * 37 % 1, 100),
        "stamp": (when, 100),
        "across": (0.2 + 0.6 * across + 0.1 * rng.normal(size=rows), 32),
        "along": (0.2 + 0.6 * along + 0.1 * rng.normal(size=rows), 32),
        "height": ((heights + 0.4) / 2, 32),
    }
    columns = {name: _number(name, values, bins) for name, (values, bins) in numbers.items()}
    session = np.sort(rng.integers(0, 25, rows))
    day = (when * 100).astype(np.int64)
    return columns | _coded(
        {"day": (100, day), "session": (25, session), "tag": (4, tag), LABEL: (activities, activity)}
    )


def letters(rng: Rng, rows: int) -> Columns:
    """One segment of a letter in each row, at a random scale, and the letter's diagonal."""
    classes, segments = 10, 6
    ends = rng.uniform(0, 1, (classes, segments, 4))
    letter = rng.integers(0, classes, rows)
    place = (rng.random(rows) * rng.integers(3, segments + 1, classes)[letter]).astype(np.int64)
    scale, ratio = rng.uniform(0.5, 1, rows), rng.uniform(0.7, 1.3, rows)
    found = (ends[letter, place] + 0.05 * rng.normal(size=(rows, 4))) * scale[:, None]
    found[:, [1, 3]] *= ratio[:, None]
    length = np.hypot(found[:, 0] - found[:, 2], found[:, 1] - found[:, 3])
    diagonal = np.ptp(ends, axis=1).max(axis=1)[letter] * scale * np.sqrt(1 + ratio**2) / 1.7
    columns = {f"end{k}": _number(f"end{k}", found[:, k] / 1.3, 32) for k in range(4)}
    columns |= {"length": _number("length", length, 32), "diagonal": _number("diagonal", diagonal, 32)}
    return columns | _coded({"segment": (segments, place), LABEL: (classes, letter)})


def characters(rng: Rng, rows: int) -> Columns:
    """One stroke of a letter in each row: its place, ends and length, and the diagonal of the letter."""
    usual = rng.uniform([0.5, 0.6], 1, (len(STROKES), 2))
    found: list[Array] = []
    while sum(map(len, found)) < rows:
        letter = int(rng.integers(len(STROKES)))
        size = np.array([45, 50]) * rng.uniform(0.35, 1) * usual[letter] * rng.uniform(0.8, 1.1, 2)
        ends = np.array(STROKES[letter]).reshape(-1, 2, 2) * size
        ends = np.clip(np.rint(ends + 0.02 * size * rng.normal(size=ends.shape)), 0, 60)
        lengths = np.hypot(*(ends[:, 0] - ends[:, 1]).T)
        diagonal = np.full(len(ends), np.hypot(*np.ptp(ends, axis=(0, 1))))
        places = np.column_stack([np.arange(len(ends)), np.full(len(ends), letter)])
        found.append(np.column_stack([places, ends.reshape(-1, 4), lengths, diagonal]))
    strokes = np.concatenate(found)[:rows]
    columns = {f"end{k}": _number(f"end{k}", strokes[:, 2 + k] / 61, 61) for k in range(4)}
    columns |= {
        name: _number(name, strokes[:, 6 + k] / 75, 61) for k, name in enumerate(("length", "diagonal"))
    }
    place, letters = strokes[:, :2].astype(np.int64).T
    return columns | _coded({"segment": (6, place), LABEL: (len(STROKES), letters)})


def _number(name: str, values: Array, bins: int) -> tuple[Attribute, Codes]:
    """A number, clipped to 0..1, in bins of equal width."""
    codes = np.clip((values * bins).astype(np.int64), 0, bins - 1)
    return NumericAttribute(name, 0.0, 1.0, bins), codes


def _coded(columns: Mapping[str, tuple[int, Codes]]) -> Columns:
    return {name: (CodedAttribute(name, size), codes) for name, (size, codes) in columns.items()}


TABLES: Mapping[str, tuple[Callable[[Rng, int], Columns], int]] = {
    "dense": (dense, 20_000),
    "payments": (payments, 30_000),
    "sessions": (sessions, 60_000),
    "letters": (letters, 10_000),
    "characters": (characters, 10_000),
}
"""Name -> what draws it, and its number of private rows."""
