"""The check of openings over aligned parties: people whom a party lacks are rows of zeros, or have a code."""

from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.curator.measurers.measurer import Query
from support.aligned import AlignedRelease, People
from support.terms import terms_with

DOMAIN = Domain.coded({"a": 3, "b": 4, "c": 2})
GRID = ["ac b"]
POPULATIONS = [Population.EVERYWHERE, Population.ANYWHERE]
CHEATS = {
    "a weight": lambda row: row * np.uint32(1 << 18),
    "two values": lambda row: np.ones_like(row),
    "minus one": lambda row: -row,
}


def release(population, cheat=None):
    """A measurer of a release with the check, whose first party changes its first row that is not zero."""
    aligned = AlignedRelease(People(DOMAIN, GRID), population)
    terms = aligned.terms
    aligned.terms = terms_with(terms, plan=replace(terms.plan, check="one-hot"))
    measurer = aligned.measurer()
    if cheat is not None:
        session = aligned.links[0][0].party._releases.of(terms.release_id)._introduced_session()
        matrix = session._matrices._matrix

        def changed(chain, rows, within=None):
            blocks = np.vstack(list(matrix(chain, rows, within)))
            place = np.flatnonzero(blocks.any(axis=1))[0]
            blocks[place] = cheat(blocks[place])
            yield from (blocks[start : start + rows] for start in range(0, len(blocks), rows))

        session._matrices._matrix = changed
    return aligned, measurer


@pytest.mark.parametrize("population", POPULATIONS)
def test_honest_parties_pass_and_their_answers_are_exact(population):
    people = People(DOMAIN, GRID)
    _, measurer = release(population)
    (found,) = measurer.measure([Query(View(("a", "b")), measurer.accountant.granted / 2, "test")])
    expected = people.everywhere if population is Population.EVERYWHERE else people.anywhere
    assert np.rint(found.values).tolist() == expected(("a", "b")).tolist()


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_a_row_that_is_neither_one_hot_nor_zero_is_refused(cheat, population):
    _, measurer = release(population, cheat)
    with pytest.raises(ProtocolError, match="one value for each record from party 'party-0-0'"):
        measurer.measure([Query(View(("a", "b")), measurer.accountant.granted / 2, "test")])
