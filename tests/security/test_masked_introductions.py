"""A curator that introduces an outsider to the parties is refused."""

from dataclasses import replace

import pytest

from dpmosaic.common.canonical.terms import terms_digest
from dpmosaic.common.crypto.agreement import EphemeralKey
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PolicyError, ProtocolError
from dpmosaic.common.history import START, Mark
from dpmosaic.common.messages import Acceptance, Introduction
from dpmosaic.common.promises.acceptance import accept
from dpmosaic.common.protocols.masked.dealers import CURATOR_DEALS
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from support.masked_views import table_of
from support.taps import Curator
from support.terms import RELEASE_ID, id_of, terms_with

OUTSIDER = Identity.from_seed(bytes(range(32)))
OUTSIDERS_KEY = EphemeralKey.from_seed(bytes(range(32))).public


def forged(terms, acceptance):
    """The outsider's own key under the outsider's signature."""
    signed = terms_digest(terms) + acceptance.mark.signed_bytes() + OUTSIDERS_KEY
    return Acceptance(OUTSIDERS_KEY, OUTSIDER.sign("acceptance of a release", signed), acceptance.mark)


INTRODUCED = {
    "another ephemeral key": lambda terms, a: [replace(a[0], ephemeral=OUTSIDERS_KEY), *a[1:]],
    "another party's ephemeral key": lambda terms, a: [replace(a[0], ephemeral=a[1].ephemeral), *a[1:]],
    "another party's signature": lambda terms, a: [replace(a[0], signature=a[1].signature), *a[1:]],
    "an empty signature": lambda terms, a: [replace(a[0], signature=bytes(64)), *a[1:]],
    "no signature": lambda terms, a: [replace(a[0], signature=b""), *a[1:]],
    "another mark": lambda terms, a: [replace(a[0], mark=Mark(9, bytes(32))), *a[1:]],
    "a key that the curator signed": lambda terms, a: [forged(terms, a[0]), *a[1:]],
    "parties in another order": lambda terms, a: [a[1], a[0], *a[2:]],
    "one party twice": lambda terms, a: [a[0], a[0], *a[2:]],
    "another ephemeral key of the dealer": lambda terms, a: [*a[:3], replace(a[3], ephemeral=OUTSIDERS_KEY)],
    "a party's acceptance as the dealer's": lambda terms, a: [*a[:3], a[2]],
    "no dealer": lambda terms, a: a[:3],
    "a party too few": lambda terms, a: a[1:],
    "a party too many": lambda terms, a: [*a, a[0]],
    "no acceptance": lambda terms, a: [],
}


@pytest.mark.parametrize("substitute", INTRODUCED.values(), ids=INTRODUCED)
def test_an_introduction_with_another_identity_is_refused_and_nothing_is_answered(substitute, ledgers):
    curator = Curator(table_of("random"), "1x3")
    terms = curator.terms()
    acceptances = curator.federation.accept(terms)
    wrong = Introduction(RELEASE_ID, tuple(substitute(terms, list(acceptances))))
    query = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a",)), 1.0)
    for client in curator.clients:
        with pytest.raises(ProtocolError):
            client.introduce(wrong)
        with pytest.raises(ProtocolError, match="introduce them first"):
            list(client.answer(query, 1, 6, 1))
    assert [ledger.release(RELEASE_ID).introduction for ledger in ledgers] == [None] * 3
    assert [ledger.cost_of(RELEASE_ID) for ledger in ledgers] == [0] * 3


def test_acceptances_of_another_release_are_refused():
    curator = Curator(table_of("random"), "1x3")
    curator.federation.accept(curator.terms(RELEASE_ID))
    others = curator.federation.accept(curator.terms(id_of("another")))
    with pytest.raises(ProtocolError, match="does not verify"):
        curator.clients[0].introduce(Introduction(RELEASE_ID, others))


def test_parties_with_different_terms_refuse_each_others_acceptances():
    curator = Curator(table_of("random"), "1x3")
    terms = curator.terms()
    other = terms_with(terms, plan=replace(terms.plan, tolerated=0))
    acceptances = tuple(
        client.accept(t) for client, t in zip(curator.clients, [terms, terms, other], strict=True)
    )
    acceptances += (curator.federation.dealers[0].client.accept(terms),)
    for client in curator.clients:
        with pytest.raises(ProtocolError, match="does not verify"):
            client.introduce(Introduction(RELEASE_ID, acceptances))


@pytest.mark.parametrize("place", range(3))
def test_a_plan_with_an_identity_that_is_not_pinned_is_refused_by_every_party(place):
    curator = Curator(table_of("random"), "1x3")
    terms = curator.terms()
    roster = list(terms.masked_plan.roster)
    roster[place] = replace(roster[place], identity=OUTSIDER.public)
    terms = terms_with(terms, plan=replace(terms.plan, roster=tuple(roster)))
    for i, client in enumerate(curator.clients):
        kind, reason = (ProtocolError, "this party") if i == place else (PolicyError, "not pinned")
        with pytest.raises(kind, match=reason):
            client.accept(terms)


def test_a_second_introduction_with_another_key_of_the_dealer_is_refused():
    """Two sets of masks for the same matrices would show their difference."""
    curator = Curator(table_of("random"), "1x3")
    terms = curator.terms()
    dealer = Identity.from_seed(RandomStream.from_seed(1).child_key("identity", CURATOR_DEALS))
    assert dealer.public == terms.masked_plan.dealers[0].identity
    curator.measurer()
    acceptances = curator.federation.accept(terms)
    other = accept(terms_digest(terms), dealer, b"another key of the same dealer. ", START)
    with pytest.raises(ProtocolError, match="introduced with other"):
        curator.clients[0].introduce(Introduction(RELEASE_ID, (*acceptances[:3], other)))
