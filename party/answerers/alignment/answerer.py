"""Aligns the rows of a party with those of the other parties of its slice, through a matcher."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import KEY_BYTES, RandomStream
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.extras import require_extra
from ....common.frames import join_chunks
from ....common.messages import Delivery, DeliveryKind, Introduction
from ....common.protocols.alignment.plan import DDH, AlignmentPlan
from ....common.protocols.alignment.tokens import PartyTokens, party_tokens
from ....common.protocols.masked.plan import Chain
from ....common.queries import AnswerForm, MarginalQuery, alignment_query
from ....common.terms import ReleaseTerms
from ....common.wire.alignments import decode_positions, encode_tokens
from ...accounts.account import Account
from ...accounts.rows import Placement
from ...institution.institution import Institution
from ..answerer import Answerer
from .passing import Passing

_KEY = "key of the tokens"


class AlignmentAnswerer(Answerer):
    """Sends tokens of the party's rows, and stores the positions that they get.

    The key of the tokens, which the first of the compared parties draws, and points of other parties are lost
    when the process ends.

    Args:
        institution: see `Answerer`.
        account: see `Answerer`.
    """

    forms: ClassVar[frozenset[AnswerForm]] = frozenset()

    def __init__(self, institution: Institution, account: Account) -> None:
        super().__init__(institution, account)
        self._plan = _plan(account.terms)
        names = [entry.name for entry in self._plan.roster]
        self._me = names.index(institution.name)
        self._number, self._group = self._plan.group(self._me)
        self._peers: Peers | None = None
        self._key: bytes | None = None
        self._ring: Passing | None = None
        self._sent: PartyTokens | None = None
        self._rows: NDArray[np.intp] | None = None

    @classmethod
    def check_terms(cls, terms: ReleaseTerms, institution: Institution) -> None:
        """Refuses terms by which this party cannot align its rows."""
        if _plan(terms).keying == DDH:
            require_extra(DDH)
        institution.identifiers.check_match(_plan(terms).match)

    def answer(self, query: MarginalQuery, charges: Sequence[bytes] = ()) -> Iterator[bytes]:
        """Refuses: an alignment measures nothing."""
        raise ProtocolError("a release that aligns rows answers no marginals; start another release")

    def introduce(self, introduction: Introduction) -> None:
        """Receives and verifies the acceptances of all parties."""
        peers = self._peers_of(introduction)
        self.account.introduce(introduction)
        self._peers = self._peers or peers

    def open(self, chain: Chain, recipient: int, place: int = 0) -> Iterator[bytes]:
        """The key of the tokens, in frames sealed for another party.

        Raises:
            ProtocolError: this party is not the first of those that are compared, the other one is none of
                them, or a matrix was asked for.
        """
        if chain or self._me != self._group[0] or recipient not in self._group[1:]:
            raise ProtocolError(
                "expected a request for the key, to the first party, for another one that is compared with "
                "it; compare the plan"
            )
        return self._introduced_peers().seal(recipient, [_KEY], [self._shared_key()])

    def deliver(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores the key of the tokens, points of another party, or the positions of the rows."""
        match delivery.kind:
            case DeliveryKind.ALIGNMENT_KEY:
                self._receive_key(delivery.sender, chunks)
            case DeliveryKind.ALIGNMENT_POINTS:
                self._passing().receive(delivery.step, delivery.sender, chunks)
            case DeliveryKind.POSITIONS:
                self._place(chunks)
            case _:
                raise self._nothing_shared()

    def tokens(self, owner: int) -> Iterator[bytes]:
        """The frames of the tokens of rows and dummies, in shuffled order; charged first.

        Args:
            owner: index in the roster of the party whose they are; another one only if its points end here.
        """
        if self._plan.keying == DDH:
            if owner == self._me:
                self._begin()
            return encode_tokens(self._passing().tokens(owner))
        if owner != self._me:
            raise ProtocolError("expected a request for the tokens of this party; compare the plan")
        return encode_tokens(self._bound())

    def pass_on(self, owner: int, recipient: int) -> Iterator[bytes]:
        """Points of a party's tokens, multiplied by this one, in frames sealed for the next one."""
        if owner == self._me:
            self._begin()
        return self._passing().send(owner, recipient)

    def _receive_key(self, sender: int, chunks: Iterable[bytes]) -> None:
        if sender != self._group[0] or self._me == sender:
            raise ProtocolError("expected a key of the first party, at another one; compare the plan")
        key = join_chunks(self._introduced_peers().unseal(sender, [_KEY], chunks), KEY_BYTES)
        if self._key not in (None, key):
            raise ProtocolError("expected one key of the tokens, got another; start a new alignment")
        self._key = key

    def _begin(self) -> None:
        """Charges the tokens of this party's rows and makes points of them."""
        self._passing().begin(self._bound())

    def _bound(self) -> NDArray[np.uint64]:
        """The tokens of this party's rows, to which the charge is bound."""
        sent = self._tokens().tokens
        self.account.bind_answer(alignment_query(self.account.terms), sent.view(np.int64))
        return sent

    def _passing(self) -> Passing:
        if self._plan.keying != DDH:
            raise ProtocolError('expected no points with the keying "hmac"; compare the plan')
        if self._ring is None:
            peers, memory = self._introduced_peers(), self.account.allowance.memory
            self._ring = Passing(self._plan, self._me, peers, self.account.secret(), memory)
        return self._ring

    def _place(self, chunks: Iterable[bytes]) -> None:
        sent = self._tokens()
        patterns = [(1 << len(members)) - 1 for members in self._plan.slices]
        size, people, delivered = decode_positions(chunks, patterns, len(sent.tokens))
        positions = np.full(self.institution.table.record_count, -1, dtype=np.int32)
        positions[self._rows] = sent.rows(delivered)
        self.account.place(Placement(size, people, positions))

    def _tokens(self) -> PartyTokens:
        """The tokens of the charged query; the same whenever they are computed."""
        if self._sent is None:
            key, query = self._shared_key(), alignment_query(self.account.terms)
            stream = self.account.charge(query)
            texts = self.institution.identifiers.match_texts(self._plan.match, self._plan.duplicates)
            parties, me = len(self._group), self._group.index(self._me)
            self._sent = party_tokens(
                key, self._number, parties, me, query.sigma, texts, stream, self._plan.keying
            )
            self._rows = texts.rows
        return self._sent

    def _shared_key(self) -> bytes:
        if self._me == self._group[0]:
            return RandomStream(self.account.secret()).child_key(_KEY)
        if self._key is None:
            raise DeliveriesLost("the tokens need the key of the first party; deliver it (again)")
        return self._key

    def _introduced_peers(self) -> Peers:
        """The other parties; after a restart, from the introduction in the ledger."""
        if self._peers is None:
            self._peers = self._peers_of(self.account.introduction())
        return self._peers

    def _peers_of(self, introduction: Introduction) -> Peers:
        account = self.account
        return Peers(
            account.terms,
            self._me,
            account.secret(),
            introduction.acceptances,
            account.keys,
            account.binding,
        )


def _plan(terms: ReleaseTerms) -> AlignmentPlan:
    assert terms.aligning is not None, "terms that align rows contain match keys"
    return terms.aligning
