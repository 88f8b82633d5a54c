"""Bins of numbers, and the cells into which atoms divide them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...later import np
from .lattice import Lattice
from .scale import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNBOUNDED_REACH = 40
"""Grids without bounds reach from -2^40 to 2^40."""

_UNBOUNDED_SMALLEST = -20
"""Grids of real numbers without bounds tell apart values from 2^-20 on."""

SINGLE_MULTIPLES = 128
"""Multiples up to so many units have a bin each in a grid without bounds."""

_STEPS_PER_DOUBLING = 8
"""Steps of a grid without bounds for each doubling."""


def edges_without_bounds(
    lattice: Lattice | None, reach: int = _UNBOUNDED_REACH, smallest: int = _UNBOUNDED_SMALLEST
) -> NDArray[np.float64]:
    """Edges of a grid for numbers of unknown size: eight bins for each doubling, on both sides of zero.

    Among multiples, small ones have a bin each: ages and hours have values that stand out.

    Args:
        lattice: the numbers are its multiples; None for real numbers.
        reach: the grid reaches from -2^reach to 2^reach units.
        smallest: real numbers are told apart from 2^smallest on.
    """
    steps = np.arange(
        (smallest if lattice is None else 0) * _STEPS_PER_DOUBLING, reach * _STEPS_PER_DOUBLING + 1
    )
    positive = np.exp2(steps / _STEPS_PER_DOUBLING)
    edges = np.concatenate([-positive[::-1], [0.0], positive])
    if lattice is None:
        return edges
    multiples = np.concatenate([np.rint(edges), np.arange(-SINGLE_MULTIPLES, SINGLE_MULTIPLES + 1)])
    return np.unique(lattice.values(multiples.astype(np.int64)))


def runs_of_integers(minimum: int, maximum: int, bins: int) -> NDArray[np.float64]:
    """Edges of runs of integers of nearly equal length, at most `bins`; the last is the maximum plus one."""
    integers = maximum - minimum + 1
    bins = min(bins, integers)
    run, longer = divmod(integers, bins)
    places = np.arange(bins + 1, dtype=np.int64)
    return (minimum + places * run + np.minimum(places, longer)).astype(np.float64)


def bins_of_equal_width(
    minimum: float, maximum: float, bins: int, scale: Scale, lattice: Lattice | None
) -> NDArray[np.float64]:
    """Edges of bins of equal width on a scale; between the bounds they are multiples, each once."""
    edges = scale.divide(minimum, maximum, bins)
    if lattice is None:
        return edges
    inner = np.unique(lattice.values(lattice.nearest(edges[1:-1])))
    return np.concatenate([[minimum], inner[(inner > minimum) & (inner < maximum)], [maximum]])


def cells_of(
    grid: NDArray[np.float64], atoms: Sequence[float], lattice: Lattice | None, *, integer: bool
) -> NDArray[np.float64]:
    """Bounds of bins and atoms in the order of the values, closed below; shape (cells, 2).

    Args:
        grid: edges of the bins; of integers, the last is the largest plus one, otherwise the largest.
        atoms: increasing; an atom divides the bin in which it lies, if any.
        lattice: the numbers are its multiples, and a bin without a multiple is left out; None for any.
        integer: whether the numbers are whole.
    """
    single = np.array(atoms, dtype=np.float64)
    after = single + 1 if integer else np.nextafter(single, np.inf)
    edges = np.append(grid[:-1], grid[-1] if integer else np.nextafter(grid[-1], np.inf))
    starts = np.unique(np.concatenate([edges, single, after]))
    starts = starts[(starts >= edges[0]) & (starts <= edges[-1])]
    bins = np.stack([starts[:-1], starts[1:]], axis=1)
    bins = bins[~np.isin(bins[:, 0], single)]
    if lattice is not None:
        bins = bins[lattice.first_from(bins[:, 0]) < lattice.first_from(bins[:, 1])]
    cells = np.concatenate([bins, np.stack([single, after], axis=1)])
    return cells[np.argsort(cells[:, 0])]


def beside(numbers: NDArray[np.float64], marks: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers; one next to a mark, among those of float64, as the mark.

    A bin after an atom begins with the next number of float64, which after 0 is 5e-324.

    Args:
        numbers: of any shape.
        marks: increasing.
    """
    place = np.searchsorted(marks, numbers)
    for side in (place - 1, place):
        mark = marks[np.clip(side, 0, len(marks) - 1)]
        numbers = np.where(np.nextafter(numbers, mark) == mark, mark, numbers)
    return numbers
