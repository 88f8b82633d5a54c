"""Records as vectors: a one-hot encoding of the mode of each attribute.

Source: the mode-specific normalisation of CTGAN (Xu et al. 2019), which fits modes to the exact column and
lets the network output the position inside a mode. Here modes come from a noisy one-way marginal, so they are
public: a bin with many records is a mode of its own, and the bins between such bins are divided into runs of
about the same weight. The position inside a run is drawn from that marginal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.dates import bins_of
from ....common.data.domain import Domain
from ....common.data.table import Table

_FEW_BINS = 12
"""Numeric attributes of at most this many bins have one mode for each bin."""

_RUNS = 8
"""Approximate number of modes for the bins that are not modes of their own."""

_SPIKE = 0.05
"""A bin with at least this share of the records is a mode of its own."""


@dataclass(frozen=True, eq=False)
class Modes:
    """One attribute's modes: consecutive runs of codes.

    Attributes:
        edges: shape (modes + 1,): mode i holds the codes edges[i] to edges[i + 1] - 1.
        weights: weights of the codes, from a noisy marginal, positive with sum 1; shape (size,).
    """

    edges: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def count(self) -> int:
        """The number of modes, which is the attribute's width in a record's vector."""
        return len(self.edges) - 1

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Share of the records in each mode, noisy, positive with sum 1; shape (modes,)."""
        return np.add.reduceat(self.weights, self.edges[:-1])

    @classmethod
    def of(cls, attribute: Attribute, noisy: NDArray[np.float64]) -> Modes:
        """The modes of an attribute.

        Args:
            attribute: bins of a numeric attribute may share a mode; an atom or a missing value has its own.
            noisy: noisy counts of its codes, shape (size,).
        """
        floor = max(1.0, noisy.sum()) * 1e-4
        weights = np.maximum(noisy, floor / attribute.size)
        weights = weights / weights.sum()
        bins = bins_of(attribute)
        if bins is None or attribute.size <= _FEW_BINS:
            return cls(np.arange(attribute.size + 1), weights)
        alone = weights >= _SPIKE
        alone[: len(bins.cells)] |= bins.alone
        alone[len(bins.cells) :] = True
        most = max(weights[~alone].sum() / _RUNS, 1e-12)
        edges, run = [0], 0.0
        for code in range(attribute.size):
            begins = code > 0 and (alone[code] or alone[code - 1] or run >= most)
            if begins:
                edges.append(code)
                run = 0.0
            run += weights[code]
        return cls(np.array([*edges, attribute.size]), weights)

    def encode(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """Vectors of shape (N, modes)."""
        vectors = np.zeros((len(codes), self.count), dtype=np.float32)
        vectors[np.arange(len(codes)), np.searchsorted(self.edges, codes, side="right") - 1] = 1
        return vectors

    def decode(self, mode: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Codes in these modes, drawn with probabilities proportional to their weights, shape (N,)."""
        cumulative = np.concatenate([[0.0], np.cumsum(self.weights)])
        low, high = self.edges[mode], self.edges[mode + 1]
        place = cumulative[low] + rng.random(len(mode)) * (cumulative[high] - cumulative[low])
        codes = np.searchsorted(cumulative, place, side="right") - 1
        return np.clip(codes, low, high - 1)


@dataclass(frozen=True, eq=False)
class RecordEncoding:
    """The encoding of a domain's records as vectors.

    Attributes:
        domain: domain of the records.
        modes: modes of each attribute.
    """

    domain: Domain
    modes: tuple[Modes, ...]

    @classmethod
    def of(cls, domain: Domain, one_way: Mapping[str, NDArray[np.float64]]) -> RecordEncoding:
        """The encoding that fits noisy one-way marginals."""
        return cls(domain, tuple(Modes.of(a, one_way[a.name]) for a in domain.attributes))

    @property
    def width(self) -> int:
        """Length of a record's vector."""
        return sum(modes.count for modes in self.modes)

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Vectors, shape (N, width)."""
        parts = [modes.encode(column) for modes, column in zip(self.modes, table.columns, strict=True)]
        return np.concatenate(parts, axis=1)

    def decode(self, chosen: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> Table:
        """A table from the modes of each attribute, shape (N,) each."""
        columns = [modes.decode(mode, rng) for modes, mode in zip(self.modes, chosen, strict=True)]
        return Table.from_codes(self.domain, dict(zip(self.domain.names, columns, strict=True)))
