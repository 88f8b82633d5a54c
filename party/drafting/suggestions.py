"""Suggests rules that private rows keep: functions, dependencies, impossible combinations, inequalities."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, islice, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import DateAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.rules.elapsed import Elapsed
from ...common.data.rules.follows import Follows
from ...common.data.rules.order import Product, Sum
from ...common.data.rules.plain import numbers as as_numbers
from ...common.data.rules.plain import plain
from ...common.data.rules.rule import Computing, in_order
from ...common.errors import DataError
from .functions import (
    LEAST_ROWS,
    SHARE_KEEPING,
    elapsed_times,
    functions,
    missing_together,
    scalings,
)
from .labels import Labels

_EXPECTED = 20
"""A combination is suspicious if so many rows would have it, were the columns independent."""

_MOST_RULES = 30
"""At most so many rules of each kind."""

_COMBINED_VALUES_MOST = 12
"""Combinations are looked for among columns of at most so many values."""

_WIDE = 5000
"""Dependencies are looked for among columns of at most so many values."""

_MOST_RULED_COLUMNS = 200
"""Rules are looked for among so many columns, the first ones: their pairs are many."""

_MOST_SUMMED = 50
"""Sums are looked for among so many columns of numbers, whose triples are more."""

_HEAD, _SAYING = 1_000, 0.01
"""Totals are looked for in so many first rows; so many numbers of a factor are neither 0 nor 1."""

_ROOM_BEYOND, _NICE = 1.25, (1.0, 2.0, 5.0, 10.0)
"""Limits of numbers are so many times beyond what rows hold, and one of these times a power of ten."""

_BEYOND, _LEAST_BOUND = 0.02, 1e-12
"""Limits matter if so large a share of the other rows is beyond, and are zero or at least so large."""

_RANKS = 64
"""By so many ranks of a number is seen where limits may matter."""

_RNG_SEED = 1

Numbers = NDArray[np.float64]


def suggested_rules(
    attributes: Mapping[str, Attribute], cells: Mapping[str, NDArray[Any]], labels: Mapping[str, Labels]
) -> list[dict[str, Any]]:
    """Rules that nearly all rows keep, though rows of independent columns would not.

    Of columns that determine each other the others have rules of the first one.

    Args:
        attributes: as drafted, by name.
        cells: raw values of a sample of the rows, shape (N,) for each attribute.
        labels: the same as categories.
    """
    if not cells or len(next(iter(cells.values()))) < LEAST_ROWS:
        return []
    attributes = dict(islice(attributes.items(), _MOST_RULED_COLUMNS))
    numbers = {
        name: found for name, a in attributes.items() if (found := _numbers(a, cells[name])) is not None
    }
    following = functions(attributes, cells, labels)
    empty = {
        name: np.array([value is None for value in one.values])[one.codes] for name, one in labels.items()
    }
    labels = {name: labels[name] for name in attributes if name not in numbers}
    factors = {
        name: found for name, a in attributes.items() if (found := _factor(a, cells[name])) is not None
    }
    domain = Domain(tuple(attributes.values()))
    totals = [*_totals(Sum, numbers, domain), *_totals(Product, factors, domain), *scalings(factors, domain)]
    times = elapsed_times(attributes, numbers)
    computed = _one_of_each([*following, *times, *totals])
    lengths = [rule for rule in computed if isinstance(rule, Elapsed)]
    following = [rule for rule in computed if isinstance(rule, Follows)]
    totals = [rule for rule in computed if isinstance(rule, Sum)]
    roots = _roots(computed)
    determined = [one for one in _dependencies(labels) if not _of_one_root(one["determines"].values(), roots)]
    explained = {frozenset(rule["determines"].values()) for rule in determined}
    doubled = {name for name, _ in equivalent_columns(labels)}
    labels = {name: one for name, one in labels.items() if name not in doubled}
    summed = {name for rule in totals if not isinstance(rule, Product) for name in rule.columns}
    own = {name: found for name, found in numbers.items() if name not in roots}
    together = [missing_together(rule, empty) for rule in following]
    return [
        *(rule.to_json() for rule in following),
        *determined[:_MOST_RULES],
        *_impossible_categories(labels, explained, roots),
        *_impossible_numbers(attributes, own),
        *_limits({name: found for name, found in own.items() if _is_plain(attributes[name])}, labels, roots),
        *_missing_when(labels, numbers, roots),
        *(rule for rule in together if rule is not None),
        *_at_most({name: found for name, found in own.items() if name not in summed}),
        *(rule.to_json() for rule in lengths[:_MOST_RULES]),
        *(rule.to_json() for rule in totals[:_MOST_RULES]),
    ]


def _roots(rules: Sequence[Computing]) -> dict[str, str]:
    """The columns that follow from a single other one, and from which one in the end."""
    found: dict[str, str] = {}
    for rule in in_order(rules):
        if len(rule.sources) == 1:
            found[rule.result] = found.get(rule.sources[0], rule.sources[0])
    return found


def _of_one_root(names: Collection[str], roots: Mapping[str, str]) -> bool:
    """Whether columns follow from the same one, so that what they say of each other does too."""
    return len({roots.get(name, name) for name in names}) == 1


def equivalent_columns(labels: Mapping[str, Labels]) -> list[tuple[str, str]]:
    """Pairs of columns of which each determines the other, such as a code and its label.

    Args:
        labels: columns of a sample of the rows, as categories.
    """
    first: dict[bytes, str] = {}
    found = []
    for name, one in labels.items():
        # Of values that seldom repeat, each determines everything.
        if not 2 < len(one.values) <= len(one.codes) / 5 or len(one.codes) < LEAST_ROWS:
            continue
        _, begun, place = np.unique(one.codes, return_index=True, return_inverse=True)
        # Which rows have equal values, whatever these are.
        divided = np.argsort(np.argsort(begun))[place].tobytes()
        if divided in first:
            found.append((name, first[divided]))
        else:
            first[divided] = name
    return found


def same_within(whose: Labels, labels: Mapping[str, Labels]) -> list[str]:
    """The columns that are the same in all rows of each value of another one, such as sex of a person's key.

    Args:
        whose: the other column.
        labels: columns of a sample of the rows, as categories.
    """
    _, first, place = np.unique(whose.codes, return_index=True, return_inverse=True)
    repeated = len(place) - len(first)
    if repeated < len(place) / 5:
        return []
    found = []
    for name, one in labels.items():
        shares = np.bincount(one.codes) / len(place)
        # So many rows would be other than the first one if the column had nothing to do with it.
        by_chance = repeated * (1 - (shares**2).sum())
        if by_chance >= _EXPECTED and (one.codes == one.codes[first][place]).all():
            found.append(name)
    return found


def _numbers(attribute: Attribute, cells: NDArray[Any]) -> Numbers | None:
    """Numbers, or dates as days; NaN where one is missing; None for other kinds, and beside texts."""
    if attribute.texts:
        return None
    if isinstance(attribute, NumericAttribute):
        return attribute.numbers(cells)
    if isinstance(attribute, DateAttribute):
        times, _ = attribute.moments.read(attribute.name, cells)
        found = times.astype("datetime64[s]").astype(np.float64)
        found[np.isnat(times)] = np.nan
        return found
    return None


def _factor(attribute: Attribute, cells: NDArray[Any]) -> Numbers | None:
    """Numbers, also of categories that are numbers; None for other kinds, or if nearly all are 0 or 1."""
    if isinstance(attribute, CategoricalAttribute):
        if not all(isinstance(one, (int, float)) for one in attribute.categories if one not in ("", None)):
            return None
        found = as_numbers(plain(attribute, cells))
    elif isinstance(attribute, NumericAttribute) and not attribute.texts:
        found = attribute.numbers(cells)
    else:
        return None
    known = found[~np.isnan(found)]
    return found if len(known) and (~np.isin(known, (0.0, 1.0))).mean() >= _SAYING else None


def _dependencies(labels: Mapping[str, Labels]) -> Iterator[dict[str, Any]]:
    """Dependencies of one column on another one with more values; the strictest first."""
    found = []
    for (name, a), (other, b) in permutations(labels.items(), 2):
        rows, sizes = len(a.codes), (len(a.values), len(b.values))
        if not 1 < sizes[1] <= sizes[0] <= min(_WIDE, rows / 5) or sizes[0] * sizes[1] > 10**7:
            continue
        if sizes[0] == sizes[1] and name > other:
            continue
        cells = np.bincount(a.codes * sizes[1] + b.codes, minlength=sizes[0] * sizes[1]).reshape(sizes)
        kept, usual = cells.max(axis=1).sum() / rows, b.counts.max() / rows
        # Without the other column, its most frequent value would be right so often.
        if kept >= 0.99 and 1 - kept < 0.05 * (1 - usual):
            found.append((kept, name, other))
    for _, name, other in sorted(found, key=lambda one: -one[0]):
        yield {"determines": {"from": name, "to": other}}


def _impossible_categories(
    labels: Mapping[str, Labels], explained: set[frozenset[str]], roots: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Values of two columns that do not occur together; those first that would be most frequent."""
    found = []
    small = {name: one for name, one in labels.items() if len(one.values) <= _COMBINED_VALUES_MOST}
    for (name, a), (other, b) in combinations(small.items(), 2):
        if frozenset((name, other)) in explained or _of_one_root((name, other), roots):
            continue
        shape = len(a.values), len(b.values)
        cells = np.bincount(a.codes * shape[1] + b.codes, minlength=shape[0] * shape[1]).reshape(shape)
        expected = np.outer(a.counts, b.counts) / len(a.codes)
        suspicious = (cells <= (1 - SHARE_KEEPING) * expected) & (expected >= _EXPECTED)
        for place in np.flatnonzero(suspicious.any(axis=1)):
            with_it = [b.values[k] for k in np.flatnonzero(suspicious[place])]
            rule = {"impossible": {name: [a.values[place]], other: with_it}}
            found.append((float(expected[place][suspicious[place]].sum()), rule))
    for _, rule in sorted(found, key=lambda one: -one[0])[:_MOST_RULES]:
        yield rule


