"""Where alignments put the rows: kept with the ledger, counted once certified, for the same rows only."""

import numpy as np
import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.promises.statement import Claim
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.accounts.rows import Placement
from support.ledgers import DATA
from support.terms import RELEASE_ID

OTHER_ROWS = "e" * 64


def placed(*positions, size=9, people=((4, -2, 5), (1,))):
    return Placement(size, people, np.array(positions, dtype=np.int32))


def certified(ledger):
    ledger.certify(Claim(RELEASE_ID, bytes(32), 1.0))
    return ledger


def test_a_placement_is_read_as_it_was_stored_also_after_a_restart(ledger, path):
    ledger.place(RELEASE_ID, placed(3, -1, 0))
    certified(ledger).close()
    found = Ledger(path).alignment(RELEASE_ID, DATA).placement
    assert (found.size, found.people, found.positions.tolist()) == (9, ((4, -2, 5), (1,)), [3, -1, 0])


def test_a_placement_counts_once_its_alignment_is_certified_and_for_the_same_rows(ledger):
    ledger.place(RELEASE_ID, placed(3, -1, 0))
    assert ledger.placements(DATA) == ()
    with pytest.raises(ProtocolError, match="expected a finished alignment of the current rows"):
        ledger.alignment(RELEASE_ID, DATA)
    certified(ledger)
    assert ledger.placements(DATA) == (RELEASE_ID,)
    assert ledger.placements(OTHER_ROWS) == ()
    with pytest.raises(ProtocolError, match="expected a finished alignment of the current rows"):
        ledger.alignment(RELEASE_ID, OTHER_ROWS)


def test_an_abandoned_alignment_places_nothing(ledger):
    ledger.place(RELEASE_ID, placed(0))
    ledger.abandon(RELEASE_ID)
    assert ledger.placements(DATA) == ()


@pytest.mark.parametrize(
    "other", [placed(3, 0, -1), placed(3, -1, 0, size=8), placed(3, -1, 0, people=((4, -2, 6), (1,)))]
)
def test_rows_are_placed_once(ledger, other):
    for _ in range(2):
        ledger.place(RELEASE_ID, placed(3, -1, 0))
    with pytest.raises(ProtocolError, match="placed otherwise before"):
        ledger.place(RELEASE_ID, other)
    certified(ledger)
    with pytest.raises(ProtocolError, match="certified"):
        ledger.place(RELEASE_ID, placed(3, -1, 0))
