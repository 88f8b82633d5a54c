"""A party's description, acceptances and refusals."""

import hashlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic import __version__
from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import verify
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import BudgetError, DataError, MosaicError, PolicyError, ProtocolError
from dpmosaic.common.federation.protocol_versions import NEWEST, OLDEST
from dpmosaic.common.messages import PartyDescription
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.common.queries import AnswerForm
from dpmosaic.common.wire import codec
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.serving.servicer import PartyServicer
from support.changed import changed
from support.lone_party import DOMAIN, IDENTITY, POLICY, QUERY, TERMS, started
from support.terms import RELEASE_ID, id_of, terms_for, terms_with


def test_a_party_describes_itself_without_values(party):
    assert party.describe() == PartyDescription(
        "north", OLDEST, __version__, DOMAIN, 700, ("indicator", "trusted"), IDENTITY.public,
        max_cells=POLICY.max_cells, newest_protocol=NEWEST,
    )  # fmt: skip


def test_a_party_signs_what_it_accepts(party):
    accepted = party.accept(encode_terms(terms_for(party)))
    terms = hashlib.sha256(encode_terms(TERMS)).digest()
    signed = terms + accepted.mark.signed_bytes() + accepted.ephemeral
    verify(IDENTITY.public, "acceptance of a release", signed, accepted.signature)
    assert len(accepted.ephemeral) == 32


def test_a_party_has_one_key_for_each_release_also_after_a_restart(table, tmp_path):
    before = Ledger.create(tmp_path / "ledger.sqlite")
    party = started(table, before, seed=1)
    first, second = keys_of(party)
    assert first != second
    before.close()
    after = Ledger(tmp_path / "ledger.sqlite")
    party = started(table, after, seed=2)
    assert keys_of(party) == [first, second]
    after.close()


def keys_of(party):
    accepted = [
        party.accept(encode_terms(terms_for(party, release_id=release)))
        for release in (RELEASE_ID, id_of("s"))
    ]
    return [one.ephemeral for one in accepted]


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        ({"release_id": id_of("s")}, ProtocolError, "accept it first"),
        ({"clique": ("a", "z")}, ProtocolError, "attributes that can be queried"),
        ({"clique": ("b", "a")}, ProtocolError, "attributes that can be queried, in domain order"),
        ({"clique": ("a", "a")}, DataError, "named twice: a"),
        ({"clique": ("a", "b", "c")}, PolicyError, "max_cells"),
        ({"sigma": 2.0**-21}, BudgetError, "lower the budget"),
        ({"sigma": 0.1}, BudgetError, "more than is left"),
    ],
)
@pytest.mark.parametrize("form", [AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE])
def test_a_query_that_does_not_fit_is_refused_with_a_typed_error_and_not_charged(
    party, ledger, change, kind, reason, form
):
    with pytest.raises(kind, match=reason):
        party.answer(changed(QUERY, form=form, **change))
    assert ledger.cost_of(RELEASE_ID) == 0
    party.answer(QUERY)


def test_a_query_without_attributes_is_refused_before_it_reaches_the_party(party, ledger):
    with pytest.raises(ValueError, match="at least one attribute"):
        changed(QUERY, clique=())
    message = codec.to_message(QUERY)
    message.view.ClearField("clique")
    with pytest.raises(ProtocolError, match="at least one attribute"):
        list(PartyServicer(party).serve("Charge", iter([message.SerializeToString()]), b""))
    assert ledger.cost_of(RELEASE_ID) == 0


@pytest.mark.parametrize(
    "method", ["Accept", "Introduce", "Open", "Multiply", "PrepareScores", "AnswerScores", "Charge", "Answer"]
)
@pytest.mark.parametrize("count", [0, 2])
def test_a_method_with_one_request_refuses_none_and_several(party, ledger, method, count):
    with pytest.raises(ProtocolError, match="expected one request, got none or several"):
        list(PartyServicer(party).serve(method, iter([codec.encode(QUERY)] * count), b""))
    assert ledger.cost_of(RELEASE_ID) == 0


@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle"])
def test_a_protocol_that_no_party_knows_is_refused_whatever_the_policy_says(table, ledger, protocol):
    party = started(table, ledger, replace(POLICY, protocols=frozenset({protocol})))
    with pytest.raises(PolicyError, match="no party takes part"):
        party.accept(encode_terms(terms_for(party, protocol=protocol)))
    assert ledger.total_reserved() == 0


