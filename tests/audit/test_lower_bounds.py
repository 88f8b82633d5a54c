"""Whole mechanisms on the smallest worst-case tables: the best distinguisher stays below the claim.

Each bound exceeds the true mu with probability at most 2e-6, for four bounds 8e-6.
"""

import pytest

from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from support.auditing import audited_mu
from support.worst_tables import MU, Pair, ratios_of, runs_of

RUNS = 120
DELTA = 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "adjacency", "protocol", "grid"),
    [
        ("independent", Adjacency.REPLACE_ONE, "trusted", "1x1"),
        ("mst", Adjacency.ZERO_OUT, "trusted", "1x1"),
        ("independent", Adjacency.REPLACE_ONE, "masked", "1x2"),
        ("mst", Adjacency.ZERO_OUT, "masked", "2x1"),
    ],
)
def test_the_best_distinguisher_of_neighbours_shows_less_than_the_claimed_epsilon(
    mechanism, adjacency, protocol, grid, monkeypatch
):
    """In a masked release, it is told the noise of one party, which is the collusion that is tolerated."""
    pair = Pair(adjacency)
    runs = runs_of(monkeypatch, mechanism_named(mechanism, "default", {}), pair, protocol, grid, RUNS)
    colluder = 0 if protocol == "masked" else None
    found = audited_mu(*(ratios_of(half, pair, colluder) for half in runs))
    assert 0.2 * MU < found <= MU
    assert 0 < gaussian_epsilon(found, DELTA) <= gaussian_epsilon(MU, DELTA)
