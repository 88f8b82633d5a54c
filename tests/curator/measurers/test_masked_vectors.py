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
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.party.answerers.masked.openings import Openings
from dpmosaic.party.answerers.masked.session import MaskedSession
from support.grids import CLIQUES, EXACT, GRIDS, release

VECTORS = Path(__file__).parents[2] / "common" / "protocols" / "masked" / "vectors"
TWO_VALUES_AT_LEAST = [clique for clique in CLIQUES if "e" not in clique]


@pytest.mark.parametrize("grid", ["2x2", GRIDS["1x4"]], ids=["2x2", "1x4"])
def test_a_batch_of_queries_gives_the_shares_of_one_query_at_a_time(grid, monkeypatch):
    seeds = [RandomStream.from_seed(n).child_key() for n in range(len(release(grid)._clients))]
    queries = [Query(clique, Fraction(1, 62), "test") for clique in CLIQUES * 2]
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
    """Only the masks' seeds are set; labels, cuts, chains and the order of cells follow from the plan."""
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
        measurer.measure([Query(tuple(case["clique"]), granted / 4, "test")])
        assert seen.shares == [numbers(role["share"]) for role in case["answers"]]
    for case in vector["openings"]:
        chain = tuple(map(tuple, vector["streams"][case["mask"]]["chain"]))
        assert seen.opened[case["party"], chain] == numbers(case["opening"])
    for case in vector["row_products"]:
        chain = tuple(map(tuple, case["chain"]))
        assert seen.opened[DeliveryKind.DEALT_ROWS, chain] == numbers(case["right"]["dealt"])
    dealt = {tuple(map(tuple, case["chain"])): numbers(case["right"]["dealt"]) for case in vector["products"]}
    assert seen.dealt == dealt


def numbers(hexadecimal):
    """The words of a vector, row-major."""
    return [int(text, 16) for text in np.array(hexadecimal).ravel()]


def spied(monkeypatch, seeds):
    """Records what parties are dealt, openings, and shares of answers; masks come from these seeds."""
    seen = SimpleNamespace(opened={}, dealt={}, shares=[])
    child_key, put, share, deal = RandomStream.child_key, Openings.put, MaskedSession.share, PartyClient.deal
    planned = iter(seeds)

    def put_seen(self, key, rows, cells, chunks):
        chunks = list(chunks)
        words = np.frombuffer(b"".join(chunks), dtype=self._ring.dtype)
        seen.opened[key] = words.tolist()
        put(self, key, rows, cells, chunks)

    def deal_seen(self, delivery, blocks):
        blocks = list(blocks)
        if delivery.kind is DeliveryKind.DEALT_PRODUCT:
            seen.dealt[delivery.chain] = blocks[0].tolist()
        deal(self, delivery, blocks)

    def share_seen(self, query):
        seen.shares.append(share(self, query).tolist())
        return share(self, query)

    def seeded(self, *labels):
        if labels[0] == "masks of a release":  # the vectors give this key, not the seed
            return self._key
        return next(planned) if labels[0] == "mask seed" else child_key(self, *labels)

    monkeypatch.setattr(Openings, "put", put_seen)
    monkeypatch.setattr(PartyClient, "deal", deal_seen)
    monkeypatch.setattr(MaskedSession, "share", share_seen)
    monkeypatch.setattr(RandomStream, "child_key", seeded)
    return seen
