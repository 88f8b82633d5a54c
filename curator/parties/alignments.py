"""The alignments that a curator made, which later releases over the same rows use again."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.protocols.aligned import Alignment


@dataclass(frozen=True)
class Aligned:
    """A finished alignment, as a release over its parties uses it.

    Attributes:
        alignment: what plans state of it.
        sizes: number of positions of each slice; public.
    """

    alignment: Alignment
    sizes: tuple[int, ...]
