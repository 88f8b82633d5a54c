"""Ind-PrivBayes: every horizontal party makes its own synthetic rows, and the union of these is the result.

Source: RandDPGen, section 6.1. A record is with one party, so each spends the whole budget (parallel
composition).
"""

from __future__ import annotations

from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.privacy.budget import Budget
from ...curator.mechanisms.privbayes.privbayes import PrivBayes
from ..partition import Grid
from ..simulate import simulate
from .baseline import Baseline, horizontal_parties


def release(
    table: Table, grid: Grid, budget: Budget, protocol: str, label: str | None, stream: RandomStream
) -> Table:
    """The union of what each party makes alone; nobody else sees its rows, whatever the protocol.

    Raises:
        DataError: a party does not hold all attributes.
    """
    made = []
    for number, rows in enumerate(horizontal_parties("ind-privbayes", table, grid)):
        seed = int.from_bytes(stream.child_key("party", str(number))[:6], "big")
        # PrivBayes learns the same whatever the workload, which says what error bounds are worked out for.
        found = simulate(
            rows, budget=budget, protocol="trusted", mechanism=PrivBayes(), workload="1way", seed=seed
        )
        made.append(found.synthetic)
    return Table.concatenate(made)


IND_PRIVBAYES = Baseline(
    "Ind-PrivBayes",
    "Every party that holds whole rows runs PrivBayes on them alone; the union of the rows is the result.",
    (
        "PrivBayes is the version of 2018 with this program's defaults; the paper compares with that of "
        "2017, whose scores are mutual information and whose noise is Laplace noise.",
        "A party's noise is discrete Gaussian, and each party spends the whole budget: a record is with one "
        "party.",
    ),
    release,
)
