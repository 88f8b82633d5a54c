"""One party's ledger leaks, and its thief recorded what the curator relayed to that party."""

import contextlib
import hashlib
import json
import sqlite3

import pytest

from dpmosaic.common.canonical.introductions import decode_introduction
from dpmosaic.common.crypto.agreement import EphemeralKey
from dpmosaic.common.crypto.envelope import unseal
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.protocols.masked.plan import labels
from support.masked import Release
from support.terms import RELEASE_ID

NORTH, EAST = 0, 1
CHAIN = (("a",),)


def opening_of_north(path, wire):
    """North's opening for east as the thief of east's ledger reads it; None without the keys."""
    with contextlib.closing(sqlite3.connect(path)) as stolen:
        terms, secret, introduction = stolen.execute(
            "SELECT terms, secret, introduction FROM release"
        ).fetchone()
    if secret is None or introduction is None:
        return None
    digest = hashlib.sha256(terms).digest()
    north = decode_introduction(introduction).acceptances[NORTH].ephemeral
    key = EphemeralKey.from_seed(secret).pair_key(north, digest)
    context = digest + json.dumps([NORTH, EAST, "opening", "0", *labels(CHAIN)]).encode()
    return b"".join(unseal(key, context + wire[0], iter(wire[1:])))


def certified(party):
    party.certify(Claim(RELEASE_ID, bytes(32), 0.0))


def abandoned(party):
    party.abandon(RELEASE_ID)


@pytest.mark.parametrize("end", [certified, abandoned])
def test_a_ledger_that_leaks_after_the_end_opens_no_other_partys_rows(tmp_path, end):
    release = Release(folder=tmp_path).accept().introduce()
    wire = release.sealed(NORTH, CHAIN, EAST)
    # Until the end the ledger is as confidential as the rows.
    assert opening_of_north(tmp_path / "east.sqlite", wire)
    secret = release.ledgers["east"].release(RELEASE_ID).secret
    end(release.parties["east"])
    assert opening_of_north(tmp_path / "east.sqlite", wire) is None
    files = list(tmp_path.glob("east.sqlite*"))
    assert len(files) >= 2
    assert not any(secret in file.read_bytes() for file in files)