def test_a_release_that_the_policy_refuses_reserves_nothing(table, ledger):
    party = started(table, ledger, replace(POLICY, min_records=701))
    with pytest.raises(PolicyError, match="min_records"):
        party.accept(encode_terms(terms_for(party)))
    assert ledger.total_reserved() == 0
    with pytest.raises(ProtocolError, match="accept it first"):
        party.answer(QUERY)


def test_releases_have_grants_of_their_own_and_share_the_lifetime(table, ledger):
    party = started(table, ledger, replace(POLICY, lifetime_rho=Fraction(2)))
    cost = gaussian_cost(3.0, Adjacency.ZERO_OUT)
    for release in (RELEASE_ID, id_of("s")):
        party.accept(encode_terms(terms_for(party, release_id=release)))
    dear = replace(QUERY, sigma=gaussian_sigma(Fraction(1), Adjacency.ZERO_OUT))
    party.answer(dear)
    with pytest.raises(BudgetError):
        party.answer(replace(QUERY, query_id="q2"))
    party.answer(replace(QUERY, release_id=id_of("s")))
    assert ledger.cost_of(id_of("s")) == cost
    with pytest.raises(PolicyError, match="lifetime_rho"):
        party.accept(encode_terms(terms_for(party, release_id=id_of("t"), granted_rho=2.0**-40)))
    assert ledger.total_reserved() == 2


def test_accepting_again_changes_nothing_even_where_the_lifetime_is_used_up(table, ledger):
    party = started(table, ledger, replace(POLICY, lifetime_rho=Fraction(1)))
    party.accept(encode_terms(terms_for(party)))
    party.accept(encode_terms(terms_for(party)))
    assert ledger.total_reserved() == 1
    with pytest.raises(ProtocolError, match="other terms"):
        party.accept(encode_terms(terms_for(party, granted_rho=0.5)))


def test_refuses_queries_after_the_data_of_an_accepted_release_changed(table, party, ledger):
    party.answer(QUERY)
    changed = started(table.take(np.arange(699, -1, -1)), ledger)
    with pytest.raises(ProtocolError, match="other data"):
        changed.accept(encode_terms(terms_for(changed)))
    for query in (QUERY, replace(QUERY, query_id="q2")):
        with pytest.raises(ProtocolError, match="data changed"):
            changed.answer(query)
    assert ledger.cost_of(RELEASE_ID) == gaussian_cost(3.0, Adjacency.ZERO_OUT)


def test_no_error_of_a_party_contains_its_data():
    domain = Domain.coded({"a": 90_000, "b": 8_000})
    table = Table.from_codes(domain, np.array([[77_377, 5_995]] * 613 + [[66_166, 4_884]] * 89))
    policy = replace(POLICY, max_cells=100_000)
    query = changed(QUERY, clique=("a",))
    texts = []

    def refused(action, argument):
        with pytest.raises(MosaicError) as refusal:
            action(argument)
        texts.append(str(refusal.value))

    party = started(table, Ledger(), policy)
    refused(party.answer, query)
    refused(started(table, Ledger(), replace(policy, min_records=703)).accept, encode_terms(TERMS))
    refused(
        started(table, Ledger(), replace(policy, max_release_rho=Fraction(0))).accept, encode_terms(TERMS)
    )
    refused(started(table, Ledger(), replace(policy, lifetime_rho=Fraction(0))).accept, encode_terms(TERMS))
    for change in ({"protocol": "theorem"}, {"protocol_version": 9}):
        refused(party.accept, encode_terms(terms_with(TERMS, **change)))
    party.accept(encode_terms(terms_for(party)))
    refused(party.accept, encode_terms(replace(TERMS, granted_rho=0.5)))
    party.answer(query)
    for change in (
        {"clique": ("b",)},
        {"query_id": "2", "clique": ("a", "b")},
        {"query_id": "3", "clique": ("b", "a")},
        {"query_id": "4", "clique": ("b", "b")},
        {"query_id": "5", "clique": ("z",)},
        {"query_id": "6", "sigma": 0.01},
        {"query_id": "7", "sigma": 2.0**-30},
        {"query_id": "8", "release_id": id_of("s")},
        {"query_id": "9", "form": AnswerForm.SHARE},
        {"query_id": "10", "boxes": (((0, 90_001),),)},
        {"query_id": "11", "form": AnswerForm.RECORD_WISE, "boxes": (((0, 1),),)},
    ):
        refused(party.answer, changed(query, **change))
    told = " ".join(texts).replace("_", "").replace(",", "")
    for private in ("77377", "5995", "66166", "4884", "613", "89", "702", "720000000"):
        assert private not in told
    assert len(texts) == 18
