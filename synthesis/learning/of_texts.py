"""Learns columns of texts: well-known words, frequent texts, labels, identifiers, and texts left out."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.several_numbers import NAMES_OF_PAIRS
from ...common.data.attributes.unmodelled import (
    Dropped,
    Identifier,
    Unmodelled,
    common_pattern,
    pattern_by_name,
    pattern_of_all,
    pattern_of_last,
)
from ...common.data.values import text_of
from ...common.data.view import View
from ...common.forms.notation import LONGEST_PATTERN
from ...common.measurement import Measurement
from .asking import PRESENT, SURE_UNSEEN, Asking, Rows, tells_missing
from .cells import Cells
from .columns import BLANKS, OTHER, Column, categories
from .forms.forms import PLACES, Form
from .frequent_texts import DIFFERENT_TEXTS, Values, frequent_numbers, frequent_texts, rows_of_known
from .kind import Texts, Words
from .kinds import Vote
from .private_counts import Noisy, PrivateCounts

_FILLED_SEEN = 3.0
"""A column has values if they exceed so many deviations of their noise: in one without any, noise shows some
once in 700 times."""

FORM_OF_NAMES = 0.2
"""Share of a column of names for their form."""

_NAMES_READ = 10_000
"""About so many names are looked at for their form."""

_ONE_PATTERN = 0.5
"""Names have a form if it is that of so many rows."""

_MANY_TEXTS = 100.0
"""More different texts than this are too many to be listed."""

_UNIQUE = 0.9
"""A column names its records if nearly so many of its texts differ."""

_FREE = 0.5
"""A column of sentences, or of texts that are never frequent, is left out if so many of them differ."""

_OFTEN_EMPTY = 0.1
"""Where so many rows have no value, texts of no common form name no rows: whether there is one is kept."""


def learned_words(vote: Vote, forms: Noisy, name: str, rows: Rows, cost: float) -> Column:
    """A column of well-known words alone.

    Args:
        vote: what its cells voted for.
        forms: noisy numbers of cells of each form.
        name: of the column.
        rows: the number of rows.
        cost: of the votes, zCDP.
    """
    assert isinstance(vote.kind, Words)
    words = vote.kind.words
    found = {word: (float(forms.values[PLACES[Form("word", word)]]), forms.sigma) for word in words}
    counts = np.array([count for count, _ in found.values()])
    unlisted = rows.records - vote.missing - counts.sum()
    other = unlisted > max(PRESENT * forms.sigma * np.sqrt(len(words) + 1), 0.02 * rows.records)
    column = categories(name, words, counts, vote.missing > 0, bool(other))
    column = replace(column, counted=_count_codes(column, found, vote, rows, cost))
    if other:
        return replace(column, unlisted=SURE_UNSEEN * forms.sigma, merged=float(unlisted))
    return replace(column, unlisted=max(0.0, unlisted) + SURE_UNSEEN * forms.sigma * np.sqrt(len(words) + 1))


def different_texts(asking: Asking, names: Iterable[str]) -> dict[str, Noisy]:
    """The noisy number of different texts of each column."""
    return asking.different_values(names, DIFFERENT_TEXTS)


def is_many(different: Noisy) -> bool:
    """Whether different texts are too many to be listed, for all that noise may add to their number."""
    return float(different.values[0]) > _MANY_TEXTS + PRESENT * different.sigma


def learned_texts(
    asking: Asking,
    kinds: Mapping[str, Texts],
    votes: Mapping[str, Vote],
    forms: Mapping[str, Noisy],
    different: Mapping[str, Noisy],
    delta: float,
) -> dict[str, Column | Unmodelled]:
    """The columns of other texts.

    Args:
        asking: the means.
        kinds: name -> words that were seen in it.
        votes: what cells voted for.
        forms: noisy numbers of cells of each form.
        different: noisy number of different texts of each.
        delta: with which a column's texts of one row may be found.
    """
    columns: dict[str, Column | Unmodelled] = {}
    for name, kind in kinds.items():
        vote = votes[name]
        share = float(different[name].above_noise(PRESENT)[0]) / max(1.0, vote.filled)
        unique, often_empty = share >= _UNIQUE, vote.missing > _OFTEN_EMPTY * asking.records
        if kind.sentences and share >= _FREE and not often_empty:
            columns[name] = Dropped(name)
            continue
        coded = bool(kind.coded and is_many(different[name]) and not unique)
        values = asking.cells.values(name)
        part = (delta / 2, FORM_OF_NAMES) if unique else (delta, 0.0)
        unlike, pattern = None, None
        if kind.pairs and unique:
            pattern = _pattern(asking, name, values, _ONE_PATTERN * vote.filled, delta / 2)
            if pattern is not None and NAMES_OF_PAIRS.fullmatch(pattern):
                columns[name] = Identifier(name, pattern, _empty_share(asking, vote))
                continue
        if kind.pairs:
            found, unlike = frequent_numbers(
                asking, name, values, vote.filled, float(different[name].values[0]), *part
            )
        else:
            found = frequent_texts(asking, name, values, coded, *part)
        for word in kind.words:
            found.setdefault(word, (float(forms[name].values[PLACES[Form("word", word)]]), forms[name].sigma))
        if not found and vote.filled <= _FILLED_SEEN * math.hypot(vote.deviation, asking.rows.deviation):
            columns[name] = _empty(name, vote)
            continue
        if not found and unique and not kind.pairs:
            pattern = _pattern(asking, name, values, _ONE_PATTERN * vote.filled, delta / 2)
        if (pattern is None or kind.pairs) and (found or share < _FREE or often_empty):
            # What counts as the nearest text is not cut to a beginning.
            coded = coded and unlike is None
            columns[name] = _listed_texts(asking, name, vote, forms[name], found, coded, unlike)
        else:
            # Amounts in several units all differ, and so do coordinates, but they are no names.
            named = unique and not kind.pairs
            pattern, empty = pattern or pattern_by_name(name), _empty_share(asking, vote)
            columns[name] = Identifier(name, pattern, empty) if named else Dropped(name)
    return columns


def _empty_share(asking: Asking, vote: Vote) -> float:
    """The share of the rows that have no name, in percent, where noise tells it from none."""
    share = round(vote.missing / asking.records, 2) if vote.missing else 0.0
    return share if share < 1 else 0.0


def _listed_texts(
    asking: Asking,
    name: str,
    vote: Vote,
    forms: Noisy,
    found: Mapping[str, tuple[float, float]],
    coded: bool,
    unlike: Noisy | None,
) -> Column:
    """A column of the texts that were found, if any, and of others.

    Args:
        asking: the means.
        name: of the column.
        vote: what its cells voted for.
        forms: noisy numbers of cells of each form.
        found: noisy rows of each text and the deviation of their noise.
        coded: whether others count as the longest that they begin with.
        unlike: if others count as the nearest, noisy rows that are like none.
    """
    vote = _without_listed(vote, found)
    counts = np.array([count for count, _ in found.values()])
    squares = sum(sigma**2 for _, sigma in found.values())
    spread = PRESENT * np.sqrt(squares + 2 * forms.sigma**2)
    rest, nearest = float(asking.records - vote.missing - counts.sum()), unlike is not None
    if unlike is not None:
        rest, spread = float(unlike.values[0]), PRESENT * unlike.sigma
    other = bool(rest > spread)
    unlisted = SURE_UNSEEN * forms.sigma if other else max(0.0, rest) + SURE_UNSEEN / PRESENT * spread
    column = categories(name, list(found), counts, vote.missing > 0, other, prefixes=coded, nearest=nearest)
    return replace(
        column,
        unlisted=float(unlisted),
        merged=rest if other else 0.0,
        # Beginnings are not counted apart from all longer texts that are listed.
        counted=None if coded or nearest else _count_codes(column, found, vote, asking.rows, asking.share),
    )


def _empty(name: str, vote: Vote) -> Column:
    """A column without values: the few that no vote shows count as none."""
    reading = CategoricalAttribute(name, ("", OTHER), other=OTHER, missing=BLANKS)
    unlisted = max(0.0, vote.filled) + SURE_UNSEEN * vote.deviation
    return Column(reading, True, CategoricalAttribute(name, ("",)), 0, unlisted=unlisted)


def _without_listed(vote: Vote, found: Mapping[str, tuple[float, float]]) -> Vote:
    """The vote without the cells that voted for no value, and whose text, such as NA, was found frequent."""
    listed = [found[text] for text in BLANKS if text in found]
    if not listed:
        return vote
    rows, sigmas = zip(*listed, strict=True)
    fewer = vote.without(-sum(rows), math.hypot(*sigmas))
    return fewer if tells_missing(False, fewer.missing, fewer.deviation) else replace(fewer, missing=0.0)


def _count_codes(
    column: Column, found: Mapping[str, tuple[float, float]], vote: Vote, rows: Rows, cost: float
) -> Measurement:
    """The noisy rows of each code of a released column of texts.

    One code is the rest of the rows: that of `OTHER`, or of the text as which others count.

    Args:
        column: the column.
        found: noisy rows of each text and the deviation of their noise.
        vote: what its cells voted for.
        rows: the number of rows.
        cost: of these counts, zCDP.
    """
    assert isinstance(column.reading, CategoricalAttribute)
    assert column.released is not None
    _, codes = column.finish(column.reading, column.missing, 0)
    texts = dict(zip(map(text_of, column.reading.categories), codes.tolist(), strict=True))
    values, variances = np.zeros((2, column.released.size))
    if column.missing:
        values[texts[""]], variances[texts[""]] = vote.missing, vote.deviation**2
    rest = texts[OTHER]
    for text, (count, sigma) in found.items():
        if texts[text] != rest:
            values[texts[text]], variances[texts[text]] = count, sigma**2
    values[rest] = rows.records - values.sum()
    # Cells without a value that no vote shows count there too.
    variances[rest] = rows.variance + vote.deviation**2 + variances.sum()
    sigma = float(np.sqrt(variances.mean()))
    return Measurement(View((column.reading.name,)), values, sigma, cost, sigmas=np.sqrt(variances))


def _pattern(asking: Asking, name: str, values: Values, least: float, delta: float) -> str | None:
    """The pattern that most names of the rows have, if most have one.

    Args:
        asking: the means.
        name: of the column.
        values: its different texts, and the rows of each.
        least: so many rows have to have it.
        delta: with which the pattern of one row may be found.
    """
    texts, rows = values
    # Which names are looked at follows from each alone, so that one row more changes one count by one.
    step = max(1, int(asking.records // _NAMES_READ))
    read = [
        (text, count)
        for text, count in zip(texts, rows.tolist(), strict=True)
        if zlib.crc32(text.encode("utf-8", "surrogatepass")) % step == 0
    ]
    for pattern_of in (pattern_of_last, pattern_of_all):
        counts: dict[str, int] = {}
        for text, count in read:
            if pattern := pattern_of(text):
                counts[pattern] = counts.get(pattern, 0) + count
        known = [pattern for pattern in sorted(counts) if len(pattern) <= LONGEST_PATTERN]
        places, noisy = asking.counts.frequent(
            "forms of names",
            name,
            partial(rows_of_known, counts, known),
            FORM_OF_NAMES / 2 * asking.share,
            delta / 2,
        )
        found = {known[place]: float(count) for place, count in zip(places, noisy.values, strict=True)}
        common = common_pattern(found, least / step)
        if common is not None:
            return common
    return None


def learned_labels(cells: Cells, counts: PrivateCounts, rows: Rows, cost: float) -> dict[str, Column]:
    """The columns that their file describes.

    A category that no row has is one too. Codes that the file does not name are counted together, as `OTHER`.

    Args:
        cells: the table.
        counts: what counts its rows.
        rows: their number.
        cost: of the counts of a column, zCDP.
    """
    reading = {name: _reading_of_labels(name, labels) for name, labels in cells.listed.items()}
    noisy = counts.histograms(
        "labels", {name: partial(_rows_of_codes, cells, one) for name, one in reading.items()}, cost
    )
    return {name: _labelled_column(one, noisy[name], rows, cost) for name, one in reading.items()}


def _reading_of_labels(name: str, labels: Sequence[str]) -> CategoricalAttribute:
    """How the cells are read: a missing value first, and `OTHER` last if no label is called so."""
    more = () if OTHER in labels else (OTHER,)
    return CategoricalAttribute(name, ("", *labels, *more), other=OTHER)


def _rows_of_codes(cells: Cells, reading: CategoricalAttribute) -> NDArray[np.int64]:
    """The rows of each code; private. The rest of all rows has no value."""
    texts, rows = cells.values(reading.name)
    found = np.bincount(reading.encode(np.array(texts, dtype=object)), rows, reading.size)
    found[0] = cells.records() - found[1:].sum()
    return found.astype(np.int64)


def _labelled_column(reading: CategoricalAttribute, noisy: Noisy, rows: Rows, cost: float) -> Column:
    """The released column: without missing values and `OTHER` where noise may be all that was counted."""
    values, sigma = noisy.values, noisy.sigma
    other = reading.categories.index(OTHER)
    missing = tells_missing(False, float(values[0]), sigma)
    hidden = [] if missing else [0]
    # A label that is called so stands in the dictionary.
    if other == reading.size - 1 and values[other] <= PRESENT * sigma:
        hidden.append(other)
    kept = [code for code in range(reading.size) if code not in hidden]
    released = CategoricalAttribute(
        reading.name,
        tuple(reading.categories[code] for code in kept),
        other=OTHER if other in kept else None,
    )
    labels = [code for code in kept if code not in (0, other)] or kept
    usual = max(labels, key=lambda code: float(values[code]))
    place = kept.index(usual)
    counted, variances = values[kept], np.full(len(kept), sigma**2)
    counted[place] += values[hidden].sum()
    variances[place] += len(hidden) * sigma**2
    moved = sum(max(0.0, float(values[code])) for code in hidden) + SURE_UNSEEN * sigma * len(hidden) ** 0.5
    measured = Measurement(
        View((reading.name,)), counted, float(np.sqrt(variances.mean())), cost, sigmas=np.sqrt(variances)
    )
    return replace(
        Column(reading, missing, released, usual),
        unlisted=float(moved),
        merged=float(max(0.0, values[other])) if other in kept and other == reading.size - 1 else 0.0,
        counted=measured,
    )
