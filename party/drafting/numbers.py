"""Drafts the entry of a column of numbers: bounds, scale, rounding, and values with a mass of their own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.numeric import AUTO
from ...common.data.binning.lattice import Lattice
from ...common.data.binning.rounded import count_round, roundness_of, units_of
from ...common.data.binning.scale import Scale
from ...common.forms.notation import LARGEST_WHOLE, PLAIN, Notation
from ...common.forms.spelling import POINTED
from .profile import Profile

_DRAFTED_ATOMS = 8
"""At most so many atoms are drafted."""

_DRAFTED_DECIMALS = 6
"""Rounding to more decimals than this is not drafted."""

_ROUNDED_ROWS = 200
"""So many rows of a size say how round its numbers are."""

_CODES = (-1, -9, -99, -999, -9999, 99, 999, 9999, 99999, 999999, 9999999, 99999999, 999999999)
"""Numbers that often stand for a value that is not known, or for the largest one."""

FAR = (
    "a few values lie far from all others, and are counted at the nearest bound; set min and max, or "
    '"outside": "missing"'
)

_EXACT_RANGE = 1000
"""Whole numbers in a range of at most this size have exact bounds if at least half of them occur."""

_BARE, _ZEROS = re.compile("[-+]?[0-9]+"), re.compile("[.]0*$")
"""Whole numbers without a point, and with one."""

_POINT_FIRST, _ZERO_FIRST = re.compile("[-+]?[.]"), re.compile("[-+]?0[.]")

_EXPONENT = re.compile(r"-?[0-9](?:[.](?P<decimals>[0-9]+))?(?P<exponent>[eE])[-+][0-9]{2,3}")

Values = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Different numbers, increasing, and the number of rows of each."""


def draft_number(profile: Profile) -> tuple[dict[str, Any], list[str]]:
    """Drafts the entry of a column of many different numbers.

    Args:
        profile: of the column.

    Returns:
        The entry, and remarks for the owner.
    """
    values = profile.values
    atoms = find_atoms(values)
    spread = _without(values, atoms)
    if len(spread[0]) < 2:
        atoms, spread = (), values
    low, high = likely_range(spread)
    remarks = []
    within = (spread[0] >= low) & (spread[0] <= high)
    if not within.all():
        remarks.append(FAR)
        spread = spread[0][within], spread[1][within]
    scale = find_scale(spread)
    whole = bool(np.all(values[0] == np.floor(values[0])) and np.abs(values[0]).max() <= LARGEST_WHOLE)
    written = Notation(fixed_decimals(profile))
    whole = whole and not written.exponent
    least, largest = float(spread[0][0]), float(spread[0][-1])
    span = largest - least + 1
    # Such as days of a month: there is no day 40.
    dense = whole and span <= min(_EXACT_RANGE, 2 * len(spread[0]))
    if dense:
        # A logarithm has no zero, which is a value of its own then.
        beside = least - 1 in atoms and (least > 1 or scale is not Scale.LOG)
        minimum = least - 1 if beside else least
        maximum = largest + 1 if largest + 1 in atoms else largest
    else:
        minimum, maximum = round_bounds(least, largest, scale, whole=whole)
        if width := Notation(profile.notation).width:
            minimum, maximum = max(minimum, 0.0), min(maximum, 10.0**width - 1)
    entry: dict[str, Any] = {
        "type": "numeric",
        "min": _short(minimum),
        "max": _short(maximum),
        "bins": AUTO,
        "nullable": profile.nullable,
        "integer": whole,
    }
    if scale is not Scale.LINEAR:
        entry["scale"] = scale.value
    if atoms:
        entry["atoms"] = [_short(atom) for atom in atoms]
    # Of numbers with exponents it is the digits before these that are rounded.
    if not written.exponent or written.magnitudes:
        entry |= _rounding(spread[0], whole)
        entry |= {} if written.magnitudes else _roundness(values, entry)
    if written != PLAIN:
        entry["format"] = written.pattern
    return entry, remarks


