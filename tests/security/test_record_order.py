"""Parties of a slice whose rows differ in order open nothing, and who relays their tags learns only that."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, DeliveriesLost, PolicyError, ProtocolError
from dpmosaic.common.messages import Delivery, DeliveryKind, OpeningRequest
from dpmosaic.common.wire import codec, streams
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.measurers.products import Products
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.institution.institution import Institution, Rules
from dpmosaic.party.institution.records import order_digest
from dpmosaic.party.party import Party
from dpmosaic.party.policies.policy import Records
from support.parties import Link, dealers_for, masked_terms, policy_for
from support.terms import RELEASE_ID

NAMES = ("lab", "clinic")
DOMAIN = Domain.coded({"a": 3, "b": 3})
KEYS = tuple(f"patient {number}" for number in range(60))
SHIFTED = KEYS[3:] + KEYS[:3]
GRANTED = Fraction(10**9)
"""So much that counts are exact when rounded."""


def code_of(key):
    """The person's value, the same at both parties; the null code 2 belongs to nobody yet."""
    return len(key) % 2


class Slice:
    """Two parties of one slice, and a curator.

    Args:
        lab, clinic: keys of the rows of each party, in their order.
        guaranteed: the parties have no key column and say that the order is guaranteed.
        stated: the parties say something of the order, one way or the other.
        nulled: a person whose record is replaced by the null record.
    """

    def __init__(self, lab=KEYS, clinic=KEYS, *, guaranteed=(False, False), stated=True, nulled=None):
        self.ledgers, self.links = [], []
        own = {name: Identity.from_seed(name.encode().ljust(32)) for name in NAMES}
        pinned = {name: identity.public for name, identity in own.items()}
        for name, column, keys, unkeyed in zip(NAMES, "ab", (lab, clinic), guaranteed, strict=True):
            codes = [2 if key == nulled else code_of(key) for key in keys]
            table = Table.from_codes(Domain.coded({column: 3}), np.array(codes)[:, None])
            records = Records(frozenset(NAMES) - {name}, order_guaranteed=unkeyed and stated)
            policy = replace(policy_for("masked", granted_rho=float(GRANTED)), records=records)
            order = None if unkeyed else order_digest(keys)
            self.ledgers.append(Ledger())
            institution = Institution(name, own[name], table, Rules(policy, pinned), order)
            party = Party(institution, self.ledgers[-1], RandomStream.from_seed(1).child(name).key)
            self.links.append(Link(party))
        dealers = dealers_for([self.links], RandomStream.from_seed(2))
        self.federation = connect(DOMAIN, [self.links], dealers=dealers)

    def measurer(self, asking=None):
        terms = masked_terms(self.federation, GRANTED)
        acceptances = self.federation.accept(terms)
        return MaskedMeasurer(self.federation, terms, acceptances, GRANTED, asking)

    def pairs(self):
        """The joint counts, exact but for rounding."""
        (found,) = self.measurer().measure([Query(View(("a", "b")), GRANTED, "pairs")])
        return np.rint(found.values).astype(int).reshape(3, 3)

    def tag(self, sender, release_id=RELEASE_ID):
        request = OpeningRequest(release_id, (), 1 - sender, DeliveryKind.RECORD_ORDER)
        frames = self.links[sender].call("Open", [codec.encode(request)])
        return list(streams.decode_payload(frames))

    def deliver(self, sender, tag):
        header = streams.encode_delivery(Delivery(RELEASE_ID, DeliveryKind.RECORD_ORDER, (), sender))
        list(self.links[1 - sender].call("Deliver", [header, *streams.encode_payload(tag)]))

    def spent(self):
        return [ledger.cost_of(RELEASE_ID) for ledger in self.ledgers]


def test_a_false_guarantee_lets_one_person_move_two_cells():
    """The attack: with rows in another order, a person counts in two cells, which is charged as one."""
    unkeyed = {"guaranteed": (True, True)}
    aligned = Slice(**unkeyed).pairs() - Slice(**unkeyed, nulled=KEYS[0]).pairs()
    shifted = (
        Slice(clinic=SHIFTED, **unkeyed).pairs() - Slice(clinic=SHIFTED, nulled=KEYS[0], **unkeyed).pairs()
    )
    assert np.abs(aligned[:2, :2]).sum() == 1
    assert np.abs(shifted[:2, :2]).sum() == 2


