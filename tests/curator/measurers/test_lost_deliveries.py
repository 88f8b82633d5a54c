"""What a restarted participant lost is delivered again, and nothing that others still have."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.wire import streams
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.asking import Asking
from support.parties import Link, measurer_over

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4})
PAIRS = [Query(View(clique), 50.0, "pairs") for clique in (("a", "b"), ("b", "c"), ("a", "c"))]


class Counted:
    """A connection that counts the openings that each participant receives."""

    def __init__(self, link):
        self.link, self.openings = link, 0

    def call(self, method, requests):
        if method == "Deliver":
            requests = list(requests)
            if streams.decode_delivery(iter(requests))[0].kind is DeliveryKind.OPENING:
                self.openings += 1
        yield from self.link.call(method, requests)


@pytest.fixture
def parties():
    """A measurer over three parties of a slice, and their connections."""
    made = []

    def tapped(link):
        made.append(Counted(link))
        return made[-1]

    rng = np.random.default_rng(3)
    table = Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, 50) for n in DOMAIN.sizes]))
    measurer = measurer_over(table, "1x3", Fraction(10**6), tapped=tapped)
    measurer._asking = Asking(away_s=10.0, sleep=lambda seconds: None)
    return measurer, [one for one in made if isinstance(one.link, Link)]


def measured(measurer, queries):
    return [one.values.tolist() for query in queries for one in measurer.measure([query])]


def test_only_the_restarted_party_gets_its_openings_again(parties):
    measurer, (first, second, third) = parties
    before = measured(measurer, PAIRS)
    assert [one.openings for one in (first, second, third)] == [2, 2, 2]
    second.link.restart()
    again = measured(measurer, PAIRS)
    assert [one.openings for one in (first, second, third)] == [2, 4, 2]
    assert np.abs(np.concatenate(before) - np.concatenate(again)).max() < 40


def test_everything_is_delivered_again_if_the_participant_is_not_known(parties, monkeypatch):
    measurer, connections = parties
    measured(measurer, PAIRS)
    forget = measurer._products.forget

    def unknown(lost):
        lost.at = None
        forget(lost)

    monkeypatch.setattr(measurer._products, "forget", unknown)
    connections[1].link.restart()
    measured(measurer, PAIRS)
    assert [one.openings for one in connections] == [4, 4, 4]


def test_everything_is_delivered_again_if_the_wrong_participant_was_named(parties, monkeypatch):
    measurer, connections = parties
    measured(measurer, PAIRS)
    forget = measurer._products.forget

    def mistaken(lost):
        lost.at = measurer._clients[0]
        forget(lost)

    monkeypatch.setattr(measurer._products, "forget", mistaken)
    connections[1].link.restart()
    assert len(measured(measurer, PAIRS)) == len(PAIRS)
