"""A trained generator as a released model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.table import Table
from ...pgm import archive
from ..parts.records import SelectedRecords
from .encoding import RecordEncoding
from .networks import Generator, gumbel_like

_GENERATED_AT_ONCE = 1 << 15


class GeneratorModel:
    """Draws rows independently of each other; a `ReleasedModel`.

    Args:
        encoding: encoding of the records.
        generator: trained generator; public.
        records: number of records; the sum of each marginal.
        stream: randomness of the rows over which marginals are counted.
    """

    def __init__(
        self, encoding: RecordEncoding, generator: Generator, records: int, stream: RandomStream
    ) -> None:
        self._encoding = encoding
        self._generator = generator.cpu().eval()
        self.domain = encoding.domain
        self.cliques: tuple[Clique, ...] = (self.domain.names,)
        counted = self.generate(max(records, _GENERATED_AT_ONCE), stream.generator())
        self._sample = SelectedRecords(counted, self.cliques, records)

    @property
    def size_mb(self) -> float:
        """Memory of the network, in MiB."""
        return sum(p.numel() * p.element_size() for p in self._generator.parameters()) / 2**20

    def marginal(self, clique: Iterable[str]) -> NDArray[np.float64]:
        """Counts of a fixed sample of generated rows, scaled to the number of records; shape (n_r,)."""
        return self._sample.marginal(clique)

    def marginals_within_limits(self, cliques: Iterable[Clique]) -> list[NDArray[np.float64] | None]:
        """Several marginals."""
        return self._sample.marginals_within_limits(cliques)

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        """Rows drawn independently; the seed of `rng` determines them."""
        random = torch.Generator().manual_seed(int(rng.integers(2**62)))
        tables = []
        for start in range(0, rows, _GENERATED_AT_ONCE):
            count = min(_GENERATED_AT_ONCE, rows - start)
            with torch.no_grad():
                chosen = self._generator.choose(
                    torch.randn((count, self._generator.latent), generator=random),
                    gumbel_like((count, self._encoding.width), random),
                )
            tables.append(self._encoding.decode([modes.numpy() for modes in chosen], rng))
        return Table.concatenate(tables)

    def save(self, path: str | Path) -> None:
        """Write the network's weights, and each attribute's modes with the weights of their codes."""
        arrays = {f"weights_{name}": value.numpy() for name, value in self._generator.state_dict().items()}
        for name, modes in zip(self._encoding.domain.names, self._encoding.modes, strict=True):
            arrays[f"modes_{name}"] = modes.edges
            arrays[f"within_{name}"] = modes.weights
        archive.write(path, {"format": archive.GENERATOR}, arrays)
