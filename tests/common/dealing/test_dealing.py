"""What one or three dealers deal in a release, as its parties read it."""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import terms_digest
from dpmosaic.common.crypto.randomness import KEY_BYTES, RandomStream
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import Dealing, dealt_labels
from dpmosaic.common.dealing.peers import Peers
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.history import START
from dpmosaic.common.messages import DealRequest, DeliveryKind, OpeningRequest
from dpmosaic.common.promises.acceptance import accept
from dpmosaic.common.promises.binding import Binding, BindingsInMemory
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import known_components
from dpmosaic.common.protocols.masked.masks import release_masks
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.queries import ScoreQuery
from support.masked import DEALERS, identity, plan_of, terms_of
from support.terms import RELEASE_ID

GRID = {
    "north": (0, ("a", "b")),
    "east": (0, ("c",)),
    "west": (0, ("d",)),
    "lab": (1, ("a", "b", "c")),
    "clinic": (1, ("d",)),
}
NORTH, EAST, WEST, LAB, CLINIC, FIRST = range(6)
A, C, D = ("a",), ("c",), ("d",)
SEEDS, PRODUCTS, ROWS = DeliveryKind.MASK_SEEDS, DeliveryKind.DEALT_PRODUCTS, DeliveryKind.DEALT_ROWS


class Dealt:
    """A release with dealers, and what its parties read of what these deal.

    Args:
        dealers: names of the dealers.
        bits: bits of the ring.
    """

    def __init__(self, dealers=DEALERS, bits=32):
        self.plan = plan_of(GRID, bits=bits, dealers=dealers)
        self.terms = terms_of(self.plan)
        self.digest = terms_digest(self.terms)
        self.names = [entry.name for entry in self.plan.participants]
        self.acceptances = tuple(
            accept(self.digest, identity(name), self.secret(name), START) for name in self.names
        )
        salts = RandomStream.from_seed(3).key
        self.dealings = {
            self.names.index(name): Dealing(
                self.terms,
                self.names.index(name),
                self.secret(name),
                self.acceptances,
                salts,
                Binding(BindingsInMemory()),
            )
            for name in dealers
        }

    def secret(self, name):
        return RandomStream.from_seed(1).child_key(name)

    def peers(self, place):
        secret = self.secret(self.names[place])
        return Peers(
            self.terms, place, secret, self.acceptances, lambda: bytes(32), Binding(BindingsInMemory())
        )

    def opened(self, dealer, request):
        """What a dealer deals, without its envelope."""
        what = dealt_labels(request.kind, request.chains, request.owner)
        frames = list(self.dealings[dealer].deal(request))
        return b"".join(self.peers(request.recipient).unseal(dealer, what, frames))

    def seeds(self, party):
        """Component -> the seeds of it that dealers send to a party."""
        dealers, found = self.plan.dealers_of(self.plan.roster[party].slice), defaultdict(list)
        for position, dealer in enumerate(dealers):
            sent = self.opened(dealer, DealRequest(RELEASE_ID, SEEDS, party))
            known = known_components(len(dealers), position)
            assert len(sent) == KEY_BYTES * len(known)
            for k, component in enumerate(known):
                found[component].append(sent[KEY_BYTES * k : KEY_BYTES * (k + 1)])
        return found

    def mask(self, party, chain):
        """The mask of a party's matrix: sums of words of the ring, as Python integers."""
        ring, rows = self.plan.ring, self.plan.records(self.plan.roster[party].slice)
        components = [release_masks(sent[0], self.digest) for sent in self.seeds(party).values()]
        streams = [source.child("mask", *labels(chain)) for source in components]
        return sum(ring.uniform(s, rows, self.plan.cells(chain)).astype(object) for s in streams)

    def dealt(self, chain):
        """The sum of what all dealers deal for a product and of the pads that the other holders add."""
        request = DealRequest(RELEASE_ID, PRODUCTS, self.plan.holders(chain, 0)[-1], (chain,))
        owners = self.plan.openers(chain, 0)
        return self._with_pads(request, owners, "product share", 1, self.plan.ring)

    def dealt_rows(self, chain, rows):
        """The same of a row-wise product of a chain of two parts, for every row."""
        owner, recipient = self.plan.holders(chain, 0)
        request = DealRequest(RELEASE_ID, ROWS, recipient, (chain,), owner)
        return self._with_pads(request, [owner], "row-wise share", rows, Ring(64))

    def _with_pads(self, request, owners, pad, rows, ring):
        (chain,) = request.chains
        shape = rows, self.plan.cells(chain)
        total = np.zeros(shape, dtype=object)
        for dealer in self.plan.dealers_of(0):
            sent = np.frombuffer(self.opened(dealer, request), dtype=ring.dtype)
            total += sent.reshape(shape).astype(object)
            for owner in owners:
                stream = self.peers(owner).streams()[dealer].child("pad", pad, *labels(chain))
                total += ring.uniform(stream, *shape).astype(object)
        return total % 2**ring.bits

    def factors(self, chain):
        """The sum of the masks of the left factor, and the mask of the right one."""
        left = sum(self.mask(owner, chain[:-1]) for owner in self.plan.openers(chain, 0))
        return left, self.mask(self.plan.holders(chain, 0)[-1], chain[-1:])


