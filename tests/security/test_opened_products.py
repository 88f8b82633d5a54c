"""Parties of a slice of three and more that open another share of a product than theirs.

The plan demands the check. A cheating party changes single words that it opens and does everything else as
the protocol says. It passes with probability 2^-32.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DeliveriesLost, ProtocolError
from dpmosaic.common.messages import DeliveryKind, OpeningRequest
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.wire import codec
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.measurers.products import Products
from support.aligned import AlignedRelease, People
from support.taps import Curator
from support.terms import RELEASE_ID, terms_with

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 3})
RECORDS = 60
DEALERS = pytest.mark.parametrize("dealers", [1, 3], ids=["one dealer", "three dealers"])
BITS = pytest.mark.parametrize("bits", [32, 64])
RHO = Fraction(10**5)
"""Leaves no noise."""


def table():
    rng = np.random.default_rng(4)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, RECORDS) for n in DOMAIN.sizes]))


class Checked(Curator):
    """A curator whose plan demands the check."""

    def __init__(self, grid, bits, dealers):
        self.bits = bits
        super().__init__(table(), grid, 10 * RHO, dealers=dealers)

    def terms(self, release_id=RELEASE_ID):
        terms = super().terms(release_id)
        return terms_with(terms, plan=replace(terms.plan, check="one-hot", ring=Ring(self.bits)))

    @property
    def chain(self):
        """Of the largest marginal."""
        return self.terms().masked_plan.chain(View(DOMAIN.names), 0)

    def place(self, part):
        """The party that holds a part of the chain, by its number."""
        return self.terms().masked_plan.holders(self.chain, 0)[part]

    def session(self, part):
        """The session of the holder of a part."""
        place = self.place(part)
        return self.links[place].connection.party._releases.of(RELEASE_ID)._introduced_session()


def measured(measurer, clique):
    (found,) = measurer.measure([Query(View(clique), RHO, "test")])
    return np.rint(found.values).tolist()


def opens_otherwise(session, chain_length, added):
    """The party adds a number to one word of each product of so many parts that it opens."""
    opening = session._matrices.own_opening

    def other(chain, rows, within=None):
        for block in opening(chain, rows, within):
            if len(chain) == chain_length:
                block[:1, -1:] += block.dtype.type(added % 2 ** (8 * block.itemsize))
            yield block

    session._matrices.own_opening = other


@pytest.mark.slow
@DEALERS
@BITS
@pytest.mark.parametrize("grid", ["1x3", "1x4", "2x3"])
def test_honest_parties_pass_and_their_marginals_are_exact(grid, bits, dealers):
    measurer = Checked(grid, bits, dealers).measurer()
    for clique in (("a", "c"), ("a", "b", "c"), DOMAIN.names):
        assert measured(measurer, clique) == table().marginal(clique).tolist()


@pytest.mark.slow
@DEALERS
@BITS
@pytest.mark.parametrize("added", [1, -1, 1 << 18, 1 << 31])
@pytest.mark.parametrize("holder", [0, 1], ids=["of the left factor", "of the last part"])
def test_a_holder_of_two_parts_that_opens_another_share_is_refused(holder, added, bits, dealers):
    curator = Checked("1x3", bits, dealers)
    measurer = curator.measurer()
    opens_otherwise(curator.session(holder), 2, added)
    refused = f"opened share of a product from party 'party-1-{curator.place(holder) + 1}'"
    with pytest.raises(ProtocolError, match=refused):
        measured(measurer, DOMAIN.names)
    assert "Multiply" not in curator.wire.methods()


@pytest.mark.slow
@DEALERS
@pytest.mark.parametrize("length", [2, 3])
@pytest.mark.parametrize("holder", [0, 1, 2])
def test_a_holder_of_three_parts_that_opens_another_share_is_refused(holder, length, dealers):
    if holder == length:
        pytest.skip("it holds no share of this product")
    curator = Checked("1x4", 32, dealers)
    measurer = curator.measurer()
    opens_otherwise(curator.session(holder), length, 1 << 18)
    with pytest.raises(ProtocolError, match="opened share of a product from party"):
        measured(measurer, DOMAIN.names)


@pytest.mark.slow
@DEALERS
def test_words_that_differ_beyond_the_ring_alone_are_refused(dealers):
    curator = Checked("1x3", 32, dealers)
    measurer = curator.measurer()
    opens_otherwise(curator.session(0), 2, 1 << 40)
    with pytest.raises(ProtocolError, match="opened share of a product"):
        measured(measurer, DOMAIN.names)


@pytest.mark.slow
@DEALERS
def test_two_holders_whose_words_cancel_are_refused(dealers):
    """What one adds and another takes away leaves the product as it is; each share is tested by itself."""
    curator = Checked("1x3", 32, dealers)
    measurer = curator.measurer()
    opens_otherwise(curator.session(0), 2, 1 << 18)
    opens_otherwise(curator.session(1), 2, -(1 << 18))
    with pytest.raises(ProtocolError, match="opened share of a product"):
        measured(measurer, DOMAIN.names)


@pytest.mark.slow
@DEALERS
@pytest.mark.parametrize("holder", [0, 1, 2])
def test_a_party_of_three_that_opens_rows_that_are_not_one_hot_is_refused(holder, dealers):
    curator = Checked("1x3", 32, dealers)
    measurer = curator.measurer()
    opens_otherwise(curator.session(holder), 1, 1)
    with pytest.raises(ProtocolError, match="one value for each record"):
        measured(measurer, DOMAIN.names)


def test_a_party_multiplies_no_product_that_was_not_checked(monkeypatch):
    """A curator that leaves the check of products out gets no answer."""
    check = Products._check
    monkeypatch.setattr(
        Products, "_check", lambda self, owner, chain, to: len(chain) > 1 or check(self, owner, chain, to)
    )
    with pytest.raises(DeliveriesLost, match="whose proof was not delivered"):
        measured(Checked("1x3", 32, 1).measurer(), DOMAIN.names)


def test_dealers_are_told_weights_only_after_the_holder_committed_itself():
    """A holder that knows the weights could choose words that pass."""
    curator = Checked("1x3", 32, 1)
    measurer = curator.measurer()
    chain = curator.chain[:2]
    asked = []
    relay = type(measurer._participants[0]).relay

    def before(client, place, request, recipient, *rest):
        if request.kind is DeliveryKind.PROOF and request.chain == chain:
            told = OpeningRequest(RELEASE_ID, chain, 3, DeliveryKind.COINS, step=place)
            link = curator.links[request.recipient]
            with pytest.raises(DeliveriesLost, match="after the proof was delivered"):
                list(link.call("Open", [codec.encode(told)]))
            asked.append(place)
        return relay(client, place, request, recipient, *rest)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(measurer._participants[0]), "relay", before)
        measured(measurer, DOMAIN.names)
    assert len(asked) == 2


GRID = ["ac b"]
ALIGNED = Domain.coded({"a": 3, "b": 4, "c": 2})


@pytest.mark.parametrize("population", [Population.EVERYWHERE, Population.ANYWHERE])
@pytest.mark.parametrize("cheats", [False, True])
def test_marginals_of_one_aligned_party_times_the_presence_of_others_are_checked(population, cheats):
    aligned = AlignedRelease(People(ALIGNED, GRID), population)
    terms = aligned.terms
    aligned.terms = terms_with(terms, plan=replace(terms.plan, check="one-hot"))
    measurer = aligned.measurer()
    people = People(ALIGNED, GRID)
    query = Query(View(("a", "c")), measurer.accountant.granted / 2, "test")
    if cheats and population is Population.EVERYWHERE:
        other = aligned.links[0][1].party._releases.of(terms.release_id)._introduced_session()
        opens_otherwise(other, 2, 1 << 18)
        with pytest.raises(ProtocolError, match="opened share of a product"):
            measurer.measure([query])
        return
    expected = people.everywhere if population is Population.EVERYWHERE else people.anywhere
    (found,) = measurer.measure([query])
    assert np.rint(found.values).tolist() == expected(("a", "c")).tolist()
