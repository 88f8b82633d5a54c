"""The frequent texts of a column, by partition selection: whole ones, beginnings, rounded numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.texts import MOST_LABELS, is_label
from .asking import Asking

DIFFERENT_TEXTS = 0.05
"""Share of a column for the number of its different texts; the rest finds the frequent ones."""

Values = tuple[list[str], NDArray[np.int64]]
"""The different texts of a column, and the rows of each."""

BEGINNINGS, WHOLE_CODES = (4, 3, 2, 1), 0.4
"""Lengths of beginnings of codes that are looked for, from the longest, and the share of whole codes."""

_STEPS, _LAST_STEP, _SMALL = ((150, 5), (30, 10)), 20, 20
"""Of several numbers in a text: how many texts could be found, and to multiples of what they are rounded; up
to how much to those of a quarter of it."""

_ENOUGH = 0.5
"""Others count as the nearest text if those that were found have so many of the rows."""

_DIGITS = re.compile("[0-9]+")

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


def frequent_numbers(
    asking: Asking, name: str, values: Values, filled: float, delta: float
) -> tuple[dict[str, tuple[float, float]], bool]:
    """The frequent texts of several numbers, and of others those with rounded numbers; see `frequent_texts`.

    Args:
        asking: the means.
        name: of the column.
        values: its different texts, and the rows of each.
        filled: the number of rows with one.
        delta: with which texts of one row may be found.

    Returns:
        As `frequent_texts`; and whether they are enough for all others to count as the nearest one. If not,
        texts with rounded numbers are left out.
    """
    texts, rows = values
    share = (1 - DIFFERENT_TEXTS) * asking.share
    found: dict[str, tuple[float, float]] = {}
    whole = found
    for part in (WHOLE_CODES, 1 - WHOLE_CODES):
        # So few texts could be found that numbers have to be rounded.
        step = (
            0
            if part == WHOLE_CODES
            else _step(asking.records / asking.counts.findable(part * share, delta / 2))
        )
        whole, found = found, dict(found)
        counts: dict[str, int] = {}
        for text, count in zip(texts, rows.tolist(), strict=True):
            if text not in whole and is_label(text):
                rounded = _round_numbers(text, step)
                counts[rounded] = counts.get(rounded, 0) + count
        known = sorted(counts)
        places, noisy = asking.counts.frequent(
            "texts", name, partial(rows_of_known, counts, known), part * share, delta / 2
        )
        for place, count in zip(places.tolist(), noisy.values.tolist(), strict=True):
            before, sigma = found.get(known[place], (0.0, 0.0))
            found[known[place]] = before + count, math.hypot(sigma, noisy.sigma)
    nearest = sum(count for count, _ in found.values()) > _ENOUGH * filled
    found = found if nearest else whole
    most = sorted(found, key=lambda text: -found[text][0])[:MOST_LABELS]
    return {text: found[text] for text in most}, nearest


def _step(texts: float) -> int:
    """To multiples of what numbers are rounded, if at most so many texts can be found."""
    return next((step for least, step in _STEPS if texts >= least), _LAST_STEP)


def _round_numbers(text: str, step: int) -> str:
    """The text with its numbers rounded, small ones to a quarter of the step."""

    def nearest(run: re.Match[str]) -> str:
        number = int(run[0])
        unit = max(1, step // 4) if number <= _SMALL else step
        return str(round(number / unit) * unit)

    return _DIGITS.sub(nearest, text) if step else text


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
