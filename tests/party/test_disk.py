"""A full disk: a typed answer for curators, health that says so, and no log line that ends a call."""

import contextlib
import errno
import io
import json
import shutil
import sqlite3
from collections import namedtuple

import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.formats import is_of_disk
from dpmosaic.common.messages import SignedTerms, Verdict
from dpmosaic.common.wire import codec
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.approving.approvals import Approvals
from dpmosaic.party.disk import check_room, told_if_full
from dpmosaic.party.home.folder import LEDGER
from dpmosaic.party.serving.events import Event, EventLog
from dpmosaic.party.serving.servicer import PartyServicer
from support.parties import Link, party_of, policy_for, random_table
from support.room import room
from support.terms import terms_for

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def ledger(tmp_path):
    with contextlib.closing(Ledger.create(tmp_path / LEDGER)) as made:
        yield made


def fill(ledger):
    """Lets the ledger's file grow no more, as on a full disk."""
    (pages,) = ledger._database.execute("PRAGMA page_count").fetchone()
    ledger._database.execute(f"PRAGMA max_page_count = {pages}")


class FullDisk(io.StringIO):
    def flush(self):
        raise OSError(errno.ENOSPC, "No space left on device")


def of_sqlite(code):
    error = sqlite3.OperationalError("a sentence of SQLite")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, ""), True),
        (OSError(errno.EDQUOT, ""), True),
        (OSError(errno.EACCES, ""), False),
        (of_sqlite(sqlite3.SQLITE_FULL), True),
        (of_sqlite(sqlite3.SQLITE_IOERR_SHMSIZE), True),
        (of_sqlite(sqlite3.SQLITE_READONLY_DIRECTORY), True),
        (of_sqlite(sqlite3.SQLITE_CANTOPEN), True),
        (OSError(errno.EROFS, ""), True),
        (of_sqlite(sqlite3.SQLITE_BUSY), False),
        (of_sqlite(sqlite3.SQLITE_CORRUPT), False),
        (of_sqlite(sqlite3.SQLITE_NOTADB), False),
        (ValueError(), False),
    ],
)
def test_tells_a_full_disk_from_other_errors(error, full):
    assert is_of_disk(error) is full


def test_a_curator_is_told_that_the_disk_is_full_and_can_resume(ledger):
    # Terms that need a page of their own.
    table = random_table(Domain.coded({letter * 1_000: 2 for letter in "abcde"}), 9)
    party = party_of("north", table, policy_for("indicator"), ledger=ledger)
    link, signed = Link(party), codec.encode(SignedTerms(encode_terms(terms_for(party))))
    fill(ledger)
    with pytest.raises(PartyUnavailable, match="its disk is full or fails; its operator makes room"):
        list(link.call("Accept", [signed]))
    ledger._database.execute("PRAGMA max_page_count = 1073741823")
    assert list(link.call("Accept", [signed]))


def test_a_call_does_not_end_because_its_line_cannot_be_logged():
    log = EventLog(local := io.StringIO(), FullDisk())
    log(Event("call", "Answer"))
    assert json.loads(local.getvalue())["method"] == "Answer"


def test_a_check_of_the_ledger_writes_to_it(ledger, tmp_path):
    wal = tmp_path / f"{LEDGER}-wal"
    before = wal.stat().st_size
    ledger.check_writable()
    assert wal.stat().st_size > before


def test_a_disk_with_little_room_fails_the_check_and_every_review(ledger, tmp_path, monkeypatch):
    check_room(tmp_path, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1, 1, 0))
    with pytest.raises(DataError, match="less than 64 MiB left"):
        check_room(tmp_path)
    party = party_of("north", random_table(Domain.coded({"a": 2}), 9), policy_for("indicator"), ledger=ledger)
    checks = {"disk": lambda: check_room(tmp_path), "ledger": ledger.check_writable}
    signed = codec.encode(SignedTerms(encode_terms(terms_for(party))))
    (reply,) = PartyServicer(party, checks=checks).serve("Review", iter([signed]), b"")
    (refusal,) = codec.decode(Verdict, reply).refusals
    assert str(refusal) == "its disk is nearly full; its operator makes room"


def test_an_operator_reads_a_sentence_in_place_of_a_traceback(tmp_path):
    with pytest.raises(DataError, match="make room and try again"), told_if_full(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError), told_if_full(tmp_path):
        raise PermissionError


def test_a_review_tells_nothing_of_the_partys_files(ledger):
    def missing():
        raise DataError("expected a file at /srv/clinic/rows.csv, found none; fix the path")

    party = party_of("north", random_table(Domain.coded({"a": 2}), 9), policy_for("indicator"), ledger=ledger)
    signed = codec.encode(SignedTerms(encode_terms(terms_for(party))))
    servicer = PartyServicer(party, checks={"source": missing, "reload": missing})
    (reply,) = servicer.serve("Review", iter([signed]), b"")
    told = [str(refusal) for refusal in codec.decode(Verdict, reply).refusals]
    assert told[0].startswith("its rows cannot be read, or were replaced")
    assert told[1].startswith("the check of its reload fails")
    assert "clinic" not in "".join(told)


def open_ledger(folder):
    Ledger(folder / LEDGER).close()


def open_approvals(folder):
    Approvals(folder / "approvals.sqlite", Identity.generate()).close()


@pytest.mark.parametrize("opened", [open_ledger, open_approvals])
def test_a_whole_file_on_a_full_disk_is_not_called_damaged(tmp_path, opened):
    Ledger.create(tmp_path / LEDGER).close()
    open_approvals(tmp_path)
    with room(0), pytest.raises(DataError, match="make room"), told_if_full(tmp_path):
        opened(tmp_path)
    opened(tmp_path)


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_damaged_file_is_called_so(tmp_path, content):
    (tmp_path / LEDGER).write_bytes(content)
    (tmp_path / LEDGER).chmod(0o600)
    with pytest.raises(DataError, match="or a damaged one; restore a backup"):
        Ledger(tmp_path / LEDGER)
