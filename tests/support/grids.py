"""Grids of parties, and releases by the protocol `masked` over them.

Counts are exact after rounding if the budget is so large that all noise together stays below half a count.
Draws are cut at a fixed number of deviations, so these checks have no false alarms.
"""

import itertools
from fractions import Fraction

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.privacy.cost import Adjacency, gaussian_sigma, grid_of
from support.parties import layout, measurer_over, random_table

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 4, "e": 1})
CLIQUES = [c for size in range(1, 6) for c in itertools.combinations(DOMAIN.names, size)]
RECORDS = 60
EXACT = Fraction(10**7)
"""The cost of a query whose noise is far below half a count; 31 of them fit 32 bits for 60 records."""

EXACT_64 = 300 * EXACT
"""The same with noise so fine that its grid takes 64 bits."""


def table_of(domain=DOMAIN, records=RECORDS):
    return random_table(domain, records)


def release(grid="2x2", granted=Fraction(1), *, table=None, **options):
    """The measurer of a release over the parties of a grid."""
    return measurer_over(table or table_of(), grid, granted, **options)


GRIDS = {
    "1x1": "1x1",
    "1x2": "1x2",
    "2x2": "2x2",
    "3x3": "3x3",
    "1x4": (layout(RECORDS, "ae c b d"),),
    "parties of one attribute each": (layout(RECORDS, "e d c b a"),),
    "other splits and numbers of parties": (
        layout(20, "abcde"),
        layout(15, "ac bde"),
        layout(18, "be d ac"),
        layout(7, "a b c d e"),
    ),
    "slices of one record": (layout(1, "a bd ce"), layout(RECORDS - 2, "abd c e"), layout(1, "abcde")),
}


def assert_exact(measurer, found, table):
    """All cells are the exact counts once rounded: the noise of all parties cannot reach half a count."""
    sigma = gaussian_sigma(Fraction(found.zcdp_rho), Adjacency.ZERO_OUT)
    assert measurer._plan.noise.largest(sigma) / grid_of(sigma) < 1 / 2
    assert np.rint(found.values).astype(int).tolist() == table.marginal(found.clique).tolist()
