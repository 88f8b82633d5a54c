"""The history of a ledger: it only grows, and a copy that was restored is noticed."""

import shutil
from dataclasses import replace

import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.history import START, Mark
from dpmosaic.party.accounts.ledger import Ledger
from support.ledgers import DATA, HALF, KEY, OTHER, QUERY, SECRET, TERMS, anything
from support.terms import RELEASE_ID, id_of

PEER = b"p" * 32


def introduced(ledger, mark, release_id=RELEASE_ID):
    ledger.introduce(release_id, b"introduction", b"keys", {PEER: ("east", mark)})


def test_every_event_moves_the_mark_and_a_repetition_does_not(ledger):
    marks = [START, ledger.mark()]
    for step in (
        lambda: ledger.charge(QUERY, HALF, DATA, KEY),
        lambda: ledger.charge(OTHER, HALF, DATA, KEY),
        lambda: ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything),
        lambda: ledger.abandon(id_of("s")),
        lambda: ledger.abandon(RELEASE_ID),
    ):
        step()
        marks.append(ledger.mark())
    assert [mark.events for mark in marks] == list(range(7))
    assert len({mark.head for mark in marks}) == 7
    ledger.abandon(RELEASE_ID)
    assert ledger.mark() == marks[-1]
    for mark in marks:
        ledger.check_contains(mark)


def test_a_ledger_restored_from_an_old_copy_lacks_what_others_have_seen(ledger, path, tmp_path):
    ledger._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy2(path, tmp_path / "old.sqlite")
    ledger.charge(QUERY, HALF, DATA, KEY)
    seen = ledger.mark()
    restored = Ledger(tmp_path / "old.sqlite")
    with pytest.raises(ProtocolError, match="the ledger of this party was restored from an old copy"):
        restored.check_contains(seen)
    # It has as many events and more, but they are others.
    restored.charge(OTHER, HALF, DATA, KEY)
    restored.charge(replace(OTHER, query_id="q3"), HALF, DATA, KEY)
    with pytest.raises(ProtocolError, match="the ledger of this party was restored from an old copy"):
        restored.check_contains(seen)
    restored.close()


@pytest.mark.parametrize("stale", [Mark(4, b"h" * 32), Mark(5, b"o" * 32), START])
def test_a_peer_whose_ledger_lost_events_is_refused_also_after_a_restart(ledger, path, stale):
    introduced(ledger, Mark(5, b"h" * 32))
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything)
    ledger.close()
    again = Ledger(path)
    with pytest.raises(ProtocolError, match="ledger of party 'east' was restored from an old copy"):
        introduced(again, stale, id_of("s"))
    assert again.release(id_of("s")).introduction is None
    introduced(again, Mark(5, b"h" * 32), id_of("s"))
    again.close()


def test_a_repeated_introduction_leaves_newer_marks_behind(ledger):
    introduced(ledger, Mark(5, b"h" * 32))
    introduced(ledger, Mark(7, b"n" * 32))
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything)
    with pytest.raises(ProtocolError, match="ledger of party 'east' was restored from an old copy"):
        introduced(ledger, Mark(6, b"o" * 32), id_of("s"))


def test_a_release_that_goes_on_at_the_same_time_may_state_an_earlier_mark(ledger):
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything)
    introduced(ledger, Mark(5, b"h" * 32), id_of("s"))
    introduced(ledger, Mark(4, b"o" * 32))
    ledger.reserve(replace(TERMS, release_id=id_of("t")), DATA, SECRET, anything)
    with pytest.raises(ProtocolError, match="ledger of party 'east' was restored from an old copy"):
        introduced(ledger, Mark(4, b"o" * 32), id_of("t"))


def test_a_repeated_introduction_may_state_older_marks(ledger):
    introduced(ledger, Mark(5, b"h" * 32))
    introduced(ledger, Mark(4, b"h" * 32))


@pytest.mark.parametrize("wrong", [(-1, bytes(32)), (1 << 63, bytes(32)), (1, b"short")])
def test_a_malformed_mark_is_refused(wrong):
    with pytest.raises(ValueError, match="a mark needs"):
        Mark(*wrong)
