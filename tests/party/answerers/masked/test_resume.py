"""Repeated steps of the protocol `masked`, also after restarts: one charge and one answer per query."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import dealt_labels
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire.streams import decode_answer
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.answerers.masked.session import MaskedSession
from support.changed import changed
from support.terms import RELEASE_ID

pytestmark = pytest.mark.slow

NORTH, EAST, WEST, SOUTH, DEALER = range(5)
A, C, D = ("a",), ("c",), ("d",)
THREE = ("a", "c", "d")
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(THREE), 3.0)
COST = gaussian_cost(3.0, Adjacency.ZERO_OUT)


class Died(Exception):
    """The party's process ended here."""


def dies(*_, **__):
    raise Died


def ephemerals(release):
    """The keys in the acceptances, without marks, which go on, and signatures of them."""
    return [accepted.ephemeral for accepted in release.acceptances]


def test_the_same_query_again_gets_the_same_bytes_and_is_charged_once(release):
    first = release.prepare(THREE).frames(QUERY)
    assert release.frames(QUERY) == first
    assert set(release.spent().values()) == {COST}


def test_a_query_is_charged_before_its_first_frame_is_read(release):
    release.parties["south"].answer(QUERY)
    assert release.spent()["south"] == COST


def test_repeating_all_steps_changes_nothing(release):
    first, keys = release.prepare(THREE).frames(QUERY), ephemerals(release)
    assert ephemerals(release.accept()) == keys
    assert release.introduce().prepare(THREE).frames(QUERY) == first
    assert set(release.spent().values()) == {COST}


def test_every_query_has_its_own_masks_and_noise(release):
    release.prepare(THREE)
    changes = [{}, {"query_id": "q2"}, {"query_id": "q3", "sigma": 4.0}]
    answers = []
    for change in changes:
        frames = release.frames(changed(QUERY, **change)).values()
        answers.append(np.array([list(decode_answer(parts, 1, 16, 1)) for parts in frames]))
    for one, other in itertools.combinations(answers, 2):
        # Two of 64 words agree with probability 2^-32 each.
        assert not np.any(one == other)


@pytest.mark.parametrize("name", ["north", "east", "west", "south"])
def test_a_party_killed_between_journal_and_answer_gives_the_same_answer(masked, name, tmp_path, monkeypatch):
    undisturbed = masked.Release().accept().introduce().prepare(THREE).frames(QUERY)
    release = masked.Release(folder=tmp_path).accept().introduce().prepare(THREE)
    with monkeypatch.context() as patch:
        patch.setattr(MaskedSession, "answer", dies)
        with pytest.raises(Died):
            release.parties[name].answer(QUERY)
    assert release.spent()[name] == COST
    release.start(name, seed=77)
    release.parties[name].introduce(release.introduction())
    assert release.prepare(THREE).frames(QUERY)[name] == undisturbed[name]
    assert set(release.spent().values()) == {COST}


def test_a_party_killed_before_the_journal_answers_and_charges_once(masked, tmp_path, monkeypatch):
    release = masked.Release(folder=tmp_path).accept().introduce().prepare(THREE)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "charge", dies)
        with pytest.raises(Died):
            release.parties["east"].answer(QUERY)
    assert release.spent()["east"] == 0
    release.start("east", seed=77)
    release.prepare(THREE).frames(QUERY)
    assert set(release.spent().values()) == {COST}


def test_parties_killed_between_answer_and_receipt_give_the_same_answers(masked, tmp_path):
    release = masked.Release(folder=tmp_path).accept().introduce().prepare(THREE)
    keys, first = ephemerals(release), release.frames(QUERY)
    for seed, name in enumerate(release.names, start=50):
        release.start(name, seed=seed)
    assert ephemerals(release.accept()) == keys
    assert release.introduce().prepare(THREE).frames(QUERY) == first
    assert set(release.spent().values()) == {COST}


