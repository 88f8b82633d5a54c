"""What the first step learned of each column, as attributes: how cells are read, and what is released."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, Category
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import BinnedTimes, DateAttribute
from ...common.data.attributes.granularity import Granularity
from ...common.data.attributes.moments import Moments
from ...common.data.attributes.numeric import FINE_BINS, MOST_SINGLE, NumericAttribute
from ...common.data.binning.lattice import Lattice
from ...common.data.binning.rhythm import Rhythm
from ...common.data.binning.rounded import Rounded
from ...common.data.binning.scale import Scale
from ...common.data.values import NOT_AVAILABLE, text_of
from ...common.forms.date_formats import short
from ...common.forms.date_lists import OFFSET
from ...common.forms.notation import LARGEST_WHOLE, PLAIN, Notation
from ...common.measurement import Measurement
from ...party.drafting.texts import TRUE_FALSE, natural
from .kind import Numbers, Times
from .ranges import Range

OTHER = "other"
"""The category of texts that too few rows have."""

_ISO_8601 = (
    *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"),
    *(f"%Y-%m-%dT%H:%M:%S{fraction}{OFFSET}" for fraction in ("", ".%f")),
)
"""Formats of times that are written so without naming it."""

BLANKS = tuple(text for text in NOT_AVAILABLE if text)
"""Texts that stand for a missing value where they are not listed."""


@dataclass(frozen=True)
class Column:
    """A column that is released.

    Every cell has a code: what a released column cannot hold is missing or `OTHER` while it is read. Where
    noisy counts tell neither from none, their few rows count as the most frequent value.

    Attributes:
        reading: how its cells are read; of numbers and dates with open bins.
        missing: whether a value can be missing in the released column.
        usual: places of categories among which cells of a left-out code are counted; of numbers None.
        unlisted: so many records at most have values that are not listed, and count as that one.
        merged: so many records, about, have texts that are not listed, and count as `OTHER`.
        counted: noisy counts of the codes of the released column, if there are some.
        signed: whether numbers of both signs are seen for sure.
        masses: numbers that many rows share, with noisy counts of these.
    """

    reading: Attribute
    missing: bool
    released: Attribute | None = None
    usual: int = 0
    unlisted: float = 0.0
    merged: float = 0.0
    counted: Measurement | None = None
    signed: bool = False
    masses: Mapping[float, float] = field(default_factory=dict)

    def finish(self, read: Attribute, missing: bool, usual: int) -> tuple[Attribute, NDArray[np.int64]]:
        """The attribute of the released column, and the code in it of each code that was read.

        Args:
            read: how cells were read, with chosen bins.
            missing: whether a value can be missing.
            usual: code as which missing values count otherwise.
        """
        if isinstance(read, CategoricalAttribute):
            assert self.released is not None
            return self.released, _codes_of_categories(read, self.released, self.usual)
        if missing:
            return _plain(read, True), np.arange(read.size)
        return _plain(read, False), np.append(np.arange(read.size - 1), usual)


def numbers(
    name: str,
    kind: Numbers,
    unit: float | None,
    found: Range,
    atoms: Sequence[float],
    texts: Sequence[str] = (),
    rounded: tuple[Rounded, ...] = (),
) -> Attribute:
    """How a column of numbers is read.

    Args:
        name: of the column.
        kind: how its numbers are written.
        unit: they are multiples of it, as far as floats can tell; None for any.
        found: where they are.
        atoms: values with a mass of their own, increasing.
        texts: those that stand beside the numbers.
        rounded: how round the numbers are, by their size.
    """
    low, high = found.low, found.high
    largest, notation = max(abs(low), abs(high)), Notation(kind.notation)
    if unit is not None and largest > LARGEST_WHOLE * unit:
        (unit, notation), rounded = _coarser(unit, largest, notation), ()
    if notation.exponent and kind.decimals is not None:
        notation = notation.with_decimals(kind.decimals)
        if notation.magnitudes and not kind.padded and kind.decimals:
            notation = notation.without_zeros()
    whole = unit is not None and float(unit).is_integer() and largest <= LARGEST_WHOLE
    if (
        kind.padded
        and not notation.exponent
        and unit is not None
        and Lattice(10.0 ** -(kind.decimals or 0)).holds(np.array(atoms)).all()
    ):
        notation = notation.with_decimals(kind.decimals or 0)
    if kind.bare and not whole and notation == PLAIN:
        notation = Notation("{:g}")
    if low >= high and not whole:
        high = low + (unit or max(abs(low), 1.0) * 2.0**-20)
    scale = Scale.SYMLOG if found.is_skewed else Scale.LINEAR
    if low < 0 < high:
        low, high = _with_border_at_zero(low, high, scale, unit)
    found_numbers = NumericAttribute(
        *(name, low, high, None, True, whole),
        atoms=tuple(atoms),
        scale=scale,
        multiple_of=unit,
        rounded=rounded,
        unreadable="missing",
        format=notation,
    )
    return replace(found_numbers, texts=found_numbers.foreign(texts))


def _coarser(unit: float, largest: float, notation: Notation) -> tuple[float | None, Notation]:
    """For whole numbers that floats cannot tell apart, a power of ten of which they can, and no exponents.

    Its halves are told apart too. Of fractions there is none: these are written as floats are.
    """
    if not float(unit).is_integer():
        return None, notation
    return 10.0 ** math.ceil(math.log10(8 * largest / LARGEST_WHOLE)), notation.with_decimals(0)


def _with_border_at_zero(low: float, high: float, scale: Scale, unit: float | None) -> tuple[float, float]:
    """Ends on both sides of zero a little farther out, so that no bin has numbers of both signs.

    Of multiples of a unit zero is with the positive ones.
    """
    if unit is not None and scale is Scale.LINEAR and (high - low) / unit < MOST_SINGLE:
        # Each has a bin of its own.
        return low, high
    below, above = (abs(place) for place in scale.of(np.array([low, high])))
    negative = min(max(1, math.ceil(FINE_BINS * below / (below + above))), FINE_BINS - 1)
    positive = FINE_BINS - negative
    if unit is not None and scale is Scale.LINEAR:
        width = math.ceil(max(-low / negative, (high + unit) / positive) / unit)
        # The cell of a whole number ends at the next one.
        low, high = Lattice(unit).values(np.array([-width * negative, width * positive - (unit == 1)]))
        return float(low), float(high)
    # Of few binary digits, so that rounding leaves the border where it is.
    width = float(np.float32(1.0001 * max(below / negative, above / positive)))
    ends = scale.numbers(np.array([-width * negative, width * positive]))
    low, high = ends if unit is None else Lattice(unit).values(Lattice(unit).nearest(ends))
    return float(low), float(high)


def times(
    name: str,
    kind: Times,
    granularity: Granularity,
    found: Range,
    atoms: Sequence[float],
    timezone: str,
    *,
    clock: Clock | None,
    declared: bool,
    rhythm: Rhythm | None = None,
    texts: Sequence[str] = (),
) -> Attribute:
    """How a column of dates or timestamps is read.

    Args:
        name: of the column.
        kind: their format.
        granularity: the unit of which they are whole numbers.
        found: where they are, in units since 1970.
        atoms: units with a mass of their own, increasing; they may lie elsewhere.
        timezone: of instants; empty if they are local times.
        clock: what they are if they have no date.
        declared: whether the column has a type of times, so that they are no texts.
        rhythm: when in a week and in a day they are.
        texts: those that stand beside the times.
    """
    iso = declared or kind.format in _ISO_8601
    moments = clock or Moments(
        kind.timed,
        granularity,
        "" if iso else short(kind.format, kind.detail),
        timezone,
        kind.months,
        kind.days,
        kind.also,
    )
    moments = replace(moments, rhythm=rhythm)
    units = NumericAttribute(
        name,
        found.low,
        found.high,
        *(None, True, True),
        atoms=tuple(atoms),
        unreadable="missing",
    )
    plain = DateAttribute(name, units, moments)
    return replace(plain, units=replace(units, texts=plain.foreign(texts)))


def categories(
    name: str,
    found: Sequence[str],
    counts: NDArray[np.float64],
    missing: bool,
    other: bool,
    prefixes: bool = False,
    nearest: bool = False,
) -> Column:
    """A column of the texts that were found.

    Args:
        name: of the column.
        found: the texts, each once.
        counts: noisy number of rows of each, shape (found,).
        missing: whether a value can be missing.
        other: whether others occur.
        prefixes: whether others count as the longest of them that they begin with.
        nearest: whether others of several numbers count as the nearest of them.
    """
    listed = tuple(sorted(found, key=natural))
    other = other or not listed
    plain = tuple(text for text in listed if text != OTHER)
    reading = CategoricalAttribute(
        *(name, ("", *plain, OTHER)),
        other=OTHER,
        prefixes=prefixes,
        nearest=nearest,
        missing=not_listed(BLANKS, listed),
    )
    usual = found[int(np.argmax(counts))] if len(found) else OTHER
    spelled = _true_and_false(listed)
    kept = (*plain, OTHER) if other or OTHER in listed else plain
    released: Attribute
    if spelled is not None and not other:
        true, false = spelled
        released = BooleanAttribute(name, missing, (false,), (true,))
    else:
        released = CategoricalAttribute(
            name,
            ("", *kept) if missing else kept,
            other=OTHER if OTHER in kept else None,
            prefixes=prefixes,
            nearest=nearest,
        )
    return Column(reading, missing, released, ("", *plain, OTHER).index(usual))


def not_listed(texts: Sequence[str], listed: Collection[str]) -> tuple[str, ...]:
    """Those of some texts that are not listed."""
    return tuple(text for text in texts if text not in listed)


def trim_bins(
    attribute: Attribute, first: int, stop: int, atoms: Sequence[float]
) -> tuple[Attribute, NDArray[np.int64]]:
    """Numbers or dates without the outer bins, whose records count in the nearest bin.

    Args:
        attribute: with chosen bins and a missing value.
        first: the first code that is kept; atoms are kept anyway.
        stop: the one after the last.
        atoms: values that keep codes of their own.

    Returns:
        The attribute, and the code in it of each code.
    """
    if isinstance(attribute, BinnedTimes):
        units, codes = trim_bins(attribute.units, first, stop, atoms)
        assert isinstance(units, NumericAttribute)
        return replace(attribute, units=units), codes
    assert isinstance(attribute, NumericAttribute)
    cells = attribute.cells
    if (first, stop) == (0, len(cells)):
        return attribute, np.arange(attribute.size)
    single = np.isin(cells[:, 0], atoms)
    kept = [k for k in range(first, stop) if not single[k]] or [first]
    # The cell after an atom begins at the next float.
    starts = [float(cells[k - 1, 0] if k and single[k - 1] else cells[k, 0]) for k in kept]
    beyond = float(cells[kept[-1], 1])
    last = beyond if attribute.unit is None else _multiple(beyond - attribute.unit, attribute.unit)
    known = tuple(atoms)
    if len(starts) == 1 and last <= starts[0]:
        # Bounds of fractions differ; between these there is no other multiple.
        half = None if attribute.unit is None else attribute.unit / 2
        last = starts[0] if attribute.integer else beyond if half is None else starts[0] + half
        edges: tuple[float, ...] = ()
    elif last <= starts[-1]:
        # A last bin of one number has no edges of its own.
        edges, last = tuple(starts), starts[-1]
        known = tuple(sorted({*known, last}))
    else:
        edges = (*starts, last)
    fewer = replace(
        attribute,
        minimum=starts[0],
        maximum=last,
        bins=max(1, len(edges) - 1),
        edges=edges if len(edges) > 2 else (),
        atoms=known,
    )
    within = np.where(single, cells[:, 0], np.clip(cells[:, 0], fewer.minimum, fewer.maximum))
    codes = np.searchsorted(fewer.cells[:, 0], within, side="right") - 1
    return fewer, np.append(codes, len(fewer.cells) + np.arange(attribute.others)).astype(np.int64)


def _multiple(number: float, unit: float) -> float:
    """The multiple of a unit next to a number."""
    return float(Lattice(unit).snap(np.array([number]))[0])


def listed_numbers(
    name: str,
    found: Sequence[float],
    usual: int,
    missing: bool,
    texts: Sequence[str] = (),
    *,
    bare: bool = False,
) -> Column:
    """A column of few numbers, and perhaps of some texts.

    Args:
        name: of the column.
        found: the numbers, increasing.
        usual: place of the one as which other cells count; -1 for missing values.
        missing: whether a value can be missing.
        texts: those that stand beside the numbers.
        bare: whether whole numbers have no point.
    """
    listed: tuple[Category, ...] = _values(found, bare)
    other = OTHER if OTHER not in texts else f"({OTHER})"
    reading = CategoricalAttribute(name, ("", *listed, *texts, other), other=other, missing=BLANKS)
    if texts:
        # Numbers among texts are written as they stand: no column of numbers gives them a type.
        listed = (*(text_of(number) if bare else str(float(number)) for number in found), *texts)
    released = CategoricalAttribute(name, ("", *listed) if missing else listed)
    return Column(reading, missing, released, 1 + usual)


def _values(found: Sequence[float], bare: bool) -> tuple[float, ...]:
    """Numbers, whole ones as such if all are, or if they are written so."""
    whole = bare or all(float(number).is_integer() for number in found)
    return tuple(int(number) if whole and float(number).is_integer() else number for number in found)


def _codes_of_categories(read: CategoricalAttribute, released: Attribute, usual: int) -> NDArray[np.int64]:
    """The code of each category that was read; of those that are not released, the code of the usual one."""
    known: dict[str, int]
    if isinstance(released, BooleanAttribute):
        known = {str(released.false[0]): 0, str(released.true[0]): 1}
        if released.nullable:
            known[""] = 2
    else:
        assert isinstance(released, CategoricalAttribute)
        known = {text_of(category): code for code, category in enumerate(released.categories)}
    known = {text.removesuffix(".0"): code for text, code in known.items()} | known
    texts = list(map(text_of, read.categories))
    instead = known[texts[usual]]
    return np.array([known.get(text, instead) for text in texts], dtype=np.int64)


def _true_and_false(found: Sequence[str]) -> tuple[str, str] | None:
    """The words for true and false, if these two were found and no others."""
    spelled = {text.casefold(): text for text in found}
    if len(found) != 2 or len(spelled) != 2:
        return None
    for true, false in TRUE_FALSE:
        if set(spelled) == {true, false}:
            return spelled[true], spelled[false]
    return None


def _plain(attribute: Attribute, missing: bool) -> Attribute:
    """A released column of numbers or dates."""
    match attribute:
        case BinnedTimes():
            return replace(attribute, units=_plain_numbers(attribute.units, missing))
        case NumericAttribute():
            return _plain_numbers(attribute, missing)
    raise ValueError("expected numbers or dates")


def _plain_numbers(attribute: NumericAttribute, missing: bool) -> NumericAttribute:
    one = attribute.multiple_of == 1 and attribute.integer
    return replace(
        attribute,
        nullable=missing,
        unreadable="missing" if missing else "error",
        multiple_of=None if one else attribute.multiple_of,
    )