@pytest.fixture(scope="module", params=[(1, 32), (3, 32), (3, 64)], ids=str)
def dealt(request):
    count, bits = request.param
    return Dealt(DEALERS[:count], bits)


def test_dealers_that_know_a_component_send_one_seed_of_it_and_no_two_components_have_one(dealt):
    """Of 5 parties and up to 3 components."""
    count = len(dealt.dealings)
    everything = [sent for party in range(FIRST) for sent in dealt.seeds(party).values()]
    assert [len(sent) for sent in everything] == [max(1, count - 1)] * 5 * count
    assert {len(set(sent)) for sent in everything} == {1}
    assert len({sent[0] for sent in everything}) == 5 * count


@pytest.mark.parametrize("chain", [(A, C), (A, D, C)], ids=["two parties", "three parties"])
def test_dealt_products_and_pads_add_up_to_the_product_of_the_masks(dealt, chain):
    left, right = dealt.factors(chain)
    expected = (left.T @ right).reshape(1, -1) % 2**dealt.plan.ring.bits
    assert dealt.dealt(chain).tolist() == expected.tolist()


def test_dealt_rows_and_pads_add_up_to_the_row_wise_product_of_the_masks(dealt):
    """Modulo 2^64 in every ring, which the check of the rows needs."""
    left, right = dealt.factors((A, D))
    expected = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1) % 2**64
    assert dealt.dealt_rows((A, D), len(left)).tolist() == expected.tolist()


def test_products_dealt_together_are_those_dealt_one_by_one(dealt):
    chains = ((A, C), (("b",), C), (("a", "b"), C))
    together = dealt.opened(FIRST, DealRequest(RELEASE_ID, PRODUCTS, EAST, chains))
    single = [dealt.opened(FIRST, DealRequest(RELEASE_ID, PRODUCTS, EAST, (chain,))) for chain in chains]
    assert together == b"".join(single)


def test_a_dealer_that_starts_again_deals_the_same_under_another_salt(dealt):
    again = Dealt(DEALERS[: len(dealt.dealings)], dealt.plan.ring.bits)
    for request in (
        DealRequest(RELEASE_ID, SEEDS, EAST),
        DealRequest(RELEASE_ID, PRODUCTS, EAST, ((A, C),)),
        DealRequest(RELEASE_ID, ROWS, WEST, ((A, D),)),
    ):
        one, other = (list(dealt.dealings[FIRST].deal(request)) for _ in range(2))
        assert not set(one) & set(other)
        assert dealt.opened(FIRST, request) == again.opened(FIRST, request)


@pytest.fixture(scope="module")
def crossed():
    """A party of each slice deals for the other one, with the first two dealers."""
    return Dealt(("north", "lab", *DEALERS[:2]))


