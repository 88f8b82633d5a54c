"""Openings, dealt words and shares of the whole stack, against vectors and against each other."""

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import Dealing
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.answerers.masked.openings import Openings
from dpmosaic.party.answerers.masked.rows import DealtRows
from dpmosaic.party.answerers.masked.session import MaskedSession
from support.grids import CLIQUES, EXACT, GRIDS, release

VECTORS = Path(__file__).parents[2] / "common" / "protocols" / "masked" / "vectors"
TWO_VALUES_AT_LEAST = [clique for clique in CLIQUES if "e" not in clique]


@pytest.mark.slow
@pytest.mark.parametrize("grid", ["2x2", GRIDS["1x4"]], ids=["2x2", "1x4"])
def test_a_batch_of_queries_gives_the_shares_of_one_query_at_a_time(grid, monkeypatch):
    seeds = [RandomStream.from_seed(n).child_key() for n in range(len(release(grid)._clients))]
    queries = [Query(View(clique), Fraction(1, 62), "test") for clique in CLIQUES * 2]
    with monkeypatch.context() as patched:
        together = spied(patched, seeds)
        release(grid).measure(queries)
    with monkeypatch.context() as patched:
        apart = spied(patched, seeds)
        source = release(grid)
        for query in queries:
            source.measure([query])
    assert len(together.shares) == len(queries) * len(seeds)
    assert together.shares == apart.shares


@pytest.mark.parametrize("vector", sorted(VECTORS.iterdir()), ids=lambda path: path.stem)
def test_openings_dealt_words_and_shares_match_the_vectors(vector, monkeypatch):
    """Only seeds are set; labels, cuts, chains and the order of cells follow from the plan."""
    vector = json.loads(vector.read_text())
    ring = Ring(vector["bits"])
    seen = spied(monkeypatch, [bytes.fromhex(seed) for seed in vector["mask_seeds"]])
    rows = [row for piece in vector["slices"] for row in piece["records"]]
    table = Table.from_codes(Domain.coded(vector["domain"]), np.array(rows))
    grid = [(len(s["records"]), tuple(map(tuple, s["parties"]))) for s in vector["slices"]]
    granted = EXACT if ring.bits == 32 else 10**4 * EXACT
    measurer = release(grid, granted, table=table)
    assert measurer._plan.ring == ring
    for case in vector["sums"]:
        seen.shares.clear()
        measurer.measure([Query(View(tuple(case["clique"])), granted / 4, "test")])
        assert seen.shares == [numbers(role["share"]) for role in case["answers"]]
    for case in vector["openings"]:
        chain = tuple(map(tuple, vector["streams"][case["mask"]]["chain"]))
        assert seen.opened[case["party"], chain] == numbers(case["opening"])
    for case in vector["row_products"]:
        chain = tuple(map(tuple, case["chain"]))
        key = DeliveryKind.DEALT_ROWS, chain
        (dealt,) = (words for put, words in seen.opened.items() if put[::2] == key)
        assert [word % 2**ring.bits for word in dealt] == numbers(case["right"]["dealt"])
    dealt = {tuple(map(tuple, case["chain"])): numbers(case["right"]["dealt"]) for case in vector["products"]}
    assert seen.dealt == dealt


def numbers(hexadecimal):
    """The words of a vector, row-major."""
    return [int(text, 16) for text in np.array(hexadecimal).ravel()]


class Widened:
    """A stream of words of 64 bits, of which the low bits are the words of a stream of 32 bits."""

    def __init__(self, stream):
        self.stream = stream

    def bytes(self, count):
        return self.stream.bytes(count // 2).view("<u4").astype("<u8").view(np.uint8)


def spied(monkeypatch, seeds):
    """Records what is dealt, openings, and shares of answers; masks and pads come from these seeds."""
    seen = SimpleNamespace(opened={}, dealt={}, shares=[])
    child_key, put, share = RandomStream.child_key, Openings.put, MaskedSession.share
    deal = Dealing._products

    def put_seen(self, key, ring, rows, cells, chunks, within=None):
        chunks = list(chunks)
        words = np.frombuffer(b"".join(chunks), dtype=ring.dtype)
        seen.opened[key] = words.tolist()
        put(self, key, ring, rows, cells, chunks, within)

    def deal_seen(self, chains, number):
        dealt = deal(self, chains, number)
        seen.dealt |= {chain: words.tolist() for chain, words in dealt.items()}
        return dealt

    def share_seen(self, *asked):
        seen.shares.append(share(self, *asked).tolist())
        return share(self, *asked)

    def seeded(self, *names):
        # The vectors give this key, not the seed.
        return self._key if names[0] == "masks of a release" else child_key(self, *names)

    def pad(plan, owner, kind, chain):
        stream = RandomStream(seeds[owner]).child(kind, *labels(chain))
        return stream if kind == "product share" or plan.ring.bits == 64 else Widened(stream)

    monkeypatch.setattr(Openings, "put", put_seen)
    monkeypatch.setattr(MaskedSession, "share", share_seen)
    monkeypatch.setattr(RandomStream, "child_key", seeded)
    monkeypatch.setattr(Dealing, "_products", deal_seen)
    monkeypatch.setattr(Dealing, "_seeds", lambda self, party, number: {0: seeds[party]})
    monkeypatch.setattr(Dealing, "_pad", lambda self, *names: pad(self._plan, *names))
    monkeypatch.setattr(DealtRows, "pads", lambda self, *names: [pad(self._plan, self._me, *names)])
    return seen
