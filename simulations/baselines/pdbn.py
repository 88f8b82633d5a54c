"""PDBN: PrivBayes across vertical parties.

Source: RandDPGen, section 6.1: "learning a K-degree Bayesian network on vertically partitioned data"; the
paper says no more about it.
"""

from __future__ import annotations

from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.privacy.budget import Budget
from ...curator.mechanisms.privbayes.privbayes import PrivBayes
from ..parties.partition import Grid
from ..simulate import simulate
from .baseline import Baseline, vertical_parties


def release(
    table: Table, grid: Grid, budget: Budget, protocol: str, label: str | None, stream: RandomStream
) -> Table:
    """The synthetic table of PrivBayes over the protocol.

    Raises:
        DataError: there is more than one slice.
    """
    vertical_parties("pdbn", table, grid)
    seed = int.from_bytes(stream.child_key("release")[:6], "big")
    return simulate(
        table, epsilon=budget, grid=grid, protocol=protocol, mechanism=PrivBayes(), seed=seed
    ).rows


PDBN = Baseline(
    "PDBN",
    "PrivBayes across parties that hold the same records, as one Bayesian network.",
    (
        "The paper says only that it learns a K-degree Bayesian network on vertically partitioned data. Here "
        "parties measure by the protocol that the line names.",
        "PrivBayes is the version of 2018 with this program's defaults, which limits tables by their noise "
        "and not by a degree K.",
    ),
    release,
)
