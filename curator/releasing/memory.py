"""Memory that the noisy marginals of a release take at the curator, from the steps of its mechanism only."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...common.data.domain import Domain
from ...common.errors import ModelError
from ..mechanisms.parts.steps import Asks, Step

_MODEL_CELL_BYTES = 16
"""Of one cell: a noisy count, and its place in the model's loss."""

_MIB = 2**20


def needed_bytes(domain: Domain, steps: Sequence[Step]) -> int:
    """Upper bound of the bytes of all marginals that the steps measure or score.

    Args:
        domain: domain of the whole table.
        steps: steps of the mechanism.
    """
    cells = 0
    for step in steps:
        sizes = sorted((view.cells(domain) for view in step.asked), reverse=True)
        # The references of scores are kept for one round only.
        times = 1 if step.asks is Asks.SCORES else step.times
        cells += times * sum(sizes[: step.most])
    return _MODEL_CELL_BYTES * cells


def machine_bytes() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(domain: Domain, steps: Sequence[Step], available: int | None = None) -> int:
    """Refuses a release whose marginals cannot fit into the memory, before anything is charged.

    Args:
        domain: domain of the whole table.
        steps: steps of the mechanism.
        available: bytes of memory; None for those of this machine.

    Returns:
        The bytes that it needs, at most.

    Raises:
        ModelError: they do not fit.
    """
    needed, held = needed_bytes(domain, steps), machine_bytes() if available is None else available
    if needed > held:
        raise ModelError(
            f"the marginals of the release need up to {needed // _MIB:,} MiB, and this machine has "
            f"{held // _MIB:,}; plan a smaller workload, declare fewer values, or use a larger machine"
        )
    return needed