@pytest.mark.parametrize("clinic", [SHIFTED, (*KEYS[:-1], "patient 0"), KEYS[:-2] + KEYS[:-3:-1]])
def test_rows_of_other_people_or_in_another_order_are_refused_before_anything_is_charged(clinic):
    found = Slice(clinic=clinic)
    with pytest.raises(DataError, match="in another order") as refusal:
        found.measurer()
    assert found.spent() == [0, 0]
    assert "patient" not in str(refusal.value)


def test_rows_in_one_order_are_counted():
    pairs = Slice().pairs()
    assert np.trace(pairs) == pairs.sum() == len(KEYS)


def test_a_party_opens_nothing_before_every_tag_of_its_slice_came(monkeypatch):
    """A curator that leaves the comparison out gets nothing, whatever else it relays."""
    monkeypatch.setattr(Products, "_compare_order", lambda self, number: None)
    found = Slice(clinic=SHIFTED)
    measurer = found.measurer()
    with pytest.raises(DeliveriesLost, match="order of the records was not compared"):
        measurer.measure([Query(View(("a", "b")), GRANTED, "pairs")])
    request = OpeningRequest(RELEASE_ID, (("a",),), 1)
    with pytest.raises(DeliveriesLost, match="order of the records was not compared"):
        list(found.links[0].call("Open", [codec.encode(request)]))
    assert found.spent() == [0, 0]


FORGED = {
    "its own tag": lambda own, other: own,
    "another bit": lambda own, other: [bytes([other[0][0] ^ 1]) + other[0][1:]],
    "nothing": lambda own, other: [],
    "more": lambda own, other: [*other, b"0"],
    "less": lambda own, other: [other[0][:-1]],
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_tag_is_refused(forge):
    found = Slice()
    found.measurer()
    with pytest.raises(DataError, match="in another order"):
        found.deliver(1, forge(found.tag(0), found.tag(1)))


def test_tags_show_no_keys_and_differ_by_sender_order_and_release():
    """Who relays tags cannot compare them: equal sequences have other tags each way and in each release."""
    same, other = Slice(), Slice(clinic=SHIFTED)
    same.measurer()
    with pytest.raises(DataError):
        other.measurer()
    tags = [same.tag(0), same.tag(1), other.tag(1)]
    assert len({tag for (tag,) in tags}) == 3
    assert all(len(tag) == 32 and tag != order_digest(KEYS) for (tag,) in tags)
    assert same.tag(0) == tags[0]


def test_a_party_with_keys_does_not_believe_a_guarantee():
    with pytest.raises(DataError, match="only one of the two compares keys"):
        Slice(guaranteed=(True, False)).measurer()


def test_a_party_without_keys_and_without_a_guarantee_takes_part_in_no_slice_of_several():
    found = Slice(guaranteed=(True, True), stated=False)
    with pytest.raises(PolicyError, match="states that the order is guaranteed"):
        found.measurer()
    assert [ledger.total_reserved() for ledger in found.ledgers] == [0, 0]


def test_no_tag_goes_to_a_party_outside_the_slice_or_comes_from_one():
    found = Slice()
    found.measurer()
    for sender in (1, 2):
        header = streams.encode_delivery(Delivery(RELEASE_ID, DeliveryKind.RECORD_ORDER, (), sender))
        with pytest.raises(ProtocolError, match="another party of the same slice"):
            list(found.links[1].call("Deliver", [header, *streams.encode_payload([bytes(32)])]))


def test_parties_compare_again_after_a_restart():
    found = Slice()
    measurer = found.measurer(Asking(away_s=60.0, sleep=lambda seconds: None))
    for link in found.links:
        link.restart()
    (pairs,) = measurer.measure([Query(View(("a", "b")), GRANTED, "pairs")])
    assert np.rint(pairs.values).sum() == len(KEYS)