def _impossible_numbers(
    attributes: Mapping[str, Attribute], numbers: Mapping[str, Numbers]
) -> Iterator[dict[str, Any]]:
    """Numbers of which one of two is always zero."""
    zeroed = [
        name
        for name in numbers
        if isinstance(one := attributes[name], NumericAttribute) and one.atoms and one.atoms[0] == 0
    ]
    for name, other in combinations(zeroed, 2):
        positive = numbers[name] > 0, numbers[other] > 0
        expected = positive[0].mean() * positive[1].sum()
        if expected >= _EXPECTED and (positive[0] & positive[1]).sum() <= (1 - SHARE_KEEPING) * expected:
            yield {"impossible": {name: {"above": 0}, other: {"above": 0}}}


def _is_plain(attribute: Attribute) -> bool:
    return isinstance(attribute, NumericAttribute) and not attribute.texts


def _limits(
    numbers: Mapping[str, Numbers], labels: Mapping[str, Labels], roots: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Numbers that are far from those of other rows for some categories, such as the values of one test."""
    found: dict[tuple[str, str, str, float], list[Any]] = {}
    shares: dict[tuple[str, str, str, float], float] = {}
    small = {name: one for name, one in labels.items() if 1 < len(one.values) <= _COMBINED_VALUES_MOST}
    for name, values in numbers.items():
        known = np.isfinite(values)
        held = values[known]
        if len(held) < LEAST_ROWS:
            continue
        ranks = np.searchsorted(np.quantile(held, np.arange(1, _RANKS) / _RANKS), held)
        for other, one in small.items():
            if _of_one_root((name, other), roots):
                continue
            codes = one.codes[known]
            for place in _apart(ranks, codes, len(one.values)):
                for key, bound, share in _bounds(held[codes == place], held[codes != place]):
                    limit = name, other, key, bound
                    found.setdefault(limit, []).append(one.values[place])
                    shares[limit] = max(share, shares.get(limit, 0.0))
    for limit in sorted(found, key=lambda one: -shares[one])[:_MOST_RULES]:
        name, other, key, bound = limit
        yield {"impossible": {other: found[limit], name: {key: bound}}}


def _bounds(own: Numbers, rest: Numbers) -> Iterator[tuple[str, float, float]]:
    """Bounds that the rows of a category keep, and the share of the others that are beyond: of many alone."""
    for key, sign in (("below", -1.0), ("above", 1.0)):
        end = float(np.quantile(sign * own, SHARE_KEEPING))
        bound = _round_outwards(end)
        share, of_sign = (float((sign * rest > one).mean()) for one in (bound, 0.0))
        if end <= 0 and share - of_sign < _BEYOND:
            # Their sign alone says all that matters.
            bound, share = 0.0, of_sign
        if share >= _BEYOND and (sign * own <= bound).mean() >= SHARE_KEEPING:
            yield key, sign * bound + 0.0, share


def _apart(ranks: NDArray[np.int64], codes: NDArray[np.int64], count: int) -> list[int]:
    """The codes of enough rows beyond whose ranks, on one side, many of the other rows may lie."""
    cells = np.bincount(codes * _RANKS + ranks, minlength=count * _RANKS).reshape(count, _RANKS)
    sizes = cells.sum(axis=1)
    enough = np.flatnonzero((sizes >= LEAST_ROWS) & (sizes < len(codes)))
    found = []
    for place in enough.tolist():
        reached = np.cumsum(cells[place]) / sizes[place]
        low, high = np.searchsorted(reached, (1 - SHARE_KEEPING, SHARE_KEEPING))
        rest = (cells.sum(axis=0) - cells[place]) / (len(codes) - sizes[place])
        # A rank that both have may lie beyond the bound.
        if max(rest[: low + 1].sum(), rest[high:].sum()) >= _BEYOND:
            found.append(place)
    return found


def _round_outwards(number: float) -> float:
    """The next of 1, 2, 5, 10, 20, ..., of zero and of their negatives that is larger, with some room."""
    wide = number * _ROOM_BEYOND if number > 0 else -number / _ROOM_BEYOND
    if wide < _LEAST_BOUND:
        return 0.0
    power = 10.0 ** math.floor(math.log10(wide))
    if number < 0:
        return -float(
            f"{next((nice * power for nice in reversed(_NICE) if nice * power <= wide), power / 2):g}"
        )
    return float(f"{next((nice * power for nice in _NICE if nice * power >= wide), 20 * power):g}")


def _missing_when(
    labels: Mapping[str, Labels], numbers: Mapping[str, Numbers], roots: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Numbers that are missing for some categories of another column, and there only."""
    for name, found in numbers.items():
        empty = np.isnan(found)
        if not 0.01 <= empty.mean() <= 0.99:
            continue
        for other, one in labels.items():
            if not 1 < len(one.values) <= _COMBINED_VALUES_MOST or _of_one_root((name, other), roots):
                continue
            share = np.bincount(one.codes, empty, len(one.values)) / np.maximum(one.counts, 1)
            always = share >= SHARE_KEEPING
            if always.any() and (empty & ~always[one.codes]).sum() <= (1 - SHARE_KEEPING) * empty.sum():
                listed = [one.values[k] for k in np.flatnonzero(always)]
                yield {"null": name, "when": {other: listed}, "only": True}


def _at_most(numbers: Mapping[str, Numbers]) -> Iterator[dict[str, Any]]:
    """Pairs of which the one is never above the other, though in other rows it would be."""
    shuffle = np.random.default_rng(_RNG_SEED).permutation
    found = []
    for name, other in permutations(numbers, 2):
        low, high = numbers[name], numbers[other]
        both = ~(np.isnan(low) | np.isnan(high))
        low, high = low[both], high[both]
        if len(low) < LEAST_ROWS or np.array_equal(low, high):
            continue
        kept, by_chance = (low <= high).mean(), (low <= shuffle(high)).mean()
        if kept >= SHARE_KEEPING and by_chance <= 0.9:
            found.append((by_chance, name, other))
    for _, name, other in sorted(found)[:_MOST_RULES]:
        yield {"at_most": [name, other]}


def _totals(kind: type[Sum], numbers: Mapping[str, Numbers], domain: Domain) -> Iterator[Sum]:
    """Columns that are the sum or the product of two others, this rounded."""
    numbers = dict(islice(numbers.items(), _MOST_SUMMED))
    heads = {name: found[:_HEAD] for name, found in numbers.items()}
    for first, second in combinations(numbers, 2):
        parts = kind.of_parts(np.stack([heads[first], heads[second]]))
        for total in numbers:
            far = np.abs(parts - heads[total])
            known = ~np.isnan(far)
            # A product may be rounded to a whole number.
            near = far[known] <= 0.5 + 1e-9 * np.abs(parts[known])
            if total in (first, second) or not near.size or near.mean() < 0.9:
                continue
            rule = kind(total, (first, second))
            columns = np.stack([numbers[name] for name in rule.columns])
            columns = columns[:, ~np.isnan(columns).any(axis=0)]
            if columns.shape[1] < LEAST_ROWS or np.ptp(columns, axis=1).min() == 0:
                continue
            kept = ~rule.broken(dict(zip(rule.columns, columns, strict=True)), domain)
            if kept.mean() >= SHARE_KEEPING and (columns[1:] != 0).mean(axis=1).min() >= 0.01:
                yield rule


def _one_of_each(rules: Sequence[Computing]) -> list[Computing]:
    """The first rule that computes each column, without those that compute one from itself."""
    kept: list[Computing] = []
    for rule in rules:
        with suppress(DataError):
            in_order([*kept, rule])
            kept.append(rule)
    return kept
