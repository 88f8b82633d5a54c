"""A pinned curator tries to use up the memory, the disk or the time of a party; nothing is charged for it."""

import sys
import tracemalloc
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import BudgetError, DeliveriesLost, PolicyError, ProtocolError
from dpmosaic.common.frames import MESSAGE_BYTES
from dpmosaic.common.messages import AnswerRequest, Delivery, DeliveryKind, MultiplyRequest
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire import codec
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.policies.allowance import Processors
from support.changed import changed
from support.lone_party import DOMAIN, IDENTITY, POLICY, QUERY, TERMS
from support.masked import POLICY as MASKED_POLICY
from support.masked import Release, plan_of
from support.masked import terms_of as masked_terms
from support.parties import Link, party_of
from support.terms import RELEASE_ID, terms_for

MB = 1 << 20
WIDE = Table.from_codes(Domain.coded({"w": 65_536, "x": 2}), np.zeros((20, 2), dtype=np.int64))
WIDE_SCORES = ScoreQuery(RELEASE_ID, "s", (View(("w",)),) * 400, 1e3, bytes(32), 0, 0)


@contextmanager
def little_memory():
    """Fails if more than 4 MiB are allocated at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 4 * MB
    finally:
        tracemalloc.stop()


def unread():
    """The chunks of a delivery that has to be refused before they are read, but for a salt."""
    yield bytes(32)
    raise AssertionError("the delivery was read")


@pytest.fixture
def table():
    return Table.from_codes(DOMAIN, np.zeros((700, len(DOMAIN)), dtype=np.int64))


def wide_parties(granted_rho, **limits):
    """Three slices with 65,536 cells, so that 400 marginals take 100 MiB."""
    policy = replace(MASKED_POLICY, max_cells=65_536, **limits)
    grid = {name: (number, ("w", "x")) for number, name in enumerate(("north", "south", "west"))}
    plan = replace(plan_of(grid, records=(20, 30, 5), domain=WIDE.domain), evaluators=(1, 0, 2))
    release = Release(replace(masked_terms(plan), granted_rho=granted_rho), policy=policy)
    return release.accept().introduce()


@pytest.mark.parametrize(
    ("granted", "limit_mb", "error"),
    [(1e9, 64, PolicyError), (1e-9, 1 << 20, BudgetError)],
    ids=["memory", "budget"],
)
def test_four_kilobytes_of_score_query_take_no_memory_and_no_budget(granted, limit_mb, error):
    release = wide_parties(granted, max_memory_mb=limit_mb)
    assert len(codec.encode(WIDE_SCORES)) < 4096
    with little_memory(), pytest.raises(error):
        release.parties["north"].prepare_scores(WIDE_SCORES)
    assert release.spent() == {"north": 0, "south": 0, "west": 0}


def test_a_single_party_bounds_the_cells_of_all_cliques_together():
    ledger, policy = Ledger(), replace(POLICY, max_cells=65_536, max_memory_mb=64)
    party = party_of("north", WIDE, policy, ledger=ledger)
    party.accept(
        encode_terms(terms_for(party, protocol="trusted", adjacency=Adjacency.REPLACE_ONE, granted_rho=1e6))
    )
    with little_memory(), pytest.raises(PolicyError, match="max_memory_mb"):
        party.prepare_scores(WIDE_SCORES)
    assert ledger.cost_of(RELEASE_ID) == 0
    party.prepare_scores(changed(WIDE_SCORES, cliques=[view.clique for view in WIDE_SCORES.views[:20]]))
    ledger.close()


def test_score_queries_that_are_not_finished_count_together():
    release = wide_parties(1e9, max_memory_mb=64)
    north = release.parties["north"]
    for name in ("s1", "s2"):
        north.prepare_scores(changed(WIDE_SCORES, query_id=name, cliques=(("w",),) * 2))
    spent = release.spent()
    with pytest.raises(PolicyError, match="max_memory_mb"):
        north.prepare_scores(changed(WIDE_SCORES, query_id="s3", cliques=(("w",),) * 2))
    assert release.spent() == spent


def test_only_the_latest_score_queries_are_kept():
    release = wide_parties(1e9)
    north, small = release.parties["north"], changed(WIDE_SCORES, cliques=(("x",),))
    for number in range(9):
        north.prepare_scores(replace(small, query_id=str(number)))
    with pytest.raises(DeliveriesLost, match="prepare it first"):
        north.answer_scores(replace(small, query_id="0"))
    spent = release.spent()
    north.prepare_scores(replace(small, query_id="0"))
    assert release.spent() == spent


PAIR, OTHER_PAIR = (("a",), ("c",)), (("b",), ("c",))


def test_dealt_rows_beyond_the_disk_are_refused_before_they_are_read():
    """15,000 records of 8 words of 64 bits fit 1 MiB, those of 12 do not fit beside them."""
    plan = plan_of(records=(15_000, 25))
    release = Release(masked_terms(plan), policy=replace(MASKED_POLICY, max_disk_mb=1))
    release.accept().introduce()
    east = release.parties["east"]
    release.deal(replace(release.dealing_of(DeliveryKind.DEALT_ROWS, PAIR), owner=0))
    rows = Delivery(RELEASE_ID, DeliveryKind.DEALT_ROWS, OTHER_PAIR, sender=4, owner=0)
    with pytest.raises(PolicyError, match="max_disk_mb"):
        east.deliver(rows, unread())


def test_an_opening_beyond_the_disk_is_refused_before_it_is_read():
    plan = plan_of(records=(150_000, 25))
    release = Release(masked_terms(plan), policy=replace(MASKED_POLICY, max_disk_mb=1))
    release.accept().introduce()
    opening = Delivery(RELEASE_ID, DeliveryKind.OPENING, (("a",),), sender=0)
    with pytest.raises(PolicyError, match="max_disk_mb"):
        release.parties["east"].deliver(opening, unread())


@pytest.mark.parametrize("kind", [DeliveryKind.OPENING, DeliveryKind.DEALT_ROWS], ids=lambda kind: kind.name)
def test_a_matrix_of_more_cells_than_a_marginal_may_have_is_refused(kind):
    release = Release(policy=replace(MASKED_POLICY, max_cells=1)).accept().introduce()
    chain = PAIR if kind is DeliveryKind.DEALT_ROWS else (("a",),)
    with pytest.raises(PolicyError, match="max_cells"):
        release.parties["east"].deliver(Delivery(RELEASE_ID, kind, chain), unread())


@pytest.fixture
def wide_products():
    """A release of two products of 300,000 cells, of which one fits the memory."""
    domain = Domain.coded({"a": 500, "b": 500, "c": 600, "d": 2})
    policy = replace(MASKED_POLICY, max_cells=300_000, max_memory_mb=2)
    return Release(masked_terms(plan_of(domain=domain)), policy=policy).accept().introduce()


def test_a_dealt_product_beyond_the_memory_is_refused_before_it_is_read(wide_products):
    east = wide_products.parties["east"]
    wide_products.deal_product(PAIR)
    dealt = Delivery(RELEASE_ID, DeliveryKind.DEALT_PRODUCTS, sender=4, chains=(OTHER_PAIR,))
    with little_memory(), pytest.raises(PolicyError, match="max_memory_mb"):
        east.deliver(dealt, unread())


def test_products_beyond_the_memory_are_refused_before_they_are_computed(wide_products):
    with little_memory(), pytest.raises(PolicyError, match="max_memory_mb"):
        wide_products.parties["north"].multiply(MultiplyRequest(RELEASE_ID, (PAIR, OTHER_PAIR)))
    # One alone is not refused for its memory, but since nothing was delivered.
    with pytest.raises(DeliveriesLost):
        wide_products.parties["north"].multiply(MultiplyRequest(RELEASE_ID, (PAIR,)))


@pytest.fixture
def lone(table):
    """A party in a release, and its ledger, for these limits."""
    opened = []

    def started(**limits):
        opened.append(Ledger())
        party = party_of("north", table, replace(POLICY, **limits), ledger=opened[-1], identity=IDENTITY)
        party.accept(encode_terms(TERMS))
        return party, opened[-1]

    yield started
    for ledger in opened:
        ledger.close()


def test_a_release_that_used_up_its_time_gets_no_further_step(lone, monkeypatch):
    """By a clock on which every turn takes a second."""
    seconds = iter(range(1000))
    clocked = partial(Processors, clock=lambda: float(next(seconds)))
    monkeypatch.setattr("dpmosaic.party.institution.role.Processors", clocked)
    party, ledger = lone(max_cpu_seconds=2)
    link = Link(party)

    def asked(name):
        # One frame: a turn that computes it, and one that finds no other.
        return list(link.call("Answer", [codec.encode(AnswerRequest(replace(QUERY, query_id=name)))]))

    asked("1")
    spent = ledger.cost_of(RELEASE_ID)
    with pytest.raises(PolicyError, match="max_cpu_seconds"):
        asked("2")
    with pytest.raises(PolicyError, match="max_cpu_seconds"):
        asked("1")
    assert ledger.cost_of(RELEASE_ID) == spent


def test_the_number_of_queries_of_a_release_is_limited_and_repeats_are_free(lone):
    party, ledger = lone(max_queries=2)
    first = [list(party.answer(replace(QUERY, query_id=name))) for name in ("1", "2")]
    spent = ledger.cost_of(RELEASE_ID)
    with pytest.raises(PolicyError, match="max_queries"):
        party.answer(replace(QUERY, query_id="3"))
    assert ledger.cost_of(RELEASE_ID) == spent
    assert [list(party.answer(replace(QUERY, query_id=name))) for name in ("1", "2")] == first


def test_a_message_larger_than_a_frame_is_refused_before_it_is_decoded(lone, monkeypatch):
    party, _ = lone()
    monkeypatch.setattr(codec, "decode", None)
    with pytest.raises(ProtocolError, match=f"at most {MESSAGE_BYTES} bytes"):
        list(Link(party).call("Answer", [bytes(MESSAGE_BYTES + 1)]))


def test_terms_of_more_than_a_mebibyte_are_refused_before_their_signature_is_verified(table, monkeypatch):
    monkeypatch.setattr("dpmosaic.party.institution.institution.is_signed", None)
    curators = {Identity.from_seed(b"c" * 32).public: "cur"}
    ledger = Ledger()
    party = party_of("north", table, POLICY, ledger=ledger, curators=curators)
    with pytest.raises(ProtocolError, match="at most 1 MiB"):
        party.accept(bytes(MB + 1), bytes(64))
    ledger.close()


@pytest.mark.parametrize("query_id", ["", "q" * 257], ids=len)
@pytest.mark.parametrize("query", [QUERY, WIDE_SCORES], ids=lambda query: type(query).__name__)
def test_a_query_whose_id_would_fill_the_ledger_is_refused(query, query_id):
    with pytest.raises(ValueError, match="an id of 1 to 256 characters"):
        replace(query, query_id=query_id)


def lines_run(step):
    """Number of lines of Python that a step runs: its work, without a clock."""
    lines = 0

    def count(frame, event, _):
        nonlocal lines
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        step()
    finally:
        sys.settrace(None)
    return lines


def test_the_work_for_a_partition_grows_with_its_slices_not_with_their_square():
    domain = Domain.coded({"a": 2})

    def work(slices):
        roster = tuple(RosterEntry(str(i), i, ("a",), 1, b"") for i in range(slices))
        return lines_run(lambda: Partition(domain, roster))

    assert work(400) < 5 * work(100)


class CountedName(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        CountedName.compared += 1
        return str.__eq__(self, other)


def test_the_names_of_a_domain_are_not_compared_pair_by_pair():
    names = {CountedName(i): 2 for i in range(300)}
    CountedName.compared = 0
    Domain.coded(names).canonical(names)
    assert CountedName.compared < 10 * len(names)
