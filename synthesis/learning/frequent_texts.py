"""The frequent texts of a column, by partition selection: whole ones, beginnings, rounded numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.several_numbers import ROUNDED_TO, form_of_numbers, round_numbers
from ...common.data.attributes.texts import MOST_LABELS, is_label
from ...common.data.values import NOT_AVAILABLE
from .asking import Asking
from .kind import Numbers, Times
from .private_counts import Noisy

DIFFERENT_TEXTS = 0.05
"""Share of a column for the number of its different texts; the rest finds the frequent ones."""

Values = tuple[list[str], NDArray[np.int64]]
"""The different texts of a column, and the rows of each."""

BEGINNINGS, WHOLE_CODES = (4, 3, 2, 1), 0.4
"""Lengths of beginnings of codes that are looked for, from the longest, and the share of whole codes."""

_COARSER = 2
"""Rows whose text is still not found have numbers that are rounded to a step so many places further."""

UNLIKE = 0.05
"""Share of a column for the number of rows with a text that is like none that was found."""

_ENOUGH = 0.5
"""Others count as the nearest text if those that were found have so many of the rows."""

_BEGINNING_SEEN = 4.0
"""A beginning is listed if the rows beside those of longer ones exceed so many deviations of its noise."""


def frequent_texts(
    asking: Asking, name: str, values: Values, coded: bool, delta: float, reserved: float = 0.0
) -> dict[str, tuple[float, float]]:
    """The frequent texts of a column, and of codes frequent beginnings of others, with their noisy rows.

    Args:
        asking: the means.
        name: of the column.
        values: its different texts, and the rows of each.
        coded: whether beginnings are looked for.
        delta: with which texts of one row may be found.
        reserved: share of the column that something else takes.

    Returns:
        Text -> rows that have it and no longer one of these, and the deviation of their noise.
    """
    texts, rows = values
    lengths = (0, *BEGINNINGS) if coded else (0,)
    share = (1 - DIFFERENT_TEXTS - reserved) * asking.share
    found: dict[str, tuple[float, float]] = {}
    for length in lengths:
        part = (
            share
            if len(lengths) == 1
            else share * (WHOLE_CODES if not length else (1 - WHOLE_CODES) / len(BEGINNINGS))
        )
        known, counts = _begun(texts, rows, length)
        possible = [place for place, text in enumerate(known) if is_label(text)]
        places, noisy = asking.counts.frequent(
            "texts", name, partial(_rows_of, counts, possible), part, delta / len(lengths)
        )
        kept = np.sort(np.argsort(-noisy.values, kind="stable")[:MOST_LABELS])
        stated = {known[possible[int(places[place])]]: float(noisy.values[place]) for place in kept}
        if length:
            rest = {text: rows - _within(text, found) for text, rows in stated.items() if text not in found}
            stated = {text: rows for text, rows in rest.items() if rows > _BEGINNING_SEEN * noisy.sigma}
        found |= {text: (rows, noisy.sigma) for text, rows in stated.items()}
    return found


def frequent_beside(
    asking: Asking, name: str, kind: Numbers | Times, cost: float, delta: float
) -> tuple[list[str], Noisy]:
    """The frequent texts among the numbers or times of a column, such as <5 or ongoing, and their noisy rows.

    Args:
        asking: the means.
        name: of the column.
        kind: how its numbers or times are written.
        cost: zCDP.
        delta: with which a text of one row may be found.
    """
    texts, rows = asking.cells.texts_beside(name, kind)
    listed = [place for place, text in enumerate(texts) if is_label(text) and text not in NOT_AVAILABLE]
    places, noisy = asking.counts.frequent("texts", name, partial(_rows_of, rows, listed), cost, delta)
    return [texts[listed[place]] for place in places.tolist()], noisy


def frequent_numbers(
    asking: Asking,
    name: str,
    values: Values,
    filled: float,
    different: float,
    delta: float,
    reserved: float = 0.0,
) -> tuple[dict[str, tuple[float, float]], Noisy | None]:
    """The frequent texts of numbers, and of others those with rounded numbers; see `frequent_texts`.

    Args:
        asking: the means.
        name: of the column.
        values: its different texts, and the rows of each.
        filled: the number of rows with one.
        different: the number of its different texts, with noise.
        delta: with which texts of one row may be found.
        reserved: share of the column that something else takes.

    Returns:
        As `frequent_texts`; and, if they are enough for all others to count as the nearest one, the noisy
        number of rows that have something else between their numbers than any of them. If they are not,
        texts with rounded numbers are left out.
    """
    texts, rows = values
    share = (1 - DIFFERENT_TEXTS - UNLIKE - reserved) * asking.share
    found: dict[str, tuple[float, float]] = {}
    whole = found
    left = {text: count for text, count in zip(texts, rows.tolist(), strict=True) if is_label(text)}
    # So few texts could be found that numbers have to be rounded.
    part = (1 - WHOLE_CODES) / 2
    step = _step(different * asking.counts.findable(part * share, delta / 3) / max(asking.records, 1.0))
    for share_of_step, place in ((WHOLE_CODES, 0), (part, step), (part, step + _COARSER)):
        unit = ROUNDED_TO[min(place, len(ROUNDED_TO) - 1)]
        counts: dict[str, int] = {}
        for text, count in left.items():
            rounded = round_numbers(text, unit)
            counts[rounded] = counts.get(rounded, 0) + count
        known = sorted(counts)
        places, noisy = asking.counts.frequent(
            "texts", name, partial(rows_of_known, counts, known), share_of_step * share, delta / 3
        )
        stated = dict(zip((known[place] for place in places.tolist()), noisy.values.tolist(), strict=True))
        for text, count in stated.items():
            before, sigma = found.get(text, (0.0, 0.0))
            found[text] = before + count, math.hypot(sigma, noisy.sigma)
        left = {text: count for text, count in left.items() if round_numbers(text, unit) not in stated}
        whole = whole if place else dict(found)
    nearest = sum(count for count, _ in found.values()) > _ENOUGH * filled
    found = found if nearest else whole
    most = sorted(found, key=lambda text: -found[text][0])[:MOST_LABELS]
    listed = {text: found[text] for text in most}
    if not nearest:
        return listed, None
    forms = {form_of_numbers(text) for text in listed}
    unlike = sum(
        count for text, count in zip(texts, rows.tolist(), strict=True) if form_of_numbers(text) not in forms
    )
    asked = {name: lambda: np.array([unlike], dtype=np.int64)}
    return listed, asking.counts.histograms("texts like no other", asked, UNLIKE * asking.share)[name]


def _step(times: float) -> int:
    """The place of the step after which two numbers have so many times fewer texts."""
    return next((place for place, step in enumerate(ROUNDED_TO) if step**2 >= times), len(ROUNDED_TO) - 1)


def _begun(texts: list[str], rows: NDArray[np.int64], length: int) -> tuple[list[str], NDArray[np.int64]]:
    """The beginnings of longer texts, each once, and their rows; of no length the texts themselves."""
    if not length:
        return texts, rows
    counts: dict[str, int] = {}
    for text, count in zip(texts, rows.tolist(), strict=True):
        if len(text) > length:
            counts[text[:length]] = counts.get(text[:length], 0) + count
    return list(counts), np.array(list(counts.values()), dtype=np.int64)


def _within(beginning: str, found: Mapping[str, tuple[float, float]]) -> float:
    """The rows of found texts that begin so."""
    return sum(rows for text, (rows, _) in found.items() if text.startswith(beginning) and text != beginning)


def _rows_of(rows: NDArray[np.int64], places: list[int]) -> NDArray[np.int64]:
    return rows[places]


def rows_of_known(counts: Mapping[str, int], known: Sequence[str]) -> NDArray[np.int64]:
    """The rows of some texts, in this order."""
    return np.array([counts[pattern] for pattern in known], dtype=np.int64)