def fixed_decimals(profile: Profile) -> str:
    """How the numbers of a column are written, with a number of decimals if all its texts have the same.

    One decimal of a plain number is what is written anyway, or what other programs write of whole numbers.
    Whole ones beside fractions may have no point.
    """
    notation = Notation(profile.notation)
    if profile.kind != "VARCHAR" or not profile.distinct:
        return profile.notation
    texts = profile.texts.tolist()
    if notation.magnitudes:
        return _magnitudes(notation, texts).pattern
    if notation == PLAIN and any(map(_POINT_FIRST.match, texts)) and not any(map(_ZERO_FIRST.match, texts)):
        notation = Notation(POINTED)
    bare = sum(_BARE.fullmatch(text) is not None for text in texts)
    if notation == PLAIN and bare:
        return PLAIN.pattern if bare == len(texts) or any(map(_ZEROS.search, texts)) else "{:g}"
    read = [match for match in map(_EXPONENT.fullmatch, texts) if match]
    if notation.plain and len(read) == len(texts):
        most = max(len(match["decimals"] or "") for match in read)
        return Notation(f"{{:{read[0]['exponent']}}}").with_decimals(min(most, 9)).pattern
    mark = "," if notation.decimal_comma else "."
    written = re.compile(rf"[^{mark}eE]*[0-9]?[{mark}]([0-9]{{1,{_DRAFTED_DECIMALS}}})([^0-9{mark}eE].*)?")
    found = {match and match[1] for match in map(written.fullmatch, texts)}
    lengths = {len(decimals or "") for decimals in found}
    least = 2 if notation.plain else 1
    if (
        len(lengths) > 1
        or min(lengths) < least
        or not any((decimals or "").endswith("0") for decimals in found)
    ):
        return notation.pattern
    return notation.with_decimals(lengths.pop()).pattern


def find_atoms(values: Values) -> tuple[float, ...]:
    """The numbers with a mass of their own, increasing.

    Zero, the least and the largest number, and those that often stand for an unknown one, if they have five
    times the rows of the numbers next to them; other numbers only with a tenth of all rows.

    Args:
        values: different numbers, increasing, and the number of rows of each.
    """
    numbers, counts = values
    if len(numbers) < 10:
        return ()
    rows = counts.sum()
    beside = np.array([_median_beside(counts, place) for place in _candidates(values)])
    found = []
    for place, usual in zip(_candidates(values), beside, strict=True):
        special = numbers[place] == 0 or place in (0, len(numbers) - 1) or numbers[place] in _CODES
        share, mass = (0.002, 5) if special else (0.1, 20)
        if counts[place] >= max(10, share * rows, mass * usual):
            found.append((int(counts[place]), float(numbers[place])))
    return tuple(sorted(number for _, number in sorted(found)[-_DRAFTED_ATOMS:]))


def find_scale(values: Values) -> Scale:
    """The scale on which the numbers are least skewed: a logarithm only if they reach over two decades."""
    numbers, counts = values
    sizes = np.abs(numbers) if numbers[0] < 0 < numbers[-1] else numbers
    straight = abs(_skewness(sizes, counts))
    if straight < 1 or len(numbers) < 10:
        return Scale.LINEAR
    scale = Scale.LOG if numbers[0] > 0 else Scale.SYMLOG
    reach = np.abs(numbers[[0, -1]]).max() / max(np.abs(numbers[numbers != 0]).min(), 1e-300)
    bent = abs(_skewness(scale.of(sizes), counts))
    return scale if reach >= 100 and bent < straight / 1.5 else Scale.LINEAR


def round_bounds(least: float, largest: float, scale: Scale, *, whole: bool = False) -> tuple[float, float]:
    """Round numbers around a range: multiples of a part of its size, or one digit and zeros.

    Args:
        least: lower end of the range.
        largest: upper end.
        scale: of the numbers.
        whole: of whole numbers, the part is at most a tenth, so that few values are added that do not exist.
    """
    if scale is Scale.LOG:
        return _one_digit(least, down=True), _one_digit(largest, down=False)
    if scale is Scale.SYMLOG:
        return (
            -_one_digit(-least, down=False) if least < 0 else 0.0,
            _one_digit(largest, down=False) if largest > 0 else 0.0,
        )
    step = 10.0 ** math.floor(math.log10(max(largest - least, 1e-300)))
    if whole:
        step = max(part for part in (step / 10, step / 5, step / 2) if part <= (largest - least) / 10)
    low, high = math.floor(least / step) * step, math.ceil(largest / step) * step
    digits = max(0, -round(math.log10(step)))
    return round(low, digits), round(high, digits)


