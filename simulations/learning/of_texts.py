"""Learns columns of texts: well-known words, frequent texts, identifiers, and texts that are left out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.texts import MOST_LABELS, is_label
from ...common.data.unmodelled import Dropped, Identifier, Unmodelled
from .asking import PRESENT, Asking
from .columns import Column, categories
from .forms import PLACES, Form
from .kinds import Texts, Vote, Words
from .private_counts import Noisy

DIFFERENT = 0.05
"""Share of a column for the number of its different texts; the rest finds the frequent ones."""

_UNIQUE = 0.9
"""A column names its records if nearly so many of its texts differ."""

_FREE = 0.5
"""A column of texts that are never frequent is left out if so many of them differ."""


def learned_words(vote: Vote, forms: Noisy, name: str, records: float) -> Column:
    """A column of well-known words alone."""
    assert isinstance(vote.kind, Words)
    words = vote.kind.words
    counts = forms.values[[PLACES[Form("word", word)] for word in words]]
    unlisted = records - vote.missing - counts.sum()
    other = unlisted > max(PRESENT * forms.sigma * np.sqrt(len(words) + 1), 0.02 * records)
    return categories(name, words, counts, vote.missing > 0, bool(other))


def learned_texts(
    asking: Asking,
    kinds: Mapping[str, Texts],
    votes: Mapping[str, Vote],
    forms: Mapping[str, Noisy],
    delta: float,
) -> dict[str, Column | Unmodelled]:
    """The columns of other texts.

    Args:
        asking: the means.
        kinds: name -> words that were seen in it.
        votes: what cells voted for.
        forms: noisy numbers of cells of each form.
        delta: with which a column's texts of one row may be found.
    """
    asked = {name: partial(_different, asking, name) for name in kinds}
    different = asking.counts.histograms("different values", asked, DIFFERENT * asking.share)
    columns: dict[str, Column | Unmodelled] = {}
    for name, kind in kinds.items():
        texts, rows = asking.cells.values(name)
        possible = [place for place, text in enumerate(texts) if is_label(text)]
        places, noisy = asking.counts.frequent(
            "texts", name, partial(_rows_of, rows, possible), (1 - DIFFERENT) * asking.share, delta
        )
        kept = np.sort(np.argsort(-noisy.values, kind="stable")[:MOST_LABELS])
        found = {texts[possible[int(places[k])]]: float(noisy.values[k]) for k in kept}
        for word in kind.words:
            found.setdefault(word, float(forms[name].values[PLACES[Form("word", word)]]))
        share = float(different[name].kept(PRESENT)[0]) / max(1.0, votes[name].filled)
        if share >= _UNIQUE and not found:
            columns[name] = Identifier(name, name.replace("{", "").replace("}", "") + "-{:06d}")
        elif share >= _FREE and not found:
            columns[name] = Dropped(name)
        else:
            counts = np.array(list(found.values()))
            spread = PRESENT * np.sqrt(len(counts) * noisy.sigma**2 + 2 * forms[name].sigma ** 2)
            other = asking.records - votes[name].missing - counts.sum() > spread
            columns[name] = categories(name, list(found), counts, votes[name].missing > 0, bool(other))
    return columns


def _rows_of(rows: NDArray[np.int64], places: list[int]) -> NDArray[np.int64]:
    return rows[places]


def _different(asking: Asking, name: str) -> NDArray[np.int64]:
    # One row more or less changes the number of different texts by one at most.
    return np.array([asking.cells.different(name)], dtype=np.int64)
