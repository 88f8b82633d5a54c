"""Attributes of numbers: bins on a scale, atoms, and a missing value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...forms.notation import LARGEST_WHOLE, PLAIN, Notation
from ...later import np
from ..binning.cells import beside, bins_of_equal_width, cells_of, edges_without_bounds, runs_of_integers
from ..binning.lattice import Lattice
from ..binning.rhythm import Pace
from ..binning.rounded import Rounded, check_rounded
from ..binning.scale import Scale
from ..binning.spread import Spread
from ..values import RawColumn, compose, read_numbers, without_texts
from .attribute import Attribute, Reading, check_missing, check_name, check_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

AUTO = "auto"
"""In place of a number of bins: the release chooses them under differential privacy."""

FINE_BINS = 512
"""Number of bins of the fine grid from which a release chooses bins."""

MOST_SINGLE = 4096
"""Of so many values at equal distances, each has a bin of its own in the fine grid."""

LARGEST_BINS = 1 << 21
"""Such as seconds of 24 days, hours of 239 years: each takes a hundred bytes."""

OUTSIDE = ("clip", "error", "missing")
"""What becomes of a number outside the bounds."""

UNREADABLE = ("error", "missing")
"""What becomes of text that is no number, and of infinite numbers."""


@dataclass(frozen=True)
class NumericAttribute(Attribute):
    """A column of numbers, divided into bins and atoms.

    Codes are in the order of the values; listed texts have the next ones, and a missing value the last. Bins
    are closed below, and the last also above. Integer bins divide minimum..maximum into runs of integers of
    nearly equal length; others are of equal width on the scale, unless `edges` are given. An atom is a value
    with a code of its own; it divides the bin in which it lies.

    Attributes:
        name: name of the column.
        minimum: lower bound; None if it is unknown, and bins are chosen.
        maximum: upper bound, as `minimum`.
        bins: number of bins; None if the release chooses them: codes are those of a fine grid until then.
        nullable: whether there is a code for a missing value.
        integer: whether all values are whole; by default if each bin holds one integer, or bounds and
            `multiple_of` are whole.
        edges: edges of the bins; empty for bins of equal width.
        scale: scale on which bins are of equal width, and on which values are spread within bins.
        atoms: values with a code of their own, increasing; they may lie outside the bounds.
        multiple_of: values are multiples of this number; None for any.
        rounded: how round values are beyond that, by their size, increasing; empty if they are no rounder
            than by chance.
        among: values within bins are drawn among these, increasing, in every bin that holds one; empty for
            any.
        pace: how values lie within weeks and days, if they are units of time since 1970 (`DateAttribute`).
        outside: what becomes of a number outside the bounds that is no atom: one of `OUTSIDE`.
        unreadable: what becomes of text that is no number: one of `UNREADABLE`.
        format: how numbers are written in text; see `Notation`.
        texts: texts that may stand in place of a number, such as <5, each with a code of its own; then all
            values are texts.
        reviewed: false if the entry was read from private rows, and nobody has reviewed it.
        missing: see `Attribute`.
    """

    name: str
    minimum: float | None
    maximum: float | None
    bins: int | None
    nullable: bool = False
    integer: bool | None = None
    edges: tuple[float, ...] = field(default=(), kw_only=True)
    scale: Scale = field(default=Scale.LINEAR, kw_only=True)
    atoms: tuple[float, ...] = field(default=(), kw_only=True)
    multiple_of: float | None = field(default=None, kw_only=True)
    rounded: tuple[Rounded, ...] = field(default=(), kw_only=True)
    among: tuple[float, ...] = field(default=(), kw_only=True)
    pace: Pace | None = field(default=None, kw_only=True)
    outside: str = field(default="clip", kw_only=True)
    unreadable: str = field(default="error", kw_only=True)
    format: Notation = field(default=PLAIN, kw_only=True)
    texts: tuple[str, ...] = field(default=(), kw_only=True)
    reviewed: bool = field(default=True, kw_only=True)
    missing: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_missing(self.name, self.missing)
        self._check_texts()
        self._check_numbers()
        self._check_policies()
        if self.minimum is None or self.maximum is None:
            object.__setattr__(self, "integer", bool(self.integer))
            object.__setattr__(self, "scale", Scale.SYMLOG)
        else:
            self._check_bounds(self.minimum, self.maximum)
        if self.integer and not float(self.multiple_of or 1).is_integer():
            raise self._error("integers are multiples of a whole number; fix multiple_of or integer")
        if not np.all(np.diff(self.grid) > 0):
            raise self._error("bins too narrow for float64; declare fewer bins")
        self._check_decimals()
        if problem := check_rounded(self.rounded, self.lattice) or self._check_among():
            raise self._error(f"{problem}; fix the domain")
        if not len(self.cells):
            raise self._error("no multiple of multiple_of lies within the bounds; fix the domain")

    def _check_among(self) -> str:
        """What is wrong with the values among which values are drawn; empty if nothing is."""
        if not all(map(is_number, self.among)) or not np.all(np.diff(self.among) > 0):
            return "among lists numbers that increase"
        if self.lattice is not None and not self.lattice.holds(np.array(self.among)).all():
            return f"numbers of among are multiples of {self.lattice.unit:g}, as all values are"
        return ""

    def _check_numbers(self) -> None:
        bounds = tuple(bound for bound in (self.minimum, self.maximum) if bound is not None)
        if not all(is_number(bound) and abs(bound) < 1e300 for bound in (*bounds, *self.edges, *self.atoms)):
            raise self._error("expected numbers below 1e300 as min, max, edges and atoms; fix the domain")
        if len(bounds) == 1:
            raise self._error("expected both min and max, or none; fix the domain")
        if self.bins is not None:
            check_size(self.name, self.bins, "bins", LARGEST_BINS)
            if not bounds:
                raise self._error("bins need min and max; add them, or choose bins auto")
        if not np.all(np.diff(self.edges) > 0) or not np.all(np.diff(self.atoms) > 0):
            raise self._error("edges and atoms have to increase; fix the domain")
        if self.edges and (
            (self.minimum, self.maximum, self.bins) != (self.edges[0], self.edges[-1], len(self.edges) - 1)
        ):
            raise self._error("edges begin with min, end with max and are one more than bins; fix the domain")
        unit = self.multiple_of
        if unit is not None and not (is_number(unit) and 1e-15 <= unit <= 1e15):
            raise self._error("multiple_of is a number from 1e-15 to 1e15; fix the domain")
        if unit is not None and any(abs(bound) / unit > LARGEST_WHOLE for bound in (*bounds, *self.edges)):
            raise self._error("bounds too far apart for multiple_of and float64; fix the domain")

    def _check_texts(self) -> None:
        if not isinstance(self.texts, tuple) or not all(isinstance(text, str) for text in self.texts):
            raise self._error('texts is a list of texts beside the numbers, such as "<5"; fix the domain')
        if len({*map(compose, self.texts), *self.missing}) < len(self.texts) + len({*self.missing}):
            raise self._error("a text is listed twice among texts and missing; list it once")

    def foreign(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Those of some texts that are not read as numbers, or as missing."""
        _, unread = read_numbers(self.name, np.array(texts, dtype=object), self.format)
        return tuple(text for text, no_number in zip(texts, unread, strict=True) if no_number)

    def _check_policies(self) -> None:
        if not all(isinstance(flag, bool) for flag in (self.nullable, self.reviewed)) or not isinstance(
            self.integer, (bool, type(None))
        ):
            raise self._error("nullable, integer and reviewed are true or false; fix the domain")
        for key, policies in (("outside", OUTSIDE), ("unreadable", UNREADABLE)):
            policy = getattr(self, key)
            if policy not in policies or (policy == "missing" and not self.nullable):
                raise self._error(
                    f'{key} is one of {", ".join(policies)}, and missing needs "nullable": true; fix the '
                    "domain"
                )

    def _check_bounds(self, low: float, high: float) -> None:
        whole = all(float(bound).is_integer() and abs(bound) <= LARGEST_WHOLE for bound in (low, high))
        integers = int(high) - int(low) + 1
        if self.integer is None:
            single = not self.edges and self.bins == integers
            multiples = float(self.multiple_of or 0.5).is_integer()
            object.__setattr__(self, "integer", whole and (single or multiples))
        if self.integer and not (whole and 1 <= (self.bins or 1) <= integers):
            raise self._error(
                "integer bins need whole bounds up to 2^53, min <= max, and no more bins than integers; got "
                f"min {low}, max {high}, {self.bins} bins"
            )
        if self.integer and not all(float(value).is_integer() for value in (*self.edges, *self.atoms)):
            raise self._error("edges and atoms of integers are whole numbers; fix the domain")
        if not self.integer and low >= high:
            raise self._error(f"expected min below max, got min {low}, max {high}")
        if self.scale is Scale.LOG and low <= 0:
            raise self._error(
                "the scale log needs a positive min; declare zero as an atom, or choose the scale symlog"
            )

    def _check_decimals(self) -> None:
        decimals = self.format.decimals
        if decimals is None or self.format.exponent:
            return
        atoms = np.array(self.atoms, dtype=np.float64)
        held = self.lattice is not None and self.lattice.has_decimals(decimals)
        if not held or not np.all(Lattice(10.0**-decimals).holds(atoms)):
            raise self._error(
                f"its format has {decimals} decimals, and its values may have more; add decimals or "
                "multiple_of, or leave them out of the format"
            )

    def _error(self, problem: str) -> DataError:
        return DataError(f"attribute {self.name!r}: {problem}")

    @property
    def size(self) -> int:
        """The number of bins and atoms, and of texts, plus one for a missing value if nullable."""
        return len(self.cells) + self.others

    @property
    def others(self) -> int:
        """The number of codes after those of numbers: of texts, and of a missing value."""
        return len(self.texts) + int(self.nullable)

    @property
    def text_codes(self) -> range:
        """The codes of the texts."""
        return range(len(self.cells), len(self.cells) + len(self.texts))

    @property
    def values_named(self) -> str:
        """What it holds, for messages."""
        return f"a number or one of {', '.join(map(repr, self.texts))}" if self.texts else "a number"

    @property
    def open(self) -> bool:
        """Whether a release has to choose bins before it can measure pairs."""
        return self.bins is None

    @property
    def unit(self) -> float | None:
        """The values are multiples of this; None for any numbers."""
        return 1.0 if self.integer and self.multiple_of is None else self.multiple_of

    @cached_property
    def lattice(self) -> Lattice | None:
        """The values are its multiples; None for any numbers."""
        return None if self.unit is None else Lattice(self.unit)

    def numbers(self, values: RawColumn) -> NDArray[np.float64]:
        """Raw values as numbers, shape (N,); NaN where one is missing or cannot be read."""
        return self._read(values)[0]

    def read(self, values: RawColumn) -> Reading:
        """The bin or atom of each number, the code of each text; the last code for a missing value."""
        return self.reading_of(*self._read(values))

    def reading_of(
        self, numbers: NDArray[np.float64], unreadable: NDArray[np.bool_], listed: NDArray[np.int64]
    ) -> Reading:
        """The codes of numbers and texts that were read.

        Args:
            numbers: NaN where there is none, shape (N,).
            unreadable: where text stands that is no number, shape (N,).
            listed: the place of a listed text; negative where none stands, shape (N,).
        """
        written = listed >= 0
        finite = np.isfinite(numbers)
        outside = finite & self._outside(numbers)
        found = {
            "unreadable": (self.unreadable, unreadable),
            "infinite": (self.unreadable, np.isinf(numbers)),
            "outside": (self.outside, outside),
            "fraction": (self.unreadable, finite & self._fractions(numbers)),
            "empty": ("" if self.nullable else "error", np.isnan(numbers) & ~unreadable & ~written),
        }
        blank = [rows for policy, rows in found.values() if policy == "missing"]
        counted = {
            "missing": found["empty"][1] & self.nullable,
            "clipped": outside & (self.outside == "clip"),
            "blanked": np.logical_or.reduce(blank) if blank else np.zeros(len(numbers), dtype=np.bool_),
        }
        if self.multiple_of is not None:
            off = finite & ~Lattice(self.multiple_of).holds(numbers)
            counted["rounded"] = off & ~outside & ~np.isin(numbers, self.atoms)
        starts = self.cells[:, 0]
        codes = np.searchsorted(starts[1:], np.where(outside, self._clip(numbers), numbers), "right")
        codes[~finite | counted["blanked"]] = self.size - 1
        codes[written] = len(starts) + listed[written]
        refused = {key: (rows, _REASONS[key]) for key, (policy, rows) in found.items() if policy == "error"}
        return Reading(codes.astype(np.int64), counted, refused)

    def within(self, values: RawColumn) -> NDArray[np.float64]:
        """The numbers within the bounds or at an atom, after the policies; NaN for a missing value."""
        numbers = self.numbers(values)
        outside = self._outside(numbers)
        kept = np.where(outside, self._clip(numbers), numbers)
        kept[~np.isfinite(numbers) | (outside & (self.outside == "missing"))] = np.nan
        if self.unreadable == "missing":
            kept[self._fractions(numbers)] = np.nan
        return kept

    def _fractions(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which numbers are fractions where whole ones are expected; multiples are rounded instead."""
        whole = self.integer and self.multiple_of is None
        return numbers != np.floor(numbers) if whole else np.zeros(len(numbers), dtype=np.bool_)

    def _read(self, values: RawColumn) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
        """What `reading_of` takes."""
        others, listed = without_texts(values, self.missing, self.texts)
        numbers, unreadable = read_numbers(self.name, others, self.format)
        snapped = numbers if self.multiple_of is None else Lattice(self.multiple_of).snap(numbers)
        return snapped, unreadable, listed

    def _outside(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        low, high = self.grid[0], self.grid[-1] - (1 if self.integer else 0)
        beyond: NDArray[np.bool_] = (numbers < low) | (numbers > high)
        return beyond & ~np.isin(numbers, self.atoms)

    def _clip(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(numbers, self.grid[0], self.grid[-1] - (1 if self.integer else 0))

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[Any]:
        """A draw from each bin, int64 or float64; missing is None among integers, otherwise NaN.

        Within bins numbers follow the shape of the histogram (`Spread`). Where texts are listed, all values
        are texts; missing is None.
        """
        return self.of_codes(codes, self.draw(codes, rng, counts))

    def draw(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[np.float64]:
        """A number from each bin, shape (N,), without meaning where a code stands for none; see `decode`."""
        cells = self.spread.size
        if counts is None:
            counts = np.bincount(codes, minlength=self.size)
        held = np.where(codes >= cells, 0, codes).astype(np.int64)
        return self.spread.draw(held, counts[:cells], rng)

    def of_codes(self, codes: NDArray[np.integer[Any]], numbers: NDArray[np.float64]) -> NDArray[Any]:
        """Values as `decode` gives them.

        Args:
            codes: shape (N,).
            numbers: the number of each code that stands for some, shape (N,); they are overwritten.
        """
        if not self.texts:
            return self.of_numbers(numbers, codes >= len(self.cells))
        known = self.format.round_as_written(numbers)
        # Fractions without a format are written as in a column of numbers alone, as 3.0.
        plain = not self.integer and self.format == PLAIN
        return self.with_texts(
            known.astype(str).astype(object) if plain else self.format.texts_of(known), codes
        )

    def with_texts(
        self, written: NDArray[np.object_], codes: NDArray[np.integer[Any]]
    ) -> NDArray[np.object_]:
        """Values as texts, with the listed texts in their places, and None for missing values.

        Args:
            written: the numbers as texts, shape (N,); they are overwritten.
            codes: shape (N,).
        """
        beside = codes >= len(self.cells)
        written[beside] = np.array([*self.texts, None], dtype=object)[codes[beside] - len(self.cells)]
        return written

    def of_numbers(self, numbers: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Numbers as `decode` gives them where no texts are listed.

        Args:
            numbers: shape (N,); they are overwritten.
            missing: which of them are missing values, shape (N,).
        """
        if self.integer:
            whole = self.format.round_as_written(numbers).astype(np.int64)
            return _with_none(whole[~missing], missing) if self.nullable else whole
        known = self.format.round_as_written(numbers)
        known[missing] = np.nan
        return known

    def spelled(self, values: NDArray[Any]) -> NDArray[Any]:
        """Decoded numbers as text in the format; None if missing."""
        if self.format == PLAIN or self.texts:
            return values
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
        return _with_none(self.format.texts_of(numbers[~missing]), missing)

    def merged(self, runs: NDArray[np.int64]) -> NumericAttribute:
        """This attribute with its cells merged into bins; atoms stay.

        Args:
            runs: shape (size,): for each code its new code; new codes are in the order of the values, and an
                atom or a missing value shares none.
        """
        starts = 1 + np.flatnonzero(np.diff(runs[: len(self.cells)]))
        single = self.alone
        # An atom divides its bin, so that no edge is needed at its sides.
        inner = [float(self.cells[k, 0]) for k in starts if not single[k] and not single[k - 1]]
        last = float(self.grid[-1] - (1 if self.integer else 0))
        edges = tuple(sorted({float(self.grid[0]), *inner, last}))
        # A last bin of one integer has no edges of its own: both would be the largest integer.
        atoms = tuple(sorted({*self.atoms, last})) if last in inner else self.atoms
        if len(edges) == 1:
            return replace(self, bins=1)
        return replace(
            self, minimum=edges[0], maximum=edges[-1], bins=len(edges) - 1, edges=edges, atoms=atoms
        )

    def to_json(self) -> dict[str, Any]:
        """Bounds, bins and flags; the newer keys only where they are not the default."""
        form: dict[str, Any] = {"type": "numeric"}
        if self.edges:
            form["edges"] = list(map(_short, self.edges))
        elif self.minimum is not None and self.maximum is not None:
            form |= {"min": _short(self.minimum), "max": _short(self.maximum)}
        if not self.edges:
            form["bins"] = AUTO if self.bins is None else self.bins
        form |= {"nullable": self.nullable, "integer": bool(self.integer)}
        if self.scale is not Scale.LINEAR:
            form["scale"] = self.scale.value
        if self.atoms:
            form["atoms"] = list(map(_short, self.atoms))
        if self.multiple_of is not None:
            form["multiple_of"] = _short(self.multiple_of)
        if self.rounded:
            form["rounded"] = [one.to_json() for one in self.rounded]
        if self.among:
            form["among"] = list(map(_short, self.among))
        if self.outside != "clip":
            form["outside"] = self.outside
        if self.unreadable != "error":
            form["unreadable"] = self.unreadable
        if self.format != PLAIN:
            form["format"] = self.format.pattern
        for key in ("texts", "missing"):
            if getattr(self, key):
                form[key] = list(getattr(self, key))
        return form | ({} if self.reviewed else {"reviewed": False})

    def with_absent(self) -> NumericAttribute:
        """The same bins and an empty cell."""
        if self.nullable:
            raise self._error(
                "its missing values could not be told from people whom its party does not have; declare "
                'categories, or choose population = "everywhere"'
            )
        return replace(self, nullable=True)

    @cached_property
    def grid(self) -> NDArray[np.float64]:
        """Edges of the bins, shape (bins + 1,); of integers, the last is the largest plus one."""
        beyond = 1 if self.integer else 0
        if self.edges:
            return np.append(self.edges[:-1], self.edges[-1] + beyond).astype(np.float64)
        if self.minimum is None or self.maximum is None:
            return edges_without_bounds(self.lattice)
        bins = self._fine() if self.bins is None else self.bins
        if self.integer and self.scale is Scale.LINEAR and (self.bins or self.multiple_of is None):
            return runs_of_integers(int(self.minimum), int(self.maximum), bins)
        return bins_of_equal_width(self.minimum, self.maximum + beyond, bins, self.scale, self.lattice)

    def _fine(self) -> int:
        """Number of bins of the fine grid: one for each of not too many values at equal distances."""
        if self.minimum is None or self.maximum is None or self.lattice is None:
            return FINE_BINS
        values = int((self.maximum - self.minimum) / self.lattice.unit) + 1
        return values if values <= MOST_SINGLE and self.scale is Scale.LINEAR else FINE_BINS

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """Shape (cells, 2): bounds of each bin and atom in the order of the values, closed below.

        An upper bound is the next integer, or the next number of float64, after the largest value.
        """
        return cells_of(self.grid, self.atoms, self.lattice, integer=bool(self.integer))

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Whether each of the cells is an atom, shape (cells,)."""
        return np.isin(self.cells[:, 0], self.atoms)

    @property
    def reach(self) -> NDArray[np.float64]:
        """Shape (cells, 2): the smallest and the largest value of each bin and atom."""
        return self.spread.reach

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value of all."""
        return float(self.reach[:, 0].min()), float(self.reach[:, 1].max())

    def written(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bounds of bins as people write them: an edge or an atom in place of the number next to it."""
        return beside(numbers, np.unique([*self.grid, *self.atoms]))

    @cached_property
    def spread(self) -> Spread:
        """How numbers lie within bins and atoms."""
        return Spread(self.cells, self.scale, self.lattice, self.rounded, self.pace, self.among)


_REASONS = {
    "unreadable": 'expected a number, found text; fix the row, declare how numbers are written as "format", '
    "or list categories",
    "infinite": 'expected a finite number, found an infinite one; fix the row, or declare "unreadable": '
    '"missing"',
    "outside": "expected a number within the bounds, found another; fix the row or the domain",
    "fraction": 'expected a whole number, found a fraction; declare "integer": false or fix the row',
    "empty": "expected a number, found a missing value; declare the attribute nullable or fix the row",
}


def _with_none(known: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.object_]:
    values = np.full(len(missing), None, dtype=object)
    values[~missing] = known
    return values


def _short(number: float) -> int | float:
    """A whole number as an int, for shorter files."""
    whole = float(number).is_integer() and abs(number) <= LARGEST_WHOLE
    return int(number) if whole else float(number)


def is_number(bound: object) -> bool:
    """Whether a value of a file is a finite number."""
    return isinstance(bound, (int, float)) and not isinstance(bound, bool) and math.isfinite(bound)
