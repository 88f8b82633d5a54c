"""Records as vectors: of each attribute's modes one number is 1.

Source: the mode-specific normalisation of CTGAN (Xu et al. 2019), which fits its modes to the exact column
and has a network say where inside its mode a number lies. Here modes come from a noisy one-way marginal,
so that they are public: a bin that many records share is a mode of its own, and the bins between such bins
are cut into runs of about the same weight. Where inside a run a number lies is drawn from that marginal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.attribute import Attribute, NumericAttribute
from ....common.data.domain import Domain
from ....common.data.table import Table

_FEW = 12
"""Numeric attributes of no more bins have a mode for each."""

_RUNS = 8
"""Modes of the bins that are not modes of their own, at most."""

_SPIKE = 0.05
"""A bin with at least this share of the records is a mode of its own."""


@dataclass(frozen=True, eq=False)
class Modes:
    """One attribute's modes: consecutive runs of codes.

    Attributes:
        edges: shape (modes + 1,): mode i holds the codes edges[i] to edges[i + 1] - 1.
        weights: of the codes, from a noisy marginal, positive and adding up to 1; shape (size,).
    """

    edges: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def count(self) -> int:
        """The number of modes, and of numbers in a record's vector."""
        return len(self.edges) - 1

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Of the records, noisy, positive and adding up to 1; shape (modes,)."""
        return np.add.reduceat(self.weights, self.edges[:-1])

    @classmethod
    def of(cls, attribute: Attribute, noisy: NDArray[np.float64]) -> Modes:
        """The modes of an attribute.

        Args:
            attribute: numeric ones may share a mode between codes; a missing value has its own.
            noisy: counts of its codes with noise, shape (size,).
        """
        floor = max(1.0, noisy.sum()) * 1e-4
        weights = np.maximum(noisy, floor / attribute.size)
        weights = weights / weights.sum()
        if not isinstance(attribute, NumericAttribute) or attribute.size <= _FEW:
            return cls(np.arange(attribute.size + 1), weights)
        alone = weights >= _SPIKE
        alone[attribute.bins :] = True
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
        """Codes of these modes, drawn by their weights, shape (N,)."""
        cumulative = np.concatenate([[0.0], np.cumsum(self.weights)])
        low, high = self.edges[mode], self.edges[mode + 1]
        place = cumulative[low] + rng.random(len(mode)) * (cumulative[high] - cumulative[low])
        codes = np.searchsorted(cumulative, place, side="right") - 1
        return np.clip(codes, low, high - 1)


@dataclass(frozen=True, eq=False)
class RecordEncoding:
    """How records of a domain become vectors.

    Attributes:
        domain: of the records.
        modes: of each attribute.
    """

    domain: Domain
    modes: tuple[Modes, ...]

    @classmethod
    def of(cls, domain: Domain, one_way: Mapping[str, NDArray[np.float64]]) -> RecordEncoding:
        """The encoding that fits noisy one-way marginals."""
        return cls(domain, tuple(Modes.of(a, one_way[a.name]) for a in domain.attributes))

    @property
    def width(self) -> int:
        """Numbers in a record's vector."""
        return sum(modes.count for modes in self.modes)

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Vectors, shape (N, width)."""
        parts = [modes.encode(column) for modes, column in zip(self.modes, table.columns, strict=True)]
        return np.concatenate(parts, axis=1)

    def decode(self, chosen: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> Table:
        """A table from each attribute's modes, shape (N,) each."""
        columns = [modes.decode(mode, rng) for modes, mode in zip(self.modes, chosen, strict=True)]
        return Table.from_codes(self.domain, dict(zip(self.domain.names, columns, strict=True)))
