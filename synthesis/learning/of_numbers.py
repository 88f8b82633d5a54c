"""Learns columns of numbers: their rounding, and where they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.numeric import MOST_SINGLE
from ...common.data.attributes.unmodelled import Identifier
from ...common.data.binning.lattice import Lattice
from ...common.data.binning.rounded import (
    SIZES,
    Rounded,
    are_rounder,
    count_round,
    places_of,
    roundness_of,
    units_of,
)
from ...common.data.view import View
from ...common.forms.notation import Notation
from ...common.measurement import Measurement
from ...party.drafting.texts import NAMED
from .asking import PRESENT, SURE_UNSEEN, ZOOMS, Asking
from .columns import Column, listed_numbers, numbers
from .few_numbers import few_numbers, may_be_few
from .frequent_texts import frequent_beside
from .kind import Numbers
from .kinds import Vote
from .private_counts import Noisy
from .ranges import FARTHEST, Range, Ruler

ROUNDING_SHARE, MAGNITUDES, CLOSER, DIFFERENT_NUMBERS, MASSES = 0.08, 0.25, 0.12, 0.02, 0.2
"""Shares of a column for its rounding, a grid over all magnitudes, one around the records, the number of
different values, and values with a mass of their own."""

BY_SIZE = 0.06
"""Share of a column for its rounding by size, where its rounding is not what chance makes of one unit."""

REST = ZOOMS * CLOSER + MASSES
"""Share for closer grids and values with a mass, or for counts of few numbers, which have neither."""

_DIVISORS = (1000, 500, 250, 100, 50, 25, 20, 10, 5, 2, 1)
"""Whole numbers of units are counted by the first of these that divides them; zero by none."""

_SEEN_BY_SIZE = 20
"""Sizes whose records exceed so many deviations of noise say how round their numbers are."""

_LEARNED_ATOMS = 32
"""At most so many values have a mass of their own."""

_ANY_DECIMALS = 2
"""Of numbers with any decimals those of at most two are told apart."""

_NO_REST = 0.01
"""Values beside those with a mass are taken to be none if they are less than this share of the numbers."""

_ZERO = 0.02
"""Zeros have a mass of their own if they are more than this share of the numbers."""

_NUMBERS_A_ROW = 4.0
"""Different whole numbers name the rows if they lie in a range of so many numbers for each row."""

_ALL = 0.97
"""Share of the rows whose values differ, where they name the rows."""

_KEY_DIGITS = 7
"""So many digits with zeros in front are keys if they all differ; fewer may be postal codes."""

_CALENDAR = (1000.0, 2500.0)
"""Numbers between these may be years of a series, which are no names of its rows."""


def learned_numbers(
    asking: Asking, kinds: Mapping[str, Numbers], votes: Mapping[str, Vote], delta: float
) -> dict[str, Column | Identifier | None]:
    """The columns of numbers.

    Args:
        asking: the means.
        kinds: name -> how its numbers are written.
        votes: what cells voted for.
        delta: with which a value of one row of a column may be found.

    Returns:
        For each column how it is released; None if too few records were seen anywhere.
    """
    values = {name: partial(asking.cells.numbers, name, kind) for name, kind in kinds.items()}
    asked = {name: partial(_count_by_rounding, values[name], kind) for name, kind in kinds.items()}
    rounding = asking.counts.histograms("rounding", asked, ROUNDING_SHARE * asking.share)
    units = {name: _unit(kind, rounding[name]) for name, kind in kinds.items()}
    rulers = {name: Ruler.of_all(unit) for name, unit in units.items()}
    found = asking.ranges("range", values, rulers, votes, MAGNITUDES, CLOSER)
    found |= {
        name: found[name].within(0.0, 10.0**width - 1)
        for name, kind in kinds.items()
        if (width := _width_of(kind))
    }
    naming = _identifiers(asking, kinds, units, found, votes)
    # What is listed is written as a number, which is not how others are written.
    plain = {name for name, kind in kinds.items() if kind.notation == "{}" and not kind.padded}
    single = {
        name: unit
        for name, unit in units.items()
        if unit is not None and name in plain - naming and may_be_few(found[name], unit)
    }
    missing = {name: vote.missing > 0 for name, vote in votes.items()}
    # Of a column of texts and masses each has a half.
    each = {name: delta / (2 if vote.others else 1) for name, vote in votes.items()}

    def texts(name: str, cost: float) -> tuple[list[str], Noisy]:
        return frequent_beside(asking, name, kinds[name], cost, each[name])

    few = few_numbers(asking, values, single, found, votes, REST, texts)
    columns: dict[str, Column | Identifier | None] = {}
    for name, kind in kinds.items():
        if name in naming:
            width = _width_of(kind)
            columns[name] = Identifier(name, f"{{:0{width}d}}" if width else "{:d}")
        elif not found[name].certain:
            columns[name] = None
        elif name in few:
            one = few[name]
            listed = listed_numbers(name, one.numbers, one.usual, one.missing, one.texts, bare=kind.bare)
            sigma, cost = float(np.sqrt(np.mean(one.sigmas**2))), REST * asking.share
            counted = Measurement(View((name,)), one.counts, sigma, cost, sigmas=one.sigmas)
            columns[name] = replace(listed, unlisted=one.unlisted, counted=counted)
        else:
            others = votes[name].others > 0
            # Where grids around the records have taken theirs, texts and masses share one part.
            share = MASSES / (1 + (others and found[name].zoomed))
            beside = texts(name, share * asking.share)[0] if others else []
            masses = (
                {}
                if name in single
                else _masses(
                    asking, name, values[name], units[name], found[name], share, each[name], votes[name]
                )
            )
            shared, masses = masses, dict(sorted(masses.items(), key=lambda mass: -mass[1])[:_LEARNED_ATOMS])
            rest = votes[name].filled - sum(masses.values())
            if (
                masses
                and name in plain
                and rest < max(_NO_REST * votes[name].filled, PRESENT * votes[name].deviation)
            ):
                most = sorted(masses).index(max(masses, key=masses.__getitem__))
                most = -1 if missing[name] and votes[name].others else most
                unlisted = max(0.0, rest) + SURE_UNSEEN * votes[name].deviation
                listed = listed_numbers(name, sorted(masses), most, missing[name], beside, bare=kind.bare)
                columns[name] = replace(listed, unlisted=unlisted)
            else:
                atoms = sorted({*masses, *kind.codes})
                rounded = _roundness(
                    asking, name, values[name], kind, units[name], rounding[name], found[name]
                )
                reading = numbers(name, kind, units[name], found[name], atoms, beside, rounded)
                columns[name] = Column(reading, missing[name], signed=kind.signed, masses=shared)
    return columns


def _masses(
    asking: Asking,
    name: str,
    values: partial[NDArray[np.float64]],
    unit: float | None,
    found: Range,
    share: float,
    delta: float,
    vote: Vote,
) -> dict[float, float]:
    """The numbers that many rows share, and these rows, where not every number has a bin of its own."""
    if unit is not None and (found.high - found.low) / unit < MOST_SINGLE and not found.is_skewed:
        return {}
    zero = {0.0: found.zeros} if found.zeros > _ZERO * vote.filled else {}
    if found.fullest < asking.counts.findable(share * asking.share, delta):
        return zero
    known = values()
    known = known[np.abs(known) <= FARTHEST]
    # A few fractions may have been too few to be seen in votes on the unit.
    held = known if unit is None else known[Lattice(unit).holds(known)]
    numbers, rows = np.unique(held, return_counts=True)
    places, noisy = asking.counts.frequent("masses", name, lambda: rows, share * asking.share, delta)
    known = numbers[places] if unit is None else Lattice(unit).snap(numbers[places])
    return zero | dict(zip(known.tolist(), noisy.values.tolist(), strict=True))


def _count_by_rounding(values: partial[NDArray[np.float64]], kind: Numbers) -> NDArray[np.int64]:
    """The numbers of a column by their rounding: shape (divisors + 2,), then zeros, and what is no number."""
    found = values()
    numbers, rows = np.unique(found[~np.isnan(found)], return_counts=True)
    decimals = _decimals_counted(kind)
    with np.errstate(over="ignore"):
        whole = np.rint(numbers * 10.0**decimals)
    places = np.full(len(numbers), len(_DIVISORS) - 1)
    # Of numbers that may have more decimals, those that have are counted with what no divisor divides.
    exact = kind.decimals is not None or Lattice(10.0**-decimals).holds(numbers)
    left = np.flatnonzero((np.abs(whole) < 2.0**53) & exact)
    for place, divisor in enumerate(_DIVISORS[:-1]):
        divided = np.mod(whole[left], divisor) == 0
        places[left[divided]] = place
        left = left[~divided]
    places[numbers == 0] = len(_DIVISORS)
    counts = np.bincount(places, rows, len(_DIVISORS) + 2).astype(np.int64)
    counts[-1] = len(found) - rows.sum()
    return counts


def _decimals_counted(kind: Numbers) -> int:
    """With how many decimals numbers are counted by their rounding."""
    return _ANY_DECIMALS if kind.decimals is None else kind.decimals


def _roundness(
    asking: Asking,
    name: str,
    values: partial[NDArray[np.float64]],
    kind: Numbers,
    unit: float | None,
    rounding: Noisy,
    found: Range,
) -> tuple[Rounded, ...]:
    """How round numbers are by their size: asked where more are round than chance makes of multiples."""
    lattice = None if unit is None else Lattice(unit)
    known = Notation(kind.notation)
    if known.magnitudes or known.exponent:
        return ()
    chain = [divisor / 10 ** _decimals_counted(kind) for divisor in _DIVISORS]
    usual = units_of(np.array([chain[0]]), lattice)
    usual = tuple(one for one in usual if one > chain[-1] or kind.decimals is not None)
    seen = np.bincount(
        places_of(np.array(chain), usual), rounding.above_noise(PRESENT)[: len(chain)], len(usual) + 1
    ).astype(np.float64)
    if not seen.any() or not are_rounder(seen, usual, lattice):
        return ()
    units = units_of(np.array([found.low, found.high]), lattice)
    if not units:
        return ()

    def count() -> NDArray[np.int64]:
        numbers, rows = np.unique(values(), return_counts=True)
        return count_round(numbers, rows, units).astype(np.int64).ravel()

    noisy = asking.counts.histograms("rounding by size", {name: count}, BY_SIZE * asking.share)[name]
    counts = noisy.values.reshape(len(SIZES), -1)
    return roundness_of(counts, units, lattice, _SEEN_BY_SIZE * noisy.sigma, PRESENT * noisy.sigma)


def _width_of(kind: Numbers) -> int:
    """The digits of numbers with zeros in front; 0 if they have none there."""
    return Notation(kind.notation).width


def _unit(kind: Numbers, rounding: Noisy) -> float | None:
    """The number of which a column's numbers are multiples, as far as noisy counts tell."""
    known = Notation(kind.notation)
    if known.magnitudes:
        return 1.0
    if kind.decimals is None or known.exponent:
        return None
    seen = rounding.values[: len(_DIVISORS)] > PRESENT * rounding.sigma
    common = math.gcd(*(one for one, there in zip(_DIVISORS, seen, strict=True) if there)) or 1
    return float(round(common / 10**kind.decimals, kind.decimals))


def _identifiers(
    asking: Asking,
    kinds: Mapping[str, Numbers],
    units: Mapping[str, float | None],
    found: Mapping[str, Range],
    votes: Mapping[str, Vote],
) -> set[str]:
    """The columns whose whole numbers differ from row to row, in a dense range or under a name for keys.

    Many digits with zeros in front are keys too.
    """
    likely = [
        name
        for name, kind in kinds.items()
        if units[name] == 1 and (kind.notation == "{}" or _width_of(kind)) and not votes[name].missing
        if found[name].certain and found[name].high - found[name].low + 1 >= _ALL * asking.records
        if NAMED.search(name)
        or _width_of(kind) >= _KEY_DIGITS
        or (
            found[name].high - found[name].low <= _NUMBERS_A_ROW * asking.records
            and found[name].within(*_CALENDAR) != found[name]
        )
    ]
    noisy = asking.different_values(likely, DIFFERENT_NUMBERS)
    return {name for name, one in noisy.items() if one.values[0] + one.sigma >= _ALL * asking.records}
