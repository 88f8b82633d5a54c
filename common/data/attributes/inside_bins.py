"""Numbers of an attribute divided at thresholds that may lie inside of bins, as decoding spreads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..binning.spread import Spread
from .numeric import NumericAttribute

_RANKS_OF_PIECE = 256
"""Values of a piece from which its mean and variance are computed, at ranks of equal distance."""

_MOST_VALUES = 2**22
"""All pieces together have at most so many of these values."""

_ROUNDED_SHARE = 1e-9


@dataclass(frozen=True, order=True)
class Cut:
    """A threshold between numbers.

    Attributes:
        number: where it is.
        after: whether it lies just above the number, so that the number itself is below the cut.
    """

    number: float
    after: bool


@dataclass(frozen=True, eq=False)
class Pieces:
    """Cells of an attribute, divided at cuts; in the order of the values.

    Attributes:
        codes: shape (p,): cell of each piece.
        intervals: shape (p,): the number of cuts below each piece.
        ranks: shape (p, 2): where the piece begins and ends among the values of its cell, from 0 to 1.
        means: shape (p,): mean of its values.
        variances: shape (p,): their variance.
    """

    codes: NDArray[np.int64]
    intervals: NDArray[np.int64]
    ranks: NDArray[np.float64]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of its cell that each piece has, shape (p,)."""
        return np.diff(self.ranks, axis=1)[:, 0]


def divide(bins: NumericAttribute, counts: NDArray[np.number[Any]], cuts: Sequence[Cut]) -> Pieces:
    """The bins and atoms of an attribute, divided at cuts.

    Args:
        bins: bins and atoms.
        counts: records of each code of a column, shape (size,); values are spread within bins by them, as
            `decode` does.
        cuts: increasing.
    """
    spread, counts = bins.spread, counts[: len(bins.cells)]
    places = np.array([_place(spread, counts, cut) for cut in cuts], dtype=np.float64)
    cells = np.arange(spread.size, dtype=np.float64)
    starts = np.unique(np.concatenate([cells, places[(places > 0) & (places < spread.size)]]))
    codes = np.floor(starts).astype(np.int64)
    ends = np.where(np.append(codes[1:], -1) == codes, np.append(starts[1:], 0), codes + 1.0)
    ranks = np.stack([starts, ends], axis=1) - codes[:, None]
    points = int(np.clip(_MOST_VALUES // len(codes), 1, _RANKS_OF_PIECE))
    inner = (np.arange(points) + 0.5) / points
    at = ranks[:, :1] + np.diff(ranks, axis=1) * inner
    values = spread.at(np.repeat(codes, points), counts, at.ravel()).reshape(at.shape)
    # Sums of numbers far from zero, such as seconds since 1970, would lose the variance.
    offsets = values - values[:, :1]
    return Pieces(
        codes,
        np.searchsorted(places, starts, side="right").astype(np.int64),
        ranks,
        values[:, 0] + offsets.mean(axis=1),
        offsets.var(axis=1),
    )


def _place(spread: Spread, counts: NDArray[np.number[Any]], cut: Cut) -> float:
    """The cell in which a cut lies, plus the share of the cell below it."""
    least, most = spread.reach.T
    below = int(np.searchsorted(least, cut.number, side="right" if cut.after else "left"))
    if not below:
        return 0.0
    cell = below - 1
    if most[cell] < cut.number or (cut.after and most[cell] == cut.number):
        return float(below)
    number = cut.number
    if spread.lattice is not None:
        multiple = spread.lattice.first_from(np.array([number]))
        if cut.after and spread.lattice.values(multiple)[0] == number:
            multiple = multiple + 1
        number = float(spread.lattice.values(multiple)[0]) - spread.lattice.unit / 2
    share = float(spread.shares_below(np.array([cell]), counts, np.array([number]))[0])
    if share <= _ROUNDED_SHARE or share >= 1 - _ROUNDED_SHARE:
        return cell + float(round(share))
    return cell + share
