"""A whole release by the protocol `masked`, with real parties and an honest curator."""

import hashlib
import itertools
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms, terms_digest
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import Dealing
from dpmosaic.common.history import START
from dpmosaic.common.messages import (
    Acceptance,
    DealRequest,
    Delivery,
    DeliveryKind,
    Introduction,
    MultiplyRequest,
    OpeningRequest,
)
from dpmosaic.common.privacy.cost import Adjacency, grid_of
from dpmosaic.common.promises.acceptance import accept
from dpmosaic.common.promises.binding import Binding, BindingsInMemory
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.masked.reveal import opened_sum
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire import streams
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.institution.institution import Institution, Rules
from dpmosaic.party.party import Party
from dpmosaic.party.policies.policy import Policy
from support.ledgers import ledger_at
from support.parties import sharing
from support.terms import RELEASE_ID, terms_with
from support.terms import terms_of as support_terms_of

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 2})
RECORDS = (40, 25)
GRID = {
    "north": (0, ("a", "b")),
    "east": (0, ("c",)),
    "west": (0, ("d",)),
    "south": (1, ("a", "b", "c", "d")),
}
DEALERS = ("dealer", "second dealer", "third dealer")
POLICY = Policy(
    protocols=frozenset({"masked"}),
    adjacencies=frozenset(Adjacency),
    max_release_rho=Fraction(10**15),
    lifetime_rho=Fraction(10**15),
    max_cells=48,
    dealers=frozenset({*DEALERS, *GRID}),
)


def identity(name):
    return Identity.from_seed(hashlib.sha256(name.encode()).digest())


def plan_of(
    grid=GRID, tolerated=None, bits=32, records=RECORDS, domain=DOMAIN, dealers=DEALERS[:1], evaluators=()
):
    roster = tuple(
        RosterEntry(name, number, held, records[number], identity(name).public)
        for name, (number, held) in grid.items()
    )
    tolerated = min(1, len(roster) - 1) if tolerated is None else tolerated
    entries = tuple(DealerEntry(name, identity(name).public) for name in dealers)
    return MaskedPlan(domain, roster, tolerated, Ring(bits), evaluators, entries)


def terms_of(plan=None, **changes):
    return terms_with(support_terms_of(protocol="masked", plan=plan or plan_of()), **changes)


def rows_of(plan, number):
    """The records of a slice."""
    rng = np.random.default_rng(number)
    codes = [rng.integers(0, size, plan.records(number)) for size in plan.domain.sizes]
    return Table.from_codes(plan.domain, np.column_stack(codes))


def party_of(
    name, plan=None, *, ledger=None, table=None, policy=POLICY, seed=1, peers=None, order=None,
    curators=None,
):  # fmt: skip
    """A party of the plan; by default it has the plan's rows and pinned all other participants."""
    plan = plan or plan_of()
    entry = next(entry for entry in plan.roster if entry.name == name)
    if table is None:
        table = rows_of(plan, entry.slice).project(entry.attributes)
    if peers is None:
        peers = {other.name: other.identity for other in plan.participants if other is not entry}
    neighbours = {other.name for other in plan.roster if other.slice == entry.slice and other is not entry}
    rules = Rules(sharing(policy, neighbours), peers, curators)
    institution = Institution(name, identity(name), table, rules, order)
    return Party(institution, ledger or Ledger(), RandomStream.from_seed(seed).child(name).key)


def signed(name, terms, ephemeral, purpose="acceptance of a release", mark=START):
    """An acceptance with this key, as the owner of a name signs it."""
    message = hashlib.sha256(encode_terms(terms)).digest() + mark.signed_bytes() + ephemeral
    return Acceptance(ephemeral, identity(name).sign(purpose, message), mark)


def dealer_secret(name):
    """What a dealer keeps of a release."""
    return RandomStream.from_seed(9).child_key("secret", name)


