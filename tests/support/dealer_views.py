"""What dealers see of a masked release over three parties, together with the curator and with one party."""

import itertools
import threading
from collections import defaultdict
from fractions import Fraction

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.dealing.dealing import Dealing
from dpmosaic.common.dealing.peers import Peers
from dpmosaic.common.messages import AnswerRequest, DeliveryKind, OpeningRequest
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.protocols.arithmetic.ring import WIDE
from dpmosaic.common.protocols.masked import sacrifice
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.protocols.masked.sacrifice import CHECK_MASK
from dpmosaic.common.protocols.registry import MASKED
from dpmosaic.common.wire import codec, streams
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.federation import connect
from dpmosaic.simulations.parties.network import policy_for, start_dealers, start_parties
from support import taps
from support.parties import cut, masked_terms

DOMAIN = Domain.coded({"a": 6, "d": 3, "b": 8, "c": 5})
"""Three parties hold a and d, b, c."""

RECORDS = 400
CLIQUES = [("a",), ("a", "b"), ("b", "c"), ("d", "b"), ("a", "b", "c")]
GRANTED = Fraction(1)
PARTIES = range(3)


def table_of(kind):
    """A table whose records are all equal, or all drawn at random."""
    return taps.table_of(kind, DOMAIN, RECORDS)


class Tap:
    """A connection to a participant whose messages the curator records."""

    def __init__(self, connection, place, seen):
        self.connection, self.place, self.seen = connection, place, seen

    def call(self, method, requests):
        requests = list(requests)
        if method == "Deliver":
            delivery, chunks = streams.decode_delivery(iter(requests))
            salt, *frames = chunks
            self.seen.now.delivering = self.place, delivery
            if delivery.kind is not DeliveryKind.RECORD_ORDER:
                assert len(salt) == 32
                self.seen.sealed[self.place, delivery] = b"".join(frames)
        if method == "Open":
            asked = codec.decode(OpeningRequest, *requests)
            self.seen.now.opening = self.place, asked.recipient, asked.chain
        replies = list(self.connection.call(method, requests))
        if method == "Answer":
            self.seen.answers[self.place].append((requests, replies))
        yield from replies


