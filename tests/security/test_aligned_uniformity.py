"""What parties of an aligned release receive of each other's rows and presence is uniform."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked import products
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.party.answerers.masked.matrices import Matrices
from dpmosaic.party.answerers.masked.openings import Openings
from support.aligned import AlignedRelease, People

DOMAIN = Domain.coded({"a": 4, "b": 3, "c": 3, "d": 2})
CLIQUES = [("a",), ("a", "b"), ("a", "d"), ("b", "c"), ("c", "d"), ("a", "b", "c")]
FALSE_ALARM = 1e-9


def received(monkeypatch, grid):
    """Octets that parties stored of others' matrices, and those of what they multiply their rows with.

    A matrix is opened to several parties, and multiplied several times; here it is once.
    """
    stored, multiplied = [], []
    put, opened = Openings.put, Matrices.sum_of_openings

    def kept(self, key, ring, rows, cells, chunks, within=None):
        chunks = [bytes(chunk) for chunk in chunks]
        stored.extend(chunks)
        put(self, key, ring, rows, cells, chunks, within)

    def summed(self, chain, rows):
        for block in opened(self, chain, rows):
            multiplied.append(block.tobytes())
            yield block

    monkeypatch.setattr(Openings, "put", kept)
    monkeypatch.setattr(Matrices, "sum_of_openings", summed)
    people = People(DOMAIN, grid, records=300, absent=0.1, dummies=200)
    measurer = AlignedRelease(people).measurer()
    with contextlib.suppress(ProtocolError):
        measurer.measure([Query(View(clique), Fraction(1), "test") for clique in CLIQUES])
    views = (dict.fromkeys(chunks) for chunks in (stored, multiplied))
    return [np.frombuffer(b"".join(view), dtype=np.uint8) for view in views]


def uniform(octets):
    return stats.chisquare(np.bincount(octets, minlength=256)).pvalue > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("grid", [["abc d"], ["ab c d"]], ids=" / ".join)
def test_openings_and_their_sums_with_a_partys_own_share_are_uniform(monkeypatch, grid):
    """False alarms: at most 4e-9, over the keys, which are fixed."""
    for octets in received(monkeypatch, grid):
        assert octets.size > 20_000
        assert uniform(octets)


def test_openings_without_masks_are_detected(monkeypatch):
    """Wrong openings also give wrong counts, which the curator refuses."""
    monkeypatch.setattr(products, "opening", lambda matrix, mask: matrix + 0 * mask)
    assert not any(map(uniform, received(monkeypatch, ["abc d"])))
