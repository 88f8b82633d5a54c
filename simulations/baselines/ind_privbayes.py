"""Ind-PrivBayes: every horizontal party makes its own synthetic rows; their union is the result.

Source: RandDPGen, section 6.1. Each record belongs to one party, so each party spends the whole budget
(parallel composition).
"""

from __future__ import annotations

from ...common.crypto.randomness import RandomStream
from ...common.data.table import Table
from ...common.privacy.budget import Budget
from ...curator.mechanisms.privbayes.privbayes import PrivBayes
from ..parties.partition import Grid
from ..simulate import simulate
from .baseline import Baseline, horizontal_parties


def release(
    table: Table, grid: Grid, budget: Budget, protocol: str, label: str | None, stream: RandomStream
) -> Table:
    """The union of the parties' synthetic rows; nobody else sees a party's rows, whatever the protocol.

    Raises:
        DataError: a party does not hold all attributes.
    """
    made = []
    for number, rows in enumerate(horizontal_parties("ind-privbayes", table, grid)):
        seed = int.from_bytes(stream.child_key("party", str(number))[:6], "big")
        # PrivBayes ignores the workload; a small one saves the computation of error bounds.
        found = simulate(
            rows, epsilon=budget, protocol="trusted", mechanism=PrivBayes(), workload="1way", seed=seed
        )
        made.append(found.rows)
    return Table.concatenate(made)


IND_PRIVBAYES = Baseline(
    "Ind-PrivBayes",
    "Every party holds all attributes of its records and runs PrivBayes on them; the result is the union of "
    "the rows.",
    (
        "PrivBayes is the version of 2018 with this program's defaults; the paper compares with that of "
        "2017, whose scores are mutual information and whose noise is Laplace noise.",
        "A party's noise is discrete Gaussian, and each party spends the whole budget: a record belongs to "
        "one party.",
    ),
    release,
)