class Release:
    """All parties and dealers of a release, and an honest curator; every step is a method.

    Parties and dealers draw from fixed seeds: two releases of the same terms are equal to the last byte.

    Args:
        terms: terms; by default of three parties that share slice 0, one that holds slice 1, and one dealer.
        folder: folder of the parties' ledgers; None for ledgers in memory.
    """

    def __init__(self, terms=None, folder=None, policy=POLICY):
        self.terms, self.folder, self.policy = terms or terms_of(), folder, policy
        self.plan = self.terms.masked_plan
        self.names = [entry.name for entry in self.plan.roster]
        self.dealer_names = [entry.name for entry in self.plan.participants[len(self.names) :]]
        self.ledgers, self.parties, self.dealings = {}, {}, {}
        self.bindings = defaultdict(BindingsInMemory)
        for name in self.names:
            self.start(name)

    def start(self, name, **changes):
        """Starts a party on its ledger's file; again, as after its process was killed."""
        if name in self.ledgers:
            self.ledgers[name].close()
        self.ledgers[name] = ledger_at(self.folder and self.folder / f"{name}.sqlite")
        self.parties[name] = party_of(
            name, self.plan, ledger=self.ledgers[name], policy=self.policy, **changes
        )

    def accept(self):
        for _ in range(2):
            accepted = [self.parties[name].accept(encode_terms(self.terms)) for name in self.names]
        digest = terms_digest(self.terms)
        dealt = [accept(digest, identity(name), dealer_secret(name), START) for name in self.dealer_names]
        self.acceptances = (*accepted, *dealt)
        return self

    def introduction(self, **changes):
        return replace(Introduction(self.terms.release_id, self.acceptances), **changes)

    def introduce(self):
        for name in self.names:
            self.parties[name].introduce(self.introduction())
        return self.introduce_dealers().begin()

    def introduce_dealers(self):
        for place, name in enumerate(self.dealer_names, start=len(self.names)):
            salts = RandomStream.from_seed(9).child(name).key
            self.dealings[place] = Dealing(
                self.terms, place, dealer_secret(name), self.acceptances, salts, Binding(self.bindings[place])
            )
        return self

    def begin(self):
        """What every slice needs before the first opening: seeds of masks, and one order of records."""
        return self.deal_seeds().compare_orders()

    def deal_seeds(self):
        """The dealers of every slice deal seeds to its parties."""
        for number in range(self.plan.slice_count):
            members = self.plan.members(number)
            for recipient in members if len(members) > 1 else ():
                self.deal(DealRequest(self.terms.release_id, DeliveryKind.MASK_SEEDS, recipient))
        return self

    def compare_orders(self):
        """All parties of a slice exchange the tags of the order of their records."""
        for number in range(self.plan.slice_count):
            for owner, recipient in itertools.permutations(self.plan.members(number), 2):
                request = OpeningRequest(self.terms.release_id, (), recipient, DeliveryKind.RECORD_ORDER)
                tag = list(self.parties[self.names[owner]].open(request))
                self.deliver(DeliveryKind.RECORD_ORDER, (), recipient, tag, owner)
        return self

    def sealed(self, owner, chain, recipient):
        """A party's opening for another one; parties are given by their indices in the roster."""
        request = OpeningRequest(self.terms.release_id, chain, recipient)
        return list(self.parties[self.names[owner]].open(request))

    def deliver(self, kind, chain, recipient, chunks, sender=0, **changes):
        delivery = Delivery(self.terms.release_id, kind, chain, sender, **changes)
        self.parties[self.names[recipient]].deliver(delivery, chunks)

    def exchange(self, owner, chain, recipient):
        sealed = self.sealed(owner, chain, recipient)
        self.deliver(DeliveryKind.OPENING, chain, recipient, sealed, owner)

    def dealt(self, dealer, request):
        """What a dealer, given by its place, deals: sealed frames."""
        dealing = self.dealings[dealer] if dealer in self.dealings else self.parties[self.names[dealer]]
        return list(dealing.deal(request))

    def deliver_dealt(self, dealer, request, frames):
        """Delivers what a dealer deals to the recipient."""
        several = request.kind is DeliveryKind.DEALT_PRODUCTS
        chain = request.chains[0] if request.chains and not several else ()
        chains = request.chains if several else ()
        owner = request.owner
        self.deliver(request.kind, chain, request.recipient, frames, dealer, chains=chains, owner=owner)

    def deal(self, request):
        """All dealers of the recipient's slice deal to it."""
        for dealer in self.plan.dealers_of(self.plan.roster[request.recipient].slice):
            self.deliver_dealt(dealer, request, self.dealt(dealer, request))

    def dealing_of(self, kind, chain, number=0):
        """The request for what is dealt for a product, which the holder of the last part gets."""
        return DealRequest(self.terms.release_id, kind, self.plan.holders(chain, number)[-1], (chain,))

    def deal_rows(self, chain, number=0):
        """The dealers deal a row-wise product, and every owner of the left factor checks it."""
        for owner in self.plan.openers(chain, number):
            for kind in (DeliveryKind.DEALT_ROWS, DeliveryKind.DEALT_CHECK):
                self.deal(replace(self.dealing_of(kind, chain, number), owner=owner))
            self.check(owner, chain, self.plan.holders(chain, number)[-1])

    def check(self, owner, chain, recipient):
        """An owner's part of the check of a dealt row-wise product, delivered to its receiver."""
        request = OpeningRequest(self.terms.release_id, chain, recipient, DeliveryKind.CHECK)
        self.deliver(
            DeliveryKind.CHECK, chain, recipient, self.parties[self.names[owner]].open(request), owner
        )

    def deal_product(self, chain, number=0):
        self.deal(self.dealing_of(DeliveryKind.DEALT_PRODUCTS, chain, number))

    def multiply(self, party, *chains):
        self.parties[self.names[party]].multiply(MultiplyRequest(self.terms.release_id, chains))

    def deliveries(self, clique):
        """The openings and dealt messages before a clique is multiplied, in order; one callable per step."""
        for number in range(self.plan.slice_count):
            chain = self.plan.chain(View(clique), number)
            holders = self.plan.holders(chain, number)
            for k in range(1, len(chain)):
                for owner in holders[:k]:
                    yield lambda o=owner, c=chain[:k], r=holders[k]: self.exchange(o, c, r)
                    yield lambda o=holders[k], c=chain[k : k + 1], r=owner: self.exchange(o, c, r)
                if k + 1 < len(chain):
                    yield lambda c=chain[: k + 1], n=number: self.deal_rows(c, n)
            if len(chain) > 1:
                yield lambda c=chain, n=number: self.deal_product(c, n)

    def products(self, clique):
        """The steps that multiply a clique, with the name of the party that takes each."""
        for number in range(self.plan.slice_count):
            chain = self.plan.chain(View(clique), number)
            if len(chain) > 1:
                for party in self.plan.holders(chain, number):
                    yield self.names[party], lambda p=party, c=chain: self.multiply(p, c)

    def prepare(self, clique):
        """Takes all steps before the answer, also if parties were started again."""
        self.begin()
        for step in self.deliveries(clique):
            step()
        for _, step in self.products(clique):
            step()
        return self

    def frames(self, query):
        """Every party's answer."""
        return {name: list(self.parties[name].answer(query)) for name in self.names}

    def counts(self, query):
        """The noisy counts, or differences of them, that all answers add up to."""
        cells = query.view.sent_count(self.plan.domain)
        answers = []
        for frames in self.frames(query).values():
            (answer,) = streams.decode_answer(frames, 1, cells, 1)
            answers.append(answer[0])
        return opened_sum(self.plan.ring, answers) / grid_of(query.sigma)

    def rows(self, number):
        return rows_of(self.plan, number)

    def exact(self, clique):
        """The exact counts, which no role may see."""
        return sum(self.rows(number).marginal(clique) for number in range(self.plan.slice_count))

    def spent(self):
        return {name: ledger.cost_of(self.terms.release_id) for name, ledger in self.ledgers.items()}


@pytest.fixture(scope="session")
def masked():
    """The building blocks of releases by the protocol `masked`."""

    class Parts:
        query = MarginalQuery(RELEASE_ID, "q", AnswerForm.SHARE, View(("a", "c")), 3.0)
        domain, records, grid, policy, dealers = DOMAIN, RECORDS, GRID, POLICY, DEALERS

    for part in (Release, identity, plan_of, terms_of, rows_of, party_of, signed):
        setattr(Parts, part.__name__, staticmethod(part))
    return Parts


@pytest.fixture
def release():
    """A release whose parties accepted and were introduced, before any opening."""
    return Release().accept().introduce()
