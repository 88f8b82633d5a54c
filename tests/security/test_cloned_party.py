"""A party's process is cloned, as a snapshot of its virtual machine that is started twice."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
import numpy as np
from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.randomness import fresh_key
from dpmosaic.common.data.table import Table
from dpmosaic.party.accounts.ledger import Ledger
from support.lone_party import DOMAIN, IDENTITY, POLICY, QUERY, TERMS
from support.parties import party_of

table = Table.from_codes(DOMAIN, np.zeros((700, 3), dtype=np.int64))
party = party_of("north", table, POLICY, ledger=Ledger(), keys=fresh_key, identity=IDENTITY)
party.accept(encode_terms(TERMS))
os.fork()
party.answer(QUERY)
(key,) = party._ledger._database.execute("SELECT noise_key FROM answer").fetchone()
os.write(1, key.hex().encode() + b"\\n")
"""


@pytest.mark.slow
def test_two_clones_of_a_party_draw_different_noise_keys():
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert len(set(finished.stdout.split())) == 2
