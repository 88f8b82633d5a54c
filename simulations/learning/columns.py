"""What the first step learned of each column, as attributes: how cells are read, and what is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...common.data.attribute import Attribute
from ...common.data.boolean import BooleanAttribute
from ...common.data.categorical import CategoricalAttribute
from ...common.data.dates import DateAttribute
from ...common.data.lattice import Lattice
from ...common.data.moments import Granularity, Moments
from ...common.data.numeric import NumericAttribute
from ...common.data.scale import Scale
from ...common.data.unmodelled import Dropped, Identifier, Unmodelled
from ...common.data.values import LARGEST_WHOLE, Notation
from ...party.sources.inference import NOT_AVAILABLE
from ...party.sources.texts import TRUE_FALSE, natural
from .kinds import Numbers, Times
from .ranges import Range

OTHER = "other"
"""The category of texts that too few rows have."""

_BLANKS = tuple(text for text in NOT_AVAILABLE if text)


@dataclass(frozen=True)
class Column:
    """A column that is released.

    Every cell has a code: what a released column cannot hold is missing or `OTHER` while it is read. Where
    noisy counts tell neither from none, their few rows count as the most frequent value.

    Attributes:
        reading: how its cells are read; of numbers and dates with open bins.
        missing: whether a value can be missing in the released column.
        usual: places of categories among which cells of a left-out code are counted; of numbers None.
    """

    reading: Attribute
    missing: bool
    released: Attribute | None = None
    usual: int = 0

    def finished(self, read: Attribute, missing: bool, usual: int) -> tuple[Attribute, NDArray[np.int64]]:
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
    name: str, kind: Numbers, unit: float | None, found: Range, zero: bool, skewed: bool
) -> Attribute:
    """How a column of numbers is read.

    Args:
        name: of the column.
        kind: how its numbers are written.
        unit: they are multiples of it, as far as floats can tell; None for any.
        found: where they are.
        zero: whether zero has a mass of its own.
        skewed: whether bins are of equal width on a logarithmic scale.
    """
    low, high = found.low, found.high
    if unit is not None and max(abs(low), abs(high)) > LARGEST_WHOLE * unit:
        unit = None
    whole = unit is not None and float(unit).is_integer()
    if low >= high and not whole:
        high = low + (unit or max(abs(low), 1.0) * 2.0**-20)
    return NumericAttribute(
        name,
        low,
        high,
        None,
        True,
        whole,
        atoms=(0.0,) if zero else (),
        scale=Scale.SYMLOG if skewed else Scale.LINEAR,
        multiple_of=unit,
        unreadable="missing",
        format=Notation(kind.notation),
        missing=_BLANKS,
    )


def times(
    name: str, kind: Times, granularity: Granularity, found: Range, timezone: str, declared: bool
) -> Attribute:
    """How a column of dates or timestamps is read.

    Args:
        name: of the column.
        kind: their format.
        granularity: the unit of which they are whole numbers.
        found: where they are, in units since 1970.
        timezone: of instants; empty if they are local times.
        declared: whether the column has a type of times, so that they are no texts.
    """
    timezone = timezone or ("UTC" if kind.format.endswith("%z") else "")
    iso = declared or kind.format in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S") or kind.format.endswith("%z")
    moments = Moments(kind.timed, granularity, "" if iso else kind.format, timezone)
    units = NumericAttribute(
        name, found.low, found.high, None, True, True, unreadable="missing", missing=_BLANKS
    )
    return DateAttribute(name, units, moments)


def categories(
    name: str, found: Sequence[str], counts: NDArray[np.float64], missing: bool, other: bool
) -> Column:
    """A column of the texts that were found.

    Args:
        name: of the column.
        found: the texts, each once.
        counts: noisy number of rows of each, shape (found,).
        missing: whether a value can be missing.
        other: whether others occur.
    """
    listed = tuple(sorted(found, key=natural))
    other = other or not listed
    plain = tuple(text for text in listed if text != OTHER)
    reading = CategoricalAttribute(name, ("", *plain, OTHER), other=OTHER)
    usual = found[int(np.argmax(counts))] if len(found) else OTHER
    spelled = _true_and_false(listed)
    kept = (*plain, OTHER) if other or OTHER in listed else plain
    released: Attribute
    if spelled is not None and not other:
        true, false = spelled
        released = BooleanAttribute(name, missing, (false,), (true,))
    else:
        released = CategoricalAttribute(
            name, ("", *kept) if missing else kept, other=OTHER if OTHER in kept else None
        )
    return Column(reading, missing, released, ("", *plain, OTHER).index(usual))


def trimmed(attribute: Attribute, first: int, stop: int) -> tuple[Attribute, NDArray[np.int64]]:
    """Numbers or dates without the outer bins, whose records count in the nearest bin.

    Args:
        attribute: with chosen bins, missing values and no atoms of its own.
        first: the first bin that is kept.
        stop: the one after the last.

    Returns:
        The attribute, and the code in it of each code.
    """
    if isinstance(attribute, DateAttribute):
        units, codes = trimmed(attribute.units, first, stop)
        assert isinstance(units, NumericAttribute)
        return replace(attribute, units=units), codes
    assert isinstance(attribute, NumericAttribute)
    cells = attribute.cells
    codes = np.append(np.clip(np.arange(len(cells)), first, stop - 1) - first, stop - first)
    if (first, stop) == (0, len(cells)):
        return attribute, codes
    starts, beyond = cells[first:stop, 0].tolist(), float(cells[stop - 1, 1])
    last = beyond if attribute.unit is None else _multiple(beyond - attribute.unit, attribute.unit)
    if len(starts) == 1 and last <= starts[0]:
        last = starts[0] if attribute.integer else beyond
        return replace(attribute, minimum=starts[0], maximum=last, bins=1, edges=(), atoms=()), codes
    # A last bin of one number has no edges of its own.
    single = last <= starts[-1]
    edges = tuple(starts) if single else (*starts, last)
    kept = replace(
        attribute,
        minimum=edges[0],
        maximum=edges[-1],
        bins=len(edges) - 1,
        edges=edges,
        atoms=(edges[-1],) if single else (),
    )
    return kept, codes


def _multiple(number: float, unit: float) -> float:
    """The multiple of a unit next to a number."""
    return float(Lattice(unit).snapped(np.array([number]))[0])


def _codes_of_categories(read: CategoricalAttribute, released: Attribute, usual: int) -> NDArray[np.int64]:
    """The code of each category that was read; of those that are not released, the code of the usual one."""
    known: dict[str, int]
    if isinstance(released, BooleanAttribute):
        known = {str(released.false[0]): 0, str(released.true[0]): 1}
        if released.nullable:
            known[""] = 2
    else:
        assert isinstance(released, CategoricalAttribute)
        known = {str(text): code for code, text in enumerate(released.categories)}
    texts = [str(text) for text in read.categories]
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
        case DateAttribute():
            return replace(attribute, units=_plain(attribute.units, missing))
        case NumericAttribute():
            one = attribute.multiple_of == 1 and attribute.integer
            return replace(
                attribute,
                nullable=missing,
                unreadable="missing" if missing else "error",
                multiple_of=None if one else attribute.multiple_of,
            )
    raise ValueError("expected numbers or dates")


__all__ = ["OTHER", "Column", "Dropped", "Identifier", "Unmodelled", "categories", "numbers", "times"]