class DealtRelease:
    """A release over three parties that dealers deal for, and what each role saw of it.

    Args:
        table: table of the parties.
        monkeypatch: fixture with which messages are read after they were unsealed.
        dealers: number of dealers, 1 or 3.

    Attributes:
        plan: plan of the release.
        found: measurements.
        sealed: receiver and header of each message between participants -> its frames.
        unsealed: the same -> its content.
        answers: place of a party -> its answers, as (requests, replies).
        combined: owner, receiver and chain of a check -> what the owner hides by a mask of the check.
        now: what this thread delivers or opens; dealers deal at the same time.
    """

    def __init__(self, table, monkeypatch, dealers):
        self.sealed, self.unsealed, self.answers = {}, {}, defaultdict(list)
        self._dealings, self.combined, self.now = {}, {}, threading.local()
        begin, unseal, combine = Dealing.__init__, Peers.unseal, sacrifice.combine

        def begun(dealing, terms, place, *others):
            begin(dealing, terms, place, *others)
            self._dealings[place] = dealing

        def read(peers, sender, what, frames):
            self.unsealed[self.now.delivering] = content = b"".join(unseal(peers, sender, what, frames))
            return iter([content])

        def combining(weight, factor, right=False):
            self.combined[self.now.opening] = combine(weight, factor, right)
            return self.combined[self.now.opening]

        with monkeypatch.context() as patched:
            patched.setattr(sacrifice, "combine", combining)
            patched.setattr(Dealing, "__init__", begun)
            patched.setattr(Peers, "unseal", read)
            measurer = self._measurer(table, dealers)
            cost = GRANTED / len(CLIQUES)
            self.found = measurer.measure([Query(View(clique), cost, "test") for clique in CLIQUES])
        self.plan = measurer._plan
        self.dealers = self.plan.dealers_of(0)

    def _measurer(self, table, dealers):
        keys = RandomStream.from_seed(1)
        policy = policy_for(MASKED.name, PrivacyUnit(Adjacency.ZERO_OUT), float(GRANTED), dealers=dealers)
        links = start_parties(cut(table, "1x3"), policy, keys, dealers=dealers)
        participants = [*links[0], *start_dealers(dealers, keys, links)]
        tapped = [Tap(link, place, self) for place, link in enumerate(participants)]
        federation = connect(table.domain, [tapped[:3]], dealers=tapped[3:])
        terms = masked_terms(federation, GRANTED)
        return MaskedMeasurer(federation, terms, federation.accept(terms), GRANTED)

    def components(self, dealer, party, chain):
        """The components of a mask that a dealer knows, by their numbers, each of shape (records, cells)."""
        mask = self._dealings[dealer]._mask(party, chain)
        return mask.components(self.plan.ring, 0, RECORDS, self.plan.cells(chain))

    def known(self, dealers, party, chain):
        """The sum of the components of a mask that these dealers know together."""
        found = {}
        for dealer in dealers:
            found |= self.components(dealer, party, chain)
        return sum(found.values())

    def opened(self, party):
        """Sender and chain of each opening that a party received -> its words."""
        return {
            (delivery.sender, delivery.chain): self._words(content).reshape(RECORDS, -1)
            for (place, delivery), content in self.unsealed.items()
            if place == party and delivery.kind is DeliveryKind.OPENING
        }

    def pads(self, kind):
        """Receiver and dealer -> header and chain of each product -> what it dealt, less its terms."""
        found = defaultdict(dict)
        for (place, delivery), content in self.unsealed.items():
            if delivery.kind is kind:
                chains = delivery.chains or (delivery.chain,)
                terms = [self._term(delivery.sender, chain, delivery) for chain in chains]
                words = np.frombuffer(content, dtype=terms[0].dtype) - np.concatenate(terms)
                found[place, delivery.sender][chains, delivery.owner] = words
        return found

    def _term(self, dealer, chain, delivery):
        """What a dealer deals for, from the components of the masks that it knows."""
        wide = delivery.kind is DeliveryKind.DEALT_ROWS
        *owners, last = self.plan.holders(chain, 0)
        owners = [delivery.owner] if wide else owners
        right = self.components(dealer, last, chain[-1:])
        lefts = [self.components(dealer, owner, chain[:-1]) for owner in owners]
        left = {number: sum(mask[number].astype(np.uint64) for mask in lefts) for number in right}
        if len(self.dealers) == 1:
            pairs = [(left[0], [right[0]])]
        else:
            u, v = ((self.dealers.index(dealer) + k) % 3 for k in (1, 2))
            pairs = [(left[u], [right[u], right[v]]), (left[v], [right[u]])]
        product = "ri,rj->rij" if wide else "ri,rj->ij"
        # Modulo 2^64; its low bits are the product in the plan's ring.
        total = sum(np.einsum(product, one, part.astype(np.uint64)) for one, parts in pairs for part in parts)
        return total.ravel() if wide else total.ravel().astype(self.plan.ring.dtype)

    def checks(self, dealer):
        """Receiver and header of each check -> its rows, less all that a dealer may know of them."""
        found = {}
        for (place, delivery), content in self.unsealed.items():
            if delivery.kind is DeliveryKind.CHECK:
                combined = self.combined[delivery.sender, place, delivery.chain]
                sent = np.frombuffer(content, dtype=np.uint64)[: combined.size].reshape(combined.shape)
                mask = self._dealings[dealer]._masks(delivery.sender)
                mask = mask.child(CHECK_MASK, *labels(delivery.chain))
                known = mask.components(WIDE, 0, *combined.shape)
                found[place, delivery] = sent - combined - sum(known.values())
        return found

    def _words(self, content):
        return np.frombuffer(content[: len(content) // 4 * 4], dtype=self.plan.ring.dtype)

    def views_of_curator(self):
        """What the curator sees with any one dealer: name of a view -> key of a message -> words."""
        views, together = defaultdict(dict), defaultdict(bytes)
        for (place, delivery), frame in self.sealed.items():
            together[delivery.kind] += frame
            if delivery.kind is DeliveryKind.OPENING:
                for dealer in self.dealers:
                    mask = self.known([dealer], delivery.sender, delivery.chain).ravel()
                    key = dealer, place, delivery.sender, delivery.chain
                    views["sealed, with a dealer's masks"][key] = self._words(frame)[: mask.size] + mask
        views["sealed"] = {kind: self._words(frames) for kind, frames in together.items()}
        words = {place: self._answered(answers) for place, answers in self.answers.items()}
        for size in (1, 2):
            for some in itertools.combinations(PARTIES, size):
                views["answers of some parties"][some] = sum(words[place] for place in some)
        return dict(views)

    def _answered(self, answers):
        """The words of all answers of a party."""
        return np.concatenate(
            [
                self.plan.ring.words(answer[0])
                for requests, replies in answers
                for cells in [self.plan.domain.cells(codec.decode(AnswerRequest, requests[0]).query.clique)]
                for answer in streams.decode_answer(replies, 1, cells, 1)
            ]
        )

    def views_of_party(self):
        """What any one dealer and any one party see: name of a view -> key of a message -> words."""
        views = defaultdict(dict)
        for dealer, party in itertools.product(self.dealers, PARTIES):
            for (sender, chain), words in self.opened(party).items():
                known = self.known([dealer], sender, chain)
                views["opened, with a dealer's masks"][dealer, party, sender, chain] = words + known
        for dealer in self.dealers:
            views["checks, less a dealer's masks"][dealer] = np.concatenate(
                [words.ravel() for words in self.checks(dealer).values()]
            )
        for kind, name in (
            (DeliveryKind.DEALT_ROWS, "dealt rows"),
            (DeliveryKind.DEALT_PRODUCTS, "dealt products"),
        ):
            pads = self.pads(kind)
            for (place, dealer), words in pads.items():
                every = np.concatenate(list(words.values()))
                views[f"{name}, less the product of the masks"][place, dealer] = every
                for other in self.dealers:
                    if dealer < other:
                        less = [words[key] - pads[place, other][key] for key in words]
                        views[f"{name}, one dealer's less another's"][place, dealer, other] = np.concatenate(
                            less
                        )
        return dict(views)
