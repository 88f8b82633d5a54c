"""How many attributes a mechanism's marginals have at most, where that is known before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...common.data.workload import Workload
from .aim import AIM
from .bins import Bins
from .independent import Independent
from .mechanism import Mechanism
from .mst import MST
from .mwem import MWEM


def _of_the_workload(workload: Workload) -> int:
    return max(map(len, workload.cliques))


_MOST: Mapping[type, Callable[[Workload], int]] = {
    Independent: lambda workload: 1,
    Bins: lambda workload: 1,
    MST: lambda workload: 2,
    AIM: _of_the_workload,
    MWEM: _of_the_workload,
}
"""By the class itself: a subclass may measure more."""


def most_attributes(mechanism: Mechanism, workload: Workload) -> int | None:
    """Most attributes of a marginal that a run measures or scores; None if that follows from the data.

    Args:
        mechanism: configured mechanism.
        workload: marginals to preserve.
    """
    most = _MOST.get(type(mechanism))
    return None if most is None else most(workload)