def test_deliveries_are_lost_with_the_process_and_requested_again(masked, tmp_path):
    release = masked.Release(folder=tmp_path).accept().introduce().prepare(("a", "c"))
    query = changed(QUERY, clique=("a", "c"))
    first = release.frames(query)
    release.start("east", seed=2)
    with pytest.raises(ProtocolError, match="multiply first"):
        release.parties["east"].answer(query)
    with pytest.raises(ProtocolError, match="shares of all dealers"):
        release.multiply(EAST, (A, C))
    release.deal_product((A, C))
    with pytest.raises(ProtocolError, match="deliver all of them"):
        release.multiply(EAST, (A, C))
    release.exchange(NORTH, (A,), EAST)
    release.multiply(EAST, (A, C))
    assert release.frames(query) == first
    assert set(release.spent().values()) == {COST}


@pytest.mark.parametrize(
    "change",
    [
        {"clique": ("a", "b")},
        {"clique": ("a", "c")},
        {"sigma": 3.5},
        {"boxes": (((0, 2), (0, 4), (0, 2)),)},
    ],
)
def test_another_query_under_a_used_id_is_refused_and_spends_nothing(release, change):
    first = release.prepare(("a", "c")).prepare(THREE).frames(QUERY)
    for party in release.parties.values():
        with pytest.raises(ProtocolError, match="query id was used for another query"):
            party.answer(changed(QUERY, **change))
    assert set(release.spent().values()) == {COST}
    assert release.frames(QUERY) == first


def test_an_answered_query_is_not_answered_from_another_product(masked, tmp_path):
    """Two shares under the same noise would reveal their difference."""
    release = masked.Release(folder=tmp_path).accept().introduce().prepare(THREE)
    first = release.frames(QUERY)
    release.start("east", seed=2)
    release.begin()
    for step in release.deliveries(THREE):
        step()
    dealt = release.dealing_of(DeliveryKind.DEALT_PRODUCTS, (A, D, C))
    labels = dealt_labels(dealt.kind, dealt.chains)
    other = release.dealings[DEALER]._peers.seal(EAST, labels, [bytes(16 * 4)])
    with pytest.raises(ProtocolError, match=r"same content as before, got another \(dealt from dealer\)"):
        release.deliver_dealt(DEALER, dealt, other)
    release.start("east", seed=3)
    assert release.prepare(THREE).frames(QUERY) == first
    assert set(release.spent().values()) == {COST}


def test_changed_data_are_refused_also_for_an_answered_query(masked, tmp_path):
    release = masked.Release(folder=tmp_path).accept().introduce().prepare(THREE)
    release.frames(QUERY)
    rows = masked.rows_of(release.plan, 1)
    release.start("south", table=rows.take(np.arange(24, -1, -1)))
    for query in (QUERY, replace(QUERY, query_id="q2")):
        with pytest.raises(ProtocolError, match="data changed"):
            release.parties["south"].answer(query)
    assert release.spent()["south"] == COST


def test_a_release_introduced_with_other_acceptances_stays_as_it_was(masked, tmp_path):
    release = masked.Release(folder=tmp_path).accept().introduce().prepare(THREE)
    first = release.frames(QUERY)
    # East or the dealer lost its ledger and signs again, with another key.
    other = masked.party_of("east", seed=3).accept(encode_terms(release.terms))
    dealer = masked.signed("dealer", release.terms, other.ephemeral)
    for replaced in (
        (release.acceptances[NORTH], other, *release.acceptances[WEST:]),
        (*release.acceptances[:DEALER], dealer),
    ):
        with pytest.raises(ProtocolError, match="introduced with other"):
            release.parties["north"].introduce(release.introduction(acceptances=replaced))
    assert release.frames(QUERY) == first
    release.start("north", seed=4)
    assert release.prepare(THREE).frames(QUERY) == first
    assert set(release.spent().values()) == {COST}


def test_refuses_a_release_accepted_under_another_name(masked):
    ledger, plan = Ledger(), masked.plan_of()
    release = masked.Release().accept()
    masked.party_of("north", ledger=ledger).accept(encode_terms(release.terms))
    renamed = tuple(replace(entry, name="nord") if entry.name == "north" else entry for entry in plan.roster)
    table = masked.rows_of(plan, 0).project(("a", "b"))
    party = masked.party_of("nord", replace(plan, roster=renamed), ledger=ledger, table=table)
    with pytest.raises(ProtocolError):
        party.introduce(release.introduction())
