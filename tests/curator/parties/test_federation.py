import hashlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import decode_terms, encode_terms
from dpmosaic.common.crypto.identity import verify
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import (
    ApprovalPending,
    DataError,
    PartyUnavailable,
    PolicyError,
    ProtocolError,
)
from dpmosaic.common.federation.protocol_versions import DROPOUTS, NEWEST, OLDEST, SPOKEN, Versions
from dpmosaic.common.history import START
from dpmosaic.common.messages import Acceptance, PartyDescription, SignedTerms, Verdict
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import codec
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.policies.policy import Records
from support.parties import Link, cut, party_of, policy_for, started
from support.terms import RELEASE_ID, id_of, terms_of

DOMAIN = Domain.from_json({"a": 2, "b": ["x", "y"], "c": {"type": "numeric", "min": 0, "max": 3, "bins": 4}})
TERMS = terms_of()
POLICY = policy_for("indicator")
OWN = Records(same_as=frozenset())
"""Nobody else holds columns of the same records."""


class FakeConnection:
    """A party with a given description, which signs everything with its name and records the terms."""

    def __init__(self, name, domain, records=10, versions=SPOKEN, max_cells=None):
        identity = name.encode().ljust(32)
        self.description = PartyDescription(
            name,
            versions.oldest,
            "0",
            domain,
            records,
            ("indicator",),
            identity,
            max_cells=max_cells,
            newest_protocol=versions.newest,
        )
        self.acceptance = Acceptance(identity, name.encode() * 64, START)
        self.accepted = []

    def call(self, method, requests):
        (request,) = requests
        if method == "Describe":
            yield codec.encode(self.description)
        else:
            assert method == "Accept"
            self.accepted.append(decode_terms(codec.decode(SignedTerms, request).terms))
            yield codec.encode(self.acceptance)


class Replies:
    """A party that gives the same replies to every call."""

    def __init__(self, *replies):
        self.replies = replies

    def call(self, method, requests):
        yield from self.replies


def holding(name, *attributes, **fields):
    return FakeConnection(name, DOMAIN.project(attributes), **fields)


@pytest.fixture
def table():
    rng = np.random.default_rng(2)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, size, 90) for size in DOMAIN.sizes]))


@pytest.fixture
def ragged(table):
    return cut(table, [(40, (("a", "c"), ("b",))), (30, (("a", "b", "c"),)), (20, (("c",), ("b",), ("a",)))])


def test_a_ragged_grid_of_parties_is_one_table(ragged):
    federation = connect(DOMAIN, started(ragged, POLICY, RandomStream.from_seed(1)))
    assert federation.domain == DOMAIN
    assert federation.record_counts == (40, 30, 20)
    assert [[member.attributes for member in members] for members in federation.slices] == [
        [("a", "c"), ("b",)],
        [("a", "b", "c")],
        [("c",), ("b",), ("a",)],
    ]
    assert federation.slices[2][1].description.name == "party-3-2"


def test_members_are_all_parties_slice_by_slice(ragged):
    federation = connect(DOMAIN, started(ragged, POLICY, RandomStream.from_seed(1)))
    names = [member.description.name for member in federation.members]
    assert names == ["party-1-1", "party-1-2", "party-2-1", "party-3-1", "party-3-2", "party-3-3"]
    assert len({member.description.identity for member in federation.members}) == 6


def test_acceptances_are_signed_and_in_the_order_of_members(ragged):
    federation = connect(DOMAIN, started(ragged, POLICY, RandomStream.from_seed(1)))
    terms = terms_of(plan=federation.partition)
    acceptances = federation.accept(terms)
    assert len({accepted.ephemeral for accepted in acceptances}) == 6
    for member, accepted in zip(federation.members, acceptances, strict=True):
        signed = (
            hashlib.sha256(encode_terms(terms)).digest() + accepted.mark.signed_bytes() + accepted.ephemeral
        )
        verify(member.description.identity, "acceptance of a release", signed, accepted.signature)


def test_every_party_reserves_the_budget_and_can_be_asked(ragged):
    federation = connect(DOMAIN, started(ragged, POLICY, RandomStream.from_seed(1)))
    federation.accept(terms_of(plan=federation.partition))
    for piece in federation.slices:
        for member in piece:
            name, cells = member.description.name, DOMAIN.cells(member.attributes)
            query = MarginalQuery(RELEASE_ID, name, AnswerForm.HISTOGRAM, View(member.attributes), 9.0)
            charges = [other.client.charge(query) for other in piece]
            (counts,) = member.client.answer(query, 1, cells, 1, charges)
            assert counts.shape == (1, cells)


def test_refuses_no_slices():
    with pytest.raises(DataError, match="at least one slice and one party in each"):
        connect(DOMAIN, [])


