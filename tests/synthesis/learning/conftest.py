"""What the tests of the first step share: exact counts, and learning of a data frame."""

from contextlib import closing
from fractions import Fraction

import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.simulations.tables.frames import raw_table
from dpmosaic.synthesis.learning.asking import Rows
from dpmosaic.synthesis.learning.cells import Cells
from dpmosaic.synthesis.learning.learning import learn
from dpmosaic.synthesis.learning.private_counts import PrivateCounts

EXACT = 1e8
"""A cost, zCDP, under which the noise of a count is below a thousandth of a row."""


def counts_of(zcdp_rho, seed=1, adjacency=Adjacency.ADD_REMOVE):
    """What counts rows within a grant."""
    return PrivateCounts(Fraction(zcdp_rho), PrivacyUnit(adjacency), RandomStream.from_seed(seed))


@pytest.fixture
def private_counts():
    """Makes what counts rows within a grant."""
    return counts_of


@pytest.fixture
def learned():
    """Learns the columns of a data frame from counts that are exact."""

    def learning(rows, zcdp_rho=EXACT, seed=1):
        raw = raw_table(rows)
        with closing(Cells.of(raw.source, raw.timezones)) as cells:
            return learn(cells, counts_of(zcdp_rho, seed), Rows(len(rows)), zcdp_rho, 1e-9)

    return learning
