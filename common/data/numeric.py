"""Attributes of numbers: bins on a scale, atoms, and a missing value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .attribute import Attribute, check_missing, check_name, check_size
from .scale import Scale, unbounded
from .values import LARGEST_WHOLE, RawColumn, blanked, read_numbers, refuse_rows

AUTO = "auto"
"""In place of a number of bins: the release chooses them under differential privacy."""

FINE = 512
"""Number of bins of the fine grid from which a release chooses bins."""

OUTSIDE = ("clip", "error", "missing")
"""What becomes of a number outside the bounds."""


@dataclass(frozen=True)
class NumericAttribute(Attribute):
    """A column of numbers, divided into bins and atoms.

    Codes are in the order of the values; a missing value has the last code. Bins are closed below, and the
    last also above. Integer bins divide minimum..maximum into runs of integers of nearly equal length; others
    are of equal width on the scale, unless `edges` are given. An atom is a value with a code of its own; it
    divides the bin in which it lies.

    Attributes:
        name: name of the column.
        minimum: lower bound; None if it is unknown, and bins are chosen.
        maximum: upper bound, as `minimum`.
        bins: number of bins; None if the release chooses them: codes are those of a fine grid until then.
        nullable: whether there is a code for a missing value.
        integer: whether all values are whole; by default if each bin holds one integer.
        edges: edges of the bins; empty for bins of equal width.
        scale: scale on which bins are of equal width, and on which values are spread within bins.
        atoms: values with a code of their own, increasing; they may lie outside the bounds.
        multiple_of: values are multiples of this number; None for any.
        outside: what becomes of a number outside the bounds that is no atom: one of `OUTSIDE`.
        reviewed: false if the entry was read from private rows, and nobody has reviewed it.
        missing: texts that stand for a missing value.
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
    outside: str = field(default="clip", kw_only=True)
    reviewed: bool = field(default=True, kw_only=True)
    missing: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_missing(self.name, self.missing)
        bounds = (*self.edges, *self.atoms)
        bounds += tuple(bound for bound in (self.minimum, self.maximum) if bound is not None)
        if not all(_is_number(bound) and abs(bound) < 1e300 for bound in bounds):
            raise DataError(
                f"attribute {self.name!r}: expected finite numbers as min, max, edges and atoms; fix the "
                "domain"
            )
        if self.bins is not None:
            check_size(self.name, self.bins, "bins")
        elif (self.minimum is None) != (self.maximum is None):
            raise DataError(f"attribute {self.name!r}: expected both min and max, or none; fix the domain")
        if self.bins is not None and (self.minimum is None or self.maximum is None):
            raise DataError(f"attribute {self.name!r}: bins need min and max; add them, or choose bins auto")
        if not all(isinstance(flag, bool) for flag in (self.nullable, self.reviewed)) or not isinstance(
            self.integer, (bool, type(None))
        ):
            raise DataError(
                f"attribute {self.name!r}: nullable, integer and reviewed are true or false; fix the domain"
            )
        if self.outside not in OUTSIDE or (self.outside == "missing" and not self.nullable):
            raise DataError(
                f"attribute {self.name!r}: outside is one of {', '.join(OUTSIDE)}, and missing needs "
                '"nullable": true; fix the domain'
            )
        self._check_bins()
        if not np.all(np.diff(self.edges) > 0) or not np.all(np.diff(self.atoms) > 0):
            raise DataError(f"attribute {self.name!r}: edges and atoms have to increase; fix the domain")
        if not np.all(np.diff(self.grid) > 0):
            raise DataError(f"attribute {self.name!r}: bins too narrow for float64; declare fewer bins")

    def _check_bins(self) -> None:
        if self.multiple_of is not None and not (_is_number(self.multiple_of) and self.multiple_of > 0):
            raise DataError(f"attribute {self.name!r}: multiple_of is a positive number; fix the domain")
        low, high = self.minimum, self.maximum
        if low is None or high is None:
            if self.integer is None:
                object.__setattr__(self, "integer", False)
            object.__setattr__(self, "scale", Scale.SYMLOG)
            return
        whole = all(float(bound).is_integer() and abs(bound) <= LARGEST_WHOLE for bound in (low, high))
        integers = int(high) - int(low) + 1
        if self.integer is None:
            object.__setattr__(self, "integer", whole and not self.edges and self.bins == integers)
        if self.integer and not (whole and 1 <= (self.bins or 1) <= integers):
            raise DataError(
                f"attribute {self.name!r}: integer bins need whole bounds, min <= max, and no more bins than "
                f"integers; got min {low}, max {high}, {self.bins} bins"
            )
        if not self.integer and low >= high:
            raise DataError(f"attribute {self.name!r}: expected min below max, got min {low}, max {high}")
        if self.scale is Scale.LOG and low <= 0:
            raise DataError(
                f"attribute {self.name!r}: the scale log needs a positive min; declare zero as an atom, or "
                "choose the scale symlog"
            )

    @property
    def size(self) -> int:
        """The number of bins and atoms, plus one for a missing value if nullable."""
        return len(self.cells) + int(self.nullable)

    @property
    def open(self) -> bool:
        """Whether a release has to choose bins before it can measure pairs."""
        return self.bins is None

    @property
    def unit(self) -> float | None:
        """The values are multiples of this; None for any numbers."""
        return 1.0 if self.integer and self.multiple_of is None else self.multiple_of

    def encode(self, values: RawColumn) -> NDArray[np.int64]:
        """The bin or atom of each number; the last code for a missing value."""
        numbers = read_numbers(self.name, blanked(values, self.missing))
        missing = np.isnan(numbers)
        if self.integer:
            refuse_rows(
                self.name,
                (numbers != np.floor(numbers)) & ~missing,
                'expected a whole number, found a fraction; declare "integer": false or fix the row',
            )
        low, high = self.grid[0], self.grid[-1] - (1 if self.integer else 0)
        outside = ((numbers < low) | (numbers > high)) & ~np.isin(numbers, self.atoms)
        if self.outside == "error":
            refuse_rows(
                self.name, outside, "expected a number within the bounds, found another; fix row or domain"
            )
        if self.outside == "missing":
            missing |= outside
        if not self.nullable:
            refuse_rows(
                self.name,
                missing,
                "expected a number, found a missing value; declare the attribute nullable or fix the row",
            )
        numbers = np.where(outside, np.clip(numbers, low, high), numbers)
        starts = self.cells[:, 0]
        codes = np.searchsorted(starts[1:], numbers, side="right").astype(np.int64)
        codes[missing] = len(starts)
        return codes

    def decode(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[Any]:
        """A draw from each bin, int64 or float64; missing is None among integers, otherwise NaN."""
        missing = codes == len(self.cells)
        cells = np.where(missing, 0, codes).astype(np.int64)
        low, high = self.cells[cells].T
        numbers = self._drawn(low, high, rng)
        if self.integer:
            whole = numbers.astype(np.int64)
            if not self.nullable:
                return whole
            values = whole.astype(object)
            values[missing] = None
            return values
        numbers[missing] = np.nan
        return numbers

    def _drawn(
        self, low: NDArray[np.float64], high: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        unit = self.unit
        if unit is not None:
            first, last = np.ceil(low / unit), np.ceil(high / unit)
            return rng.integers(first.astype(np.int64), np.maximum(last, first + 1).astype(np.int64)) * unit
        numbers = low + rng.random(len(low)) * (high - low)
        return np.clip(numbers, low, np.nextafter(high, low))

    def merged(self, runs: NDArray[np.int64]) -> NumericAttribute:
        """This attribute with its cells merged into bins; atoms stay.

        Args:
            runs: shape (size,): for each code its new code; new codes are in the order of the values, and an
                atom or a missing value shares none.
        """
        starts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(runs[: len(self.cells)]))])
        atoms = np.isin(self.cells[:, 0], self.atoms)
        # An atom divides its bin, so that no edge is needed at its sides.
        inner = [self.cells[k, 0] for k in starts[1:] if not atoms[k] and not atoms[k - 1]]
        last = self.grid[-1] - (1 if self.integer else 0)
        edges = tuple(sorted({float(self.grid[0]), *map(float, inner), float(last)}))
        return replace(self, minimum=edges[0], maximum=edges[-1], bins=len(edges) - 1, edges=edges)

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
        if self.outside != "clip":
            form["outside"] = self.outside
        if self.missing:
            form["missing"] = list(self.missing)
        return form | ({} if self.reviewed else {"reviewed": False})

    def with_absent(self) -> NumericAttribute:
        """The same bins and an empty cell."""
        if self.nullable:
            raise DataError(
                f"attribute {self.name!r}: its missing values could not be told from people whom its party "
                'does not have; declare categories, or choose population = "everywhere"'
            )
        return replace(self, nullable=True)

    @cached_property
    def grid(self) -> NDArray[np.float64]:
        """Edges of the bins, shape (bins + 1,); of integers, the last is the largest plus one."""
        if self.edges:
            edges = np.array(self.edges, dtype=np.float64)
            return np.append(edges[:-1], edges[-1] + 1) if self.integer else edges
        if self.minimum is None or self.maximum is None:
            return unbounded(self.unit)
        if not self.integer or self.scale is not Scale.LINEAR:
            bins = FINE if self.bins is None else self.bins
            edges = self.scale.divided(self.minimum, self.maximum, bins)
            if not self.integer:
                return edges
            edges = np.append(edges[:-1], edges[-1] + 1)
            return np.unique(np.round(edges))
        integers = int(self.maximum) - int(self.minimum) + 1
        count = min(FINE, integers) if self.bins is None else self.bins
        run, longer = divmod(integers, count)
        bins = np.arange(count + 1, dtype=np.int64)
        return (int(self.minimum) + bins * run + np.minimum(bins, longer)).astype(np.float64)

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """Shape (cells, 2): bounds of each bin and atom in the order of the values, closed below."""
        atoms = np.array(self.atoms, dtype=np.float64)
        after = atoms + 1 if self.integer else np.nextafter(atoms, np.inf)
        # The maximum belongs to the last bin.
        last = self.grid[-1] if self.integer else np.nextafter(self.grid[-1], np.inf)
        edges = np.append(self.grid[:-1], last)
        within = atoms[(atoms >= edges[0]) & (atoms < edges[-1])]
        starts = np.unique(np.concatenate([edges, within, after[np.isin(atoms, within)]]))
        starts = starts[starts <= edges[-1]]
        bins = np.stack([starts[:-1], starts[1:]], axis=1)
        bins = bins[~np.isin(bins[:, 0], atoms) & self._holds_any(bins)]
        cells = np.concatenate([bins, np.stack([atoms, after], axis=1)])
        return cells[np.argsort(cells[:, 0])]

    def _holds_any(self, bins: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each bin holds a multiple of the unit."""
        if self.unit is None:
            return np.ones(len(bins), dtype=np.bool_)
        return np.ceil(bins[:, 0] / self.unit) * self.unit < bins[:, 1]


def _short(number: float) -> int | float:
    """A whole number as an int, for shorter files."""
    whole = float(number).is_integer() and abs(number) <= LARGEST_WHOLE
    return int(number) if whole else float(number)


def _is_number(bound: object) -> bool:
    return isinstance(bound, (int, float)) and not isinstance(bound, bool) and math.isfinite(bound)