def test_refuses_an_empty_slice():
    with pytest.raises(DataError, match="at least one slice and one party in each"):
        connect(DOMAIN, [[holding("p", *DOMAIN)], []])


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ([holding("q", "a", "b"), holding("r", "b", "c")], "'q' and 'r' both hold 'b'"),
        ([holding("q", "a", "c")], r"no party holds \['b'\]"),
        ([holding("q", "c")], r"no party holds \['a', 'b'\]"),
        (
            [holding("q", *DOMAIN), FakeConnection("r", Domain.coded({"z": 2}))],
            "party 'r' holds 'z', which the plan's domain lacks",
        ),
        (
            [holding("q", "a", "c"), FakeConnection("r", Domain.from_json({"b": ["y", "x"]}))],
            "party 'r' codes 'b' differently",
        ),
        (
            [holding("q", "b", "c"), FakeConnection("r", Domain.coded({"a": 3}))],
            "party 'r' codes 'a' differently",
        ),
        (
            [holding("q", "a"), holding("r", "b", "c", records=11)],
            r"different numbers of records \(q: 10, r: 11\)",
        ),
    ],
)
def test_refuses_parties_of_a_slice_that_do_not_partition_the_table(second, reason):
    with pytest.raises(DataError, match=f"slice 2: .*{reason}"):
        connect(DOMAIN, [[holding("p", *DOMAIN)], second])


def test_refuses_a_date_without_the_one_that_it_comes_after():
    first = {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 12}
    second = {"type": "date", "after": {"first": {"min": 0, "max": 9, "bins": 10}}}
    domain = Domain.from_json({"first": first, "second": second, "sex": ["f", "m"]})
    links = [FakeConnection("p", domain.project([*some])) for some in (("first", "sex"), ("second",))]
    with pytest.raises(DataError, match="comes after 'first', which party 'p' of slice 1 does not have"):
        connect(domain, [links])
    together = [
        FakeConnection(name, domain.project(some))
        for name, some in (("p", ["first", "second"]), ("q", ["sex"]))
    ]
    assert len(connect(domain, [together]).members) == 2


def test_a_party_answers_for_attributes_that_the_plan_does_not_leave_out():
    overlapping = [holding("q", "a", "b"), holding("r", "b", "c")]
    federation = connect(DOMAIN, [overlapping], {"r": ["b"]})
    assert [member.attributes for member in federation.members] == [("a", "b"), ("c",)]


@pytest.mark.parametrize(
    ("out", "reason"), [(["c"], "it does not hold them"), (["a", "b"], "no attribute would be left")]
)
def test_refuses_what_a_party_cannot_leave_out_by_name(out, reason):
    with pytest.raises(DataError, match=f"party 'q' cannot leave out .*{reason}"):
        connect(DOMAIN, [[holding("q", "a", "b"), holding("r", "b", "c")]], {"q": out})


def test_slices_may_have_different_numbers_of_records():
    federation = connect(DOMAIN, [[holding("p", *DOMAIN)], [holding("q", *DOMAIN, records=11)]])
    assert federation.record_counts == (10, 11)


def speaking(*versions):
    """Parties p, q and r, which speak these versions."""
    return [
        [
            holding(name, attribute, versions=spoken)
            for name, spoken, attribute in zip("pqr", versions, DOMAIN, strict=True)
        ]
    ]


@pytest.mark.parametrize("version", [OLDEST - 1, NEWEST + 1])
def test_refuses_a_party_of_another_protocol_version_by_name(version):
    with pytest.raises(ProtocolError, match=f"'q' speaks protocol version {version}"):
        connect(DOMAIN, speaking(SPOKEN, Versions(version, version), SPOKEN))


@pytest.mark.parametrize("oldest", range(OLDEST, NEWEST + 1))
def test_a_release_uses_the_newest_version_that_all_speak(oldest):
    behind, ahead = Versions(OLDEST, oldest), Versions(oldest, NEWEST + 1)
    assert connect(DOMAIN, speaking(SPOKEN, behind, ahead)).protocol_version == oldest
    assert connect(DOMAIN, speaking(SPOKEN, ahead, ahead)).protocol_version == NEWEST


def test_parties_that_have_no_version_in_common_are_named_and_the_older_is_to_be_upgraded():
    apart = speaking(SPOKEN, Versions(OLDEST, OLDEST), Versions(NEWEST, NEWEST + 1))
    with pytest.raises(ProtocolError, match=f"q speaks protocol version {OLDEST} at most, and r does not"):
        connect(DOMAIN, apart)


def test_an_option_that_a_party_does_not_know_names_the_party_to_be_upgraded():
    federation = connect(DOMAIN, speaking(SPOKEN, Versions(OLDEST, OLDEST), SPOKEN))
    with pytest.raises(DataError, match="may_drop_out: needs protocol version 2, and q speaks an older one"):
        federation.check_speak(DROPOUTS, "may_drop_out")


def test_every_party_is_asked_for_the_same_terms():
    parties = [holding("p", "a"), holding("q", "b", "c")]
    acceptances = connect(DOMAIN, [parties]).accept(TERMS)
    assert [party.accepted for party in parties] == [[TERMS], [TERMS]]
    assert acceptances == tuple(party.acceptance for party in parties)


