"""How round numbers are, by their size: such as whole ones, but for small ones with a decimal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...forms.notation import LARGEST_WHOLE
from ...later import np
from .lattice import Lattice

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNITS = tuple(
    one * 10.0**power if power >= 0 else one / 10.0**-power for power in range(6, -7, -1) for one in (5, 1)
)
"""Numbers are told apart by the first of these of which they are multiples, as each is of the next."""

SIZES = (
    0.0,
    *(one * 10.0**power if power >= 0 else one / 10.0**-power for power in range(-3, 9) for one in (1, 3)),
)
"""Where the sizes begin by which roundness is looked for."""

_OFTEN, _SELDOM = 0.1, 0.05
"""Roundness is stated if so large a share of numbers is rounder than by chance, and of units to which so
large a share is rounded beyond those that are their multiples by chance."""


@dataclass(frozen=True)
class Rounded:
    """How round the numbers of a size are.

    Attributes:
        size: the numbers are at least so far from zero, and less than the next size.
        units: some of `UNITS`, decreasing.
        shares: for each unit the share of the numbers that are multiples of it and of none before; the others
            may be any.
    """

    size: float
    units: tuple[float, ...]
    shares: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """The size, units and shares."""
        return {"from": self.size, "units": list(self.units), "shares": list(self.shares)}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Rounded:
        """Reads what `to_json` writes."""
        return cls(float(form["from"]), tuple(map(float, form["units"])), tuple(map(float, form["shares"])))


def check_rounded(rounded: Sequence[Rounded], lattice: Lattice | None) -> str:
    """What is wrong with a statement on how round numbers are; empty if nothing is.

    Args:
        rounded: by size.
        lattice: of which all numbers are multiples.
    """
    if rounded and (rounded[0].size != 0 or not np.all(np.diff([one.size for one in rounded]) > 0)):
        return "rounded begins with the size 0, and sizes increase"
    for one in rounded:
        units, shares = np.array(one.units), np.array(one.shares)
        if len(units) != len(shares) or not np.all(shares >= 0) or not shares.sum() <= 1 + 1e-9:
            return "rounded has a share for each unit, 0 or more, and together at most 1"
        if not {*one.units} <= {*UNITS} or not np.all(np.diff(units) < 0):
            return "units of rounded decrease, and are 1 or 5 times a power of ten, from 1e-6 to 5e6"
        if lattice is not None and not lattice.holds(units).all():
            return f"units of rounded are multiples of {lattice.unit:g}, as all values are"
    return ""


def units_of(numbers: NDArray[np.float64], lattice: Lattice | None) -> tuple[float, ...]:
    """Those of `UNITS` that are multiples of a lattice and not beyond some numbers."""
    largest = float(np.abs(numbers).max(initial=0.0))
    units = np.array(UNITS)
    held = units <= largest if lattice is None else (units <= largest) & lattice.holds(units)
    return tuple(units[held].tolist())


def places_of(numbers: NDArray[np.float64], units: Sequence[float]) -> NDArray[np.int64]:
    """The place of the first unit of which a number is a multiple, the number of units for none, shape (N,).

    Zero is taken for none.
    """
    found = np.full(len(numbers), len(units), dtype=np.int64)
    left = np.arange(len(numbers))
    for place, unit in enumerate(units):
        # A number far below a unit is zero of it, up to errors of arithmetic.
        held = Lattice(unit).holds(numbers[left]) & (np.abs(numbers[left]) >= unit / 2)
        found[left[held]] = place
        left = left[~held]
    return found


def count_round(
    numbers: NDArray[np.float64], rows: NDArray[np.integer[Any]], units: Sequence[float]
) -> NDArray[np.float64]:
    """The rows of numbers by size and unit, shape (sizes, units + 1), without those of zero and infinity."""
    known = np.isfinite(numbers) & (numbers != 0)
    numbers, rows = numbers[known], rows[known]
    sizes = np.searchsorted(SIZES, np.abs(numbers), "right") - 1
    cells = sizes * (len(units) + 1) + places_of(numbers, units)
    counts = np.bincount(cells, rows, len(SIZES) * (len(units) + 1)).astype(np.float64)
    return counts.reshape(len(SIZES), -1)


def roundness_of(
    counts: NDArray[np.float64],
    units: Sequence[float],
    lattice: Lattice | None,
    least: float,
    noise: float = 0.0,
) -> tuple[Rounded, ...]:
    """How round numbers are, by their counts; empty if they are no rounder than by chance.

    Args:
        counts: see `count_round`; may be noisy.
        units: of the counts.
        lattice: of which all numbers are multiples.
        least: rows that say something of a size; one of fewer is put together with the next.
        noise: counts up to this are none.
    """
    finest = _finest(lattice)
    known = [(0.0, np.zeros(len(units) + 1))]
    for size, row in zip(SIZES, np.where(counts > noise, counts, 0.0), strict=True):
        begin, summed = known[-1] if known[-1][1].any() or len(known) == 1 else (size, known[-1][1])
        known[-1:] = [(begin, summed), (size, row)] if summed.sum() >= least else [(begin, summed + row)]
    found: list[tuple[float, NDArray[np.float64]]] = []
    for size, row in known:
        few = row.sum() < least
        if not found and few:
            return ()
        if found and (
            few or _are_alike(_of_counts(*found[-1], units, finest), _of_counts(size, row, units, finest))
        ):
            found[-1] = found[-1][0], found[-1][1] + row
        else:
            found.append((size, row))
    rounded = tuple(_of_counts(size, row, units, finest) for size, row in found)
    return rounded if any(_is_rounder(one, finest) for one in rounded) else ()


def are_rounder(counts: NDArray[np.float64], units: Sequence[float], lattice: Lattice | None) -> bool:
    """Whether numbers of all sizes together are rounder than by chance.

    Args:
        counts: of rows by unit, some of them positive, shape (units + 1,).
        units: of the counts.
        lattice: of which all numbers are multiples.
    """
    finest = _finest(lattice)
    return _is_rounder(_of_counts(0.0, counts, units, finest), finest)


def _finest(lattice: Lattice | None) -> float:
    """The unit of which all numbers are multiples; 0 if they may be any."""
    return 0.0 if lattice is None else lattice.unit


def _is_rounder(one: Rounded, finest: float) -> bool:
    return bool(drawn_shares(one.units, np.array(one.shares), finest).sum() >= _OFTEN)


def _of_counts(size: float, counts: NDArray[np.float64], units: Sequence[float], finest: float) -> Rounded:
    """How round numbers of a size are, with the units beyond the lattice that not chance alone explains."""
    held = [unit for unit in units if unit > finest * (1 + 1e-9)]
    shares = counts[: len(held)] / counts.sum()
    while held:
        seldom = np.flatnonzero(drawn_shares(held, shares, finest) < _SELDOM)
        if not len(seldom):
            break
        # Its multiples are those of the next unit, by chance.
        place = int(seldom[0])
        shares[place + 1 : place + 2] += shares[place]
        held, shares = held[:place] + held[place + 1 :], np.delete(shares, place)
    cents = np.rint(100 * shares)
    if held:
        # Rounded, they may exceed all.
        cents[np.argmax(cents)] -= max(0.0, cents.sum() - 100)
    return Rounded(size, tuple(held), tuple((cents / 100).tolist()))


def _are_alike(one: Rounded, other: Rounded) -> bool:
    """Whether two sizes have nearly the same shares."""
    first, second = (dict(zip(each.units, each.shares, strict=True)) for each in (one, other))
    return sum(abs(first.get(unit, 0.0) - second.get(unit, 0.0)) for unit in first | second) < _OFTEN


def drawn_shares(units: Sequence[float], shares: NDArray[np.float64], finest: float) -> NDArray[np.float64]:
    """The shares of numbers to be rounded to each unit, so that with those that are round by chance all are.

    Args:
        units: decreasing, each a multiple of the next.
        shares: of numbers that are multiples of a unit and of none before, shape (units,).
        finest: all numbers are multiples of it; 0 if they may be any.

    Returns:
        Shape (units,); the others stay as they are.
    """
    up_to = np.cumsum(shares)
    chain = [*units, finest]
    found = np.zeros(len(units) + 1)
    for place in range(len(units), 0, -1):
        if chain[place] >= chain[place - 1] * (1 - 1e-9):
            continue  # The lattice is the last unit.
        finer = found[place + 1 :]
        by_chance = float((finer * np.array(chain[place + 1 :])).sum()) / chain[place - 1]
        lacking = 1 - finer.sum() + by_chance - up_to[place - 1]
        found[place] = np.clip(lacking / (1 - chain[place] / chain[place - 1]), 0.0, 1 - finer.sum())
    if len(units):
        found[0] = max(0.0, 1 - found[1:].sum())
    return found[:-1]


def round_off(
    numbers: NDArray[np.float64],
    codes: NDArray[np.int64],
    rounded: Sequence[Rounded],
    reach: NDArray[np.float64],
    counts: NDArray[np.number[Any]],
    lattice: Lattice | None,
    rng: np.random.Generator,
) -> None:
    """Rounds numbers within their cells, until so many of each size are multiples of each unit.

    The multiples of a cell divide it evenly, so that none is more frequent than another. Cells of one value
    have a part in the shares. A cell without a multiple leaves its part to others.

    Args:
        numbers: of cells, shape (N,); they are overwritten.
        codes: the cells, shape (N,).
        rounded: by size, increasing.
        reach: the smallest and the largest value of each cell, shape (n, 2).
        counts: records of each cell, shape (n,).
        lattice: of which all numbers are multiples.
        rng: chooses numbers.
    """
    sizes = [one.size for one in rounded]
    single = reach[:, 0] >= reach[:, 1]
    of_cells = np.searchsorted(sizes, np.abs(reach.mean(axis=1)), "right") - 1
    of_numbers = np.searchsorted(sizes, np.abs(numbers), "right") - 1
    ranks, farthest = rng.random(len(numbers)), np.abs(reach).max(axis=1)
    for place, one in enumerate(rounded):
        mass = np.where(of_cells == place, counts, 0.0)
        wide = float(mass[~single].sum())
        if not one.units or wide <= 0:
            continue
        values = places_of(reach[single, 0], one.units)
        held = np.bincount(values, mass[single], len(one.units) + 1)[:-1]
        left = np.maximum(np.array(one.shares) * mass.sum() - held, 0) / wide
        left /= max(1.0, left.sum())
        rows = np.flatnonzero((of_numbers == place) & ~single[codes])
        begins = np.zeros(len(reach))
        for unit, share in zip(one.units, drawn_shares(one.units, left, _finest(lattice)), strict=True):
            multiples = Lattice(unit)
            # Beyond these numbers floats do not tell multiples apart.
            exact = farthest <= LARGEST_WHOLE * unit
            near = np.where(exact[:, None], reach, 0.0)
            first, last = multiples.first_from(near[:, 0]), multiples.last_to(near[:, 1])
            holding = ~single & exact & (first <= last)
            ends = begins + np.where(holding, share * wide / max(float(mass[holding].sum()), 1e-300), 0.0)
            cells = codes[rows]
            chosen = rows[(ranks[rows] >= begins[cells]) & (ranks[rows] < ends[cells])]
            cells = codes[chosen]
            least, most = reach[cells].T
            ahead = (numbers[chosen] - least) / (most - least) * (last - first + 1)[cells]
            numbers[chosen] = multiples.values(np.minimum(first[cells] + np.floor(ahead), last[cells]))
            begins = ends