def test_a_dealer_deals_for_slices_that_it_is_no_party_of(crossed):
    assert [crossed.plan.dealers_of(number) for number in (0, 1)] == [(LAB, 5, 6), (NORTH, 5, 6)]
    for dealer, recipient in itertools.product((NORTH, LAB), range(5)):
        request = DealRequest(RELEASE_ID, SEEDS, recipient)
        if (dealer == NORTH) == (recipient in (LAB, CLINIC)):
            assert crossed.opened(dealer, request)
        else:
            with pytest.raises(ProtocolError, match="does not deal for the recipient's slice"):
                crossed.dealings[dealer].deal(request)


@pytest.mark.parametrize("recipient", [-1, 5, 7, 2**32 - 1])
def test_a_dealer_deals_to_parties_only(crossed, recipient):
    for kind in (SEEDS, PRODUCTS, ROWS):
        with pytest.raises(ProtocolError, match="expected a party of the plan as recipient"):
            crossed.dealings[NORTH].deal(DealRequest(RELEASE_ID, kind, recipient, ((A, C),)))


@pytest.mark.parametrize(
    ("chains", "reason"),
    [
        ((), "got none"),
        (((A,),), "at least 2 parts"),
        (((A, C), (("z",), C)), "at least 2 parts"),
        (((A, A),), "each once"),
        (((("b",), A),), "one part of each party"),
        (((("a", "c"), D),), "each of one party"),
        (((C, A),), "whose last part the recipient holds"),
        (((A, D),), "whose last part the recipient holds"),
        (((A, C), (A, D)), "whose last part the recipient holds"),
    ],
)
def test_a_dealer_deals_for_chains_of_the_slice_that_end_at_the_recipient(dealt, chains, reason):
    for kind in (PRODUCTS, ROWS):
        with pytest.raises(ProtocolError, match=reason):
            dealt.dealings[FIRST].deal(DealRequest(RELEASE_ID, kind, EAST, chains))


@pytest.mark.parametrize("owner", [EAST, WEST, LAB, FIRST, 99])
def test_a_dealer_deals_rows_for_the_product_with_a_holder_of_an_earlier_part(dealt, owner):
    for kind in (ROWS, DeliveryKind.DEALT_CHECK):
        with pytest.raises(ProtocolError, match="holder of an earlier part as owner"):
            dealt.dealings[FIRST].deal(DealRequest(RELEASE_ID, kind, EAST, ((A, C),), owner))


def test_a_dealer_deals_the_rows_of_one_chain_and_nothing_that_parties_send(dealt):
    chains = ((A, C), (D, C))
    requests = [DealRequest(RELEASE_ID, ROWS, EAST, chains)]
    requests += [
        DealRequest(RELEASE_ID, kind, EAST, chains[:1]) for kind in (DeliveryKind.OPENING, DeliveryKind.PROOF)
    ]
    for request in requests:
        with pytest.raises(ProtocolError, match="expected what a dealer deals"):
            dealt.dealings[FIRST].deal(request)


def test_a_dealer_that_is_no_evaluator_opens_nothing(dealt):
    query = ScoreQuery(RELEASE_ID, "s", (View(("a",)),), 1.0, bytes(32), 1, 1)
    with pytest.raises(ProtocolError, match="evaluates scores only if the plan names it"):
        dealt.dealings[FIRST].scores.prepare(query)
    with pytest.raises(ProtocolError, match="holds no rows"):
        dealt.dealings[FIRST].open(OpeningRequest(RELEASE_ID, (A,), EAST))


def test_a_dealer_refuses_participants_that_the_plan_does_not_name(dealt):
    one, other, *rest = dealt.acceptances
    for wrong in ((one, *rest), (other, one, *rest), (*dealt.acceptances, one)):
        with pytest.raises(ProtocolError, match=r"one acceptance for each|does not verify"):
            Dealing(
                dealt.terms,
                FIRST,
                dealt.secret("dealer"),
                wrong,
                lambda: bytes(32),
                Binding(BindingsInMemory()),
            )