class Saying:
    """A party that answers every request for its acceptance or its verdict in the same way."""

    def __init__(self, name, attributes, error=None, verdict=None):
        self.asked = []
        self.party = holding(name, *attributes)
        self.error, self.verdict = error, verdict

    def call(self, method, requests):
        if method == "Review" and self.verdict is not None:
            yield codec.encode(self.verdict)
        elif method != "Describe" and self.error is not None:
            self.asked.append(method)
            raise self.error
        else:
            self.asked.append(method)
            yield from self.party.call(method, requests)


def saying(*errors):
    """A federation whose parties answer with these errors, and the parties."""
    parties = [Saying(name, name, error) for name, error in zip("abc", errors, strict=True)]
    return connect(DOMAIN, [parties]), parties


WAITS, AWAY = ApprovalPending("waits"), PartyUnavailable("is away")


def test_all_parties_are_asked_before_the_release_waits_and_all_that_wait_are_named():
    federation, parties = saying(WAITS, None, WAITS)
    with pytest.raises(ApprovalPending, match="waits for the operators of a, c, who approve it"):
        federation.accept(TERMS)
    assert [party.asked[-1] for party in parties] == ["Accept"] * 3


def test_one_party_that_waits_says_so_itself():
    with pytest.raises(ApprovalPending, match=r"^waits$"):
        saying(None, WAITS, None)[0].accept(TERMS)


def test_silence_is_told_before_a_decision_that_is_to_come():
    with pytest.raises(PartyUnavailable, match="is away"):
        saying(WAITS, AWAY, None)[0].accept(TERMS)


def test_refusals_are_told_together_and_before_all_else():
    federation, parties = saying(AWAY, PolicyError("no rho"), ProtocolError("no version"))
    with pytest.raises(PolicyError, match=r"^no rho\. no version$"):
        federation.accept(TERMS)
    assert [party.asked[-1] for party in parties] == ["Accept"] * 3


def test_every_reason_of_every_party_is_told_before_any_accepts():
    two = Verdict((PolicyError("no rho"), DataError("no rows")))
    parties = [Saying("a", "a", verdict=two), Saying("b", "bc", verdict=Verdict((PolicyError("no"),)))]
    with pytest.raises(PolicyError, match=r"^'a': no rho\. 'a': no rows\. 'b': no$"):
        connect(DOMAIN, [parties]).check_allowed(TERMS, b"")


def test_a_review_reserves_nothing_and_names_every_limit(table):
    policy = replace(POLICY, max_release_rho=Fraction(0), adjacencies=frozenset(), records=OWN)
    ledger = Ledger()
    federation = connect(DOMAIN, [[Link(party_of("strict", table, policy, ledger=ledger))]])
    verdict = federation.review(terms_of(plan=federation.partition))["strict"]
    assert not verdict.by_hand
    assert [str(refusal).split(";")[0] for refusal in verdict.refusals] == [
        "the policy does not allow the adjacency 'zero-out'",
        "the release requests more than max_release_rho",
    ]
    assert all(isinstance(refusal, PolicyError) for refusal in verdict.refusals)
    assert (ledger.total_reserved(), ledger.summaries()) == (0, [])
    ledger.close()


def test_a_release_that_was_accepted_is_not_refused_for_its_own_reservation(table):
    party = party_of("own", table, replace(POLICY, records=OWN))
    federation = connect(DOMAIN, [[Link(party)]])
    terms = terms_of(plan=federation.partition)
    federation.accept(terms)
    federation.check_allowed(terms, b"")
    with pytest.raises(PolicyError, match="lifetime_rho"):
        federation.check_allowed(replace(terms, release_id=id_of("next")), b"")


def test_a_release_asks_for_no_larger_marginals_than_every_participant_allows():
    parties = [holding("p", "a", max_cells=9), holding("q", "b", "c", max_cells=7)]
    assert connect(DOMAIN, [parties]).max_cells == 7
    assert connect(DOMAIN, [[holding("p", *DOMAIN)]]).max_cells is None


@pytest.mark.parametrize(("replies", "got"), [((), "none"), ((b"", b""), "more")])
def test_refuses_a_party_that_does_not_reply_exactly_once(replies, got):
    client = PartyClient(Replies(*replies))
    for ask in (client.describe, lambda: client.accept(TERMS)):
        with pytest.raises(ProtocolError, match=f"expected one reply to .*, got {got}"):
            ask()


def test_refuses_a_reply_that_does_not_parse():
    with pytest.raises(ProtocolError, match="bytes that do not parse"):
        connect(DOMAIN, [[Replies(b"\xff\xff\xff")]])


def test_refuses_a_party_with_attributes_in_another_order():
    backwards = Domain(DOMAIN.attributes[::-1])
    with pytest.raises(DataError, match="another order"):
        connect(DOMAIN, [[FakeConnection("p", backwards)]])