def _candidates(values: Values) -> list[int]:
    """Places of numbers that may be atoms."""
    numbers, counts = values
    named = np.flatnonzero(np.isin(numbers, (0, *_CODES)))
    frequent = np.flatnonzero(counts >= 0.1 * counts.sum())
    return sorted({0, len(numbers) - 1, *named.tolist(), *frequent.tolist()})


def _median_beside(counts: NDArray[np.int64], place: int) -> float:
    """The median number of rows of the ten numbers next to one."""
    first = max(0, min(place - 5, len(counts) - 11))
    around = np.delete(counts[first : first + 11], place - first)
    return float(np.median(around))


def _without(values: Values, atoms: tuple[float, ...]) -> Values:
    kept = ~np.isin(values[0], atoms)
    return values[0][kept], values[1][kept]


def likely_range(values: Values) -> tuple[float, float]:
    """The range of the numbers, without the few that lie far from all others even on a logarithmic scale."""
    numbers, counts = values
    places = Scale.SYMLOG.of(numbers)
    ends = [float(numbers[0]), float(numbers[-1])]
    low, middle, high = (numbers[_quantile(counts, level)] for level in (0.005, 0.5, 0.995))
    # On the line as on a logarithmic scale: a heavy tail is far out on one of them only.
    for end, near, where in ((0, low, 0), (1, high, -1)):
        reaches = (
            (abs(numbers[where] - near), abs(near - middle)),
            (
                abs(places[where] - float(Scale.SYMLOG.of(near))),
                abs(float(Scale.SYMLOG.of(near) - Scale.SYMLOG.of(middle))),
            ),
        )
        if all(beyond > 4 * within for beyond, within in reaches):
            reach = 2 * abs(near - middle)
            ends[end] = float(middle + reach if end else middle - reach)
    return ends[0], ends[1]


def _quantile(counts: NDArray[np.int64], level: float) -> int:
    """Place of a quantile among numbers with these numbers of rows."""
    return int(np.searchsorted(np.cumsum(counts), level * counts.sum()))


def _skewness(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    mean = np.average(numbers, weights=counts)
    off = numbers - mean
    variance = np.average(off**2, weights=counts)
    return float(np.average(off**3, weights=counts) / variance**1.5) if variance > 0 else 0.0


def _rounding(numbers: NDArray[np.float64], whole: bool) -> Mapping[str, Any]:
    """Of what the numbers are multiples, as `decimals` or `multiple_of`."""
    for decimals in range(_DRAFTED_DECIMALS + 1):
        units = np.round(numbers * 10.0**decimals)
        if np.abs(units).max() > LARGEST_WHOLE:
            return {}
        if np.array_equal(np.round(units / 10.0**decimals, decimals), numbers):
            common = int(np.gcd.reduce(units.astype(np.int64)))
            # A small common factor of long decimals is chance.
            if common > 1 and (decimals <= 2 or common >= 5):
                return {"multiple_of": _short(round(common / 10**decimals, decimals))}
            return {} if whole else {"decimals": decimals}
    return {}


def _roundness(values: Values, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """How round the numbers are beyond what all are, as `rounded`."""
    unit = entry.get("multiple_of") or (10.0 ** -entry["decimals"] if "decimals" in entry else None)
    unit = unit or (1.0 if entry["integer"] else None)
    lattice = None if unit is None else Lattice(unit)
    units = units_of(values[0], lattice)
    found = roundness_of(count_round(*values, units), units, lattice, _ROUNDED_ROWS)
    return {"rounded": [one.to_json() for one in found]} if found else {}


def _one_digit(number: float, *, down: bool) -> float:
    """The next number of one digit and zeros."""
    power = math.floor(math.log10(number))
    # The slack keeps a number that is one already, whose quotient may be off by its rounding.
    digit = math.floor(number / 10.0**power + 1e-9) if down else math.ceil(number / 10.0**power - 1e-9)
    return round(digit * 10.0**power, max(0, -power))


def _short(number: float) -> int | float:
    return int(number) if float(number).is_integer() and abs(number) <= LARGEST_WHOLE else float(number)


def _magnitudes(notation: Notation, texts: Sequence[str]) -> Notation:
    """The notation of thousands and so on with the decimals of some texts."""
    found = [re.search("[.]([0-9]+)[^0-9]*$", text) for text in texts]
    lengths = {0 if one is None else len(one[1]) for one in found}
    fixed = notation.with_decimals(min(max(lengths), _DRAFTED_DECIMALS))
    return fixed if len(lengths) == 1 else fixed.without_zeros()
