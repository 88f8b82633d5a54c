"""A uniform sample of each slice's rows, on which products between parties are computed where rows are many.

All parties of a slice derive the same sample from the id of the release, which is public. Privacy does not
rest on it: answers are counts of sampled rows with the noise that their cost states, as for any other set of
rows, and what is done with them afterwards (`Sampling.factor`) is post-processing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...crypto.randomness import RandomStream
from ...data.counting import COUNTED_AT_ONCE
from ...data.domain import Clique, Domain
from ...data.grouping import Groups
from ...data.rows import Rows, count_by_cells, count_one_by_one
from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MULTIPLIED_ROWS = 10_000_000
"""Rows of the largest slice that products between parties use if a plan does not say."""

FAILURE = 1e-6
"""Probability with which the sampling error of a marginal is larger than `Sampling.l1_bound`."""

_WORD_BYTES, _BUCKET_BITS = 8, 16
_WORDS_AT_ONCE = 2**20


@dataclass(frozen=True)
class Sampling:
    """How many rows of each slice are in the sample; public.

    Attributes:
        records: rows or positions of each slice.
        sampled: sampled ones of each slice, about the same share of each.
    """

    records: tuple[int, ...]
    sampled: tuple[int, ...]

    @property
    def factor(self) -> float:
        """Rows for each sampled row, N/m: counts of the sample, and their noise, are multiplied by it."""
        return sum(self.records) / sum(self.sampled)

    def cell_sigma(self, cells: int) -> float:
        """Standard deviation of a scaled count by sampling, root mean square over so many cells, at most."""
        return math.sqrt(self._variance / cells)

    def l1_bound(self, cells: int) -> float:
        """Bound on the L1 norm of a marginal's sampling error, in records; fails with `FAILURE` at most.

        The expected norm is at most the sum of the cells' standard deviations, which are hypergeometric. One
        row more in the sample and another one less change it by at most 2 N/m, and so does each step of the
        martingale that reveals one sampled row after the other (Azuma and Hoeffding). Slices are sampled in
        shares that differ by rounding, and so are references of scores.

        Args:
            cells: cells of the marginal.
        """
        factor, total = self.factor, sum(self.sampled)
        rounded = sum(abs(factor * m - n) for n, m in zip(self.records, self.sampled, strict=True))
        expected = math.sqrt(cells * self._variance)
        deviation = factor * math.sqrt(2 * total * -math.log(FAILURE))
        return expected + deviation + rounded + factor * cells / 2

    @property
    def _variance(self) -> float:
        """Upper bound on the sum of the variances of all cells of any marginal, scaled."""
        parts = zip(self.records, self.sampled, strict=True)
        return sum(self.factor**2 * m * (n - m) / max(1, n - 1) for n, m in parts)


def sampled_positions(
    release_id: str, number: int, records: int, sampled: int
) -> NDArray[np.unsignedinteger]:
    """The sampled rows of a slice in order, shape (sampled,); every set of so many is as probable.

    Every row has a random word, and the rows with the smallest words are the sample. The words are read
    twice, so memory is that of the sample.

    Args:
        release_id: id of the release.
        number: of the slice.
        records: rows or positions of the slice.
        sampled: size of the sample.
    """
    key = hashlib.sha256(f"dpmosaic sampled rows {release_id} {number}".encode()).digest()
    shift = np.uint64(64 - _BUCKET_BITS)
    buckets = np.zeros(1 << _BUCKET_BITS, dtype=np.int64)
    for _, words in _words(key, records):
        buckets += np.bincount((words >> shift).astype(np.int64), minlength=buckets.size)
    last = int(np.searchsorted(np.cumsum(buckets), sampled))
    below = int(buckets[:last].sum())
    dtype = np.min_scalar_type(records)
    found, edge, edge_words = [], [], []
    for first, words in _words(key, records):
        bucket = (words >> shift).astype(np.int64)
        found.append((first + np.flatnonzero(bucket < last)).astype(dtype))
        on_edge = np.flatnonzero(bucket == last)
        edge.append((first + on_edge).astype(dtype))
        edge_words.append(words[on_edge])
    order = np.argsort(np.concatenate(edge_words), kind="stable")[: sampled - below]
    return np.sort(np.concatenate([*found, np.concatenate(edge)[order]]))


def _words(key: bytes, records: int) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    for first in range(0, records, _WORDS_AT_ONCE):
        stream = RandomStream(key, _WORD_BYTES * first)
        yield first, stream.words(min(_WORDS_AT_ONCE, records - first))


class SampledRows:
    """Some of the rows of a table.

    Args:
        rows: all rows.
        positions: the sampled ones, in order.
    """

    def __init__(self, rows: Rows, positions: NDArray[np.unsignedinteger]) -> None:
        self._rows = rows
        self._positions = positions

    @property
    def domain(self) -> Domain:
        """Meaning of the codes."""
        return self._rows.domain

    @property
    def record_count(self) -> int:
        """Number of sampled rows."""
        return self._positions.size

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """The cell of each of the sampled rows start to stop - 1; see `Rows`."""
        names, places = tuple(clique), self._positions[start:stop].astype(np.int64)
        found = [np.zeros(0, dtype=np.int64)]
        while len(places):
            first = int(places[0])
            within = int(np.searchsorted(places, first + COUNTED_AT_ONCE))
            codes = self._rows.cell_codes(names, first, int(places[within - 1]) + 1, groups)
            found.append(codes[places[:within] - first])
            places = places[within:]
        return np.concatenate(found)

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Exact counts of the sampled rows; see `Rows`."""
        return count_by_cells(self, clique, groups)

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """See `Rows`."""
        return count_one_by_one(self, cliques, groups)
