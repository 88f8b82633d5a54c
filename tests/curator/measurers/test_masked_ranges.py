"""Openings by ranges of rows: the same answers, and after a lost connection only the range that was lost."""

import contextlib
from collections import Counter
from typing import ClassVar

import pytest
from threadpoolctl import threadpool_limits

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PartyUnavailable
from dpmosaic.common.messages import DeliveryKind, OpeningRequest
from dpmosaic.common.processes import workers as workers_module
from dpmosaic.common.processes.workers import Workers
from dpmosaic.common.protocols.masked import plan as plans
from dpmosaic.common.protocols.masked.ranges import dealt_range, left_range, right_range
from dpmosaic.common.wire import codec
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.party.institution.role import Role
from dpmosaic.party.policies.allowance import Processors
from support.grids import CLIQUES, EXACT, GRIDS, RECORDS, assert_exact, release, table_of

pytestmark = pytest.mark.slow

AT_ONCE = 13
RANGES = -(-RECORDS // AT_ONCE)


class Tap:
    """A connection that counts the ranges that are opened, loses some, and does something before others."""

    opened: ClassVar = Counter()
    lost: ClassVar = set()
    before: ClassVar = {}

    def __init__(self, link):
        self._link = link

    def call(self, method, requests):
        requests = list(requests) if method == "Open" else requests
        replies = self._link.call(method, requests)
        if method != "Open":
            return replies
        request = codec.decode(OpeningRequest, *requests)
        if request.kind is not DeliveryKind.OPENING:
            return replies
        self.opened[request.chain, request.step] += 1
        self.before.pop(request.step, lambda: None)()
        if request.step in self.lost:
            self.lost.remove(request.step)
            return self._broken(replies)
        return replies

    def _broken(self, replies):
        yield next(iter(replies))
        raise PartyUnavailable("the connection is lost")


@pytest.fixture
def tapped(monkeypatch):
    monkeypatch.setattr(plans, "OPENED_ROWS", AT_ONCE)
    monkeypatch.setattr(Tap, "opened", Counter())
    monkeypatch.setattr(Tap, "lost", set())
    monkeypatch.setattr(Tap, "before", {})
    return Tap


def measured(tap):
    table = table_of()
    measurer = release("1x2", EXACT * len(CLIQUES), table=table, tapped=tap)
    measurer._asking = Asking(away_s=60.0, sleep=lambda seconds: None)
    for found in measurer.measure([Query(View(clique), EXACT, "test") for clique in CLIQUES]):
        assert_exact(measurer, found, table)
    return tap.opened


def test_answers_are_exact_whatever_ranges_are_opened(tapped):
    opened = measured(tapped)
    assert RANGES == 5
    assert set(opened.values()) == {1}
    assert {place for _, place in opened} == set(range(RANGES))


@pytest.mark.parametrize(("grid", "dealers"), [("1x2", 1), ("2x2", 3), ("1x4", 1)])
def test_answers_are_the_same_bytes_whoever_multiplies(monkeypatch, grid, dealers):
    """Also over parties that multiply row by row first."""
    done = []
    timed = workers_module._run_timed
    monkeypatch.setattr(workers_module, "MANY_RECORDS", 1)
    monkeypatch.setattr(workers_module, "_run_timed", lambda *asked: done.append(asked[0]) or timed(*asked))

    def answers(workers):
        monkeypatch.setattr(Role, "_processors_of", lambda role, _: Processors(1e9, workers=workers))
        measurer = release(GRIDS[grid], EXACT * len(CLIQUES), dealers=dealers)
        return [
            one.values.tolist() for one in measurer.measure([Query(View(c), EXACT, "test") for c in CLIQUES])
        ]

    expected = answers(Workers())
    assert done == []
    with contextlib.closing(Workers.threads(2)) as threads, threadpool_limits(None):
        assert answers(threads) == expected
    assert set(done) == {left_range, right_range, dealt_range}


def test_a_release_goes_on_at_the_range_that_was_lost(tapped):
    tapped.lost.update({1, 3})
    opened = measured(tapped)
    assert sorted(opened.values())[-3:] == [1, 2, 2]
    assert {place for (_, place), times in opened.items() if times == 2} == {1, 3}


def test_all_is_opened_again_if_the_receiver_was_restarted_between_two_ranges(tapped):
    table, links = table_of(), []
    measurer = release("1x2", EXACT, table=table, tapped=lambda link: links.append(link) or tapped(link))
    measurer._asking = Asking(away_s=60.0, sleep=lambda seconds: None)
    tapped.before[2] = lambda: links[1].restart()
    (found,) = measurer.measure([Query(View(("a", "e")), EXACT, "test")])
    assert_exact(measurer, found, table)
    first = next(iter(tapped.opened))[0]
    assert [tapped.opened[first, place] for place in range(RANGES)] == [2, 2, 2, 1, 1]
