"""The other parties of a release: keys shared with them, and streams sealed under these keys."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

from ..acceptance import check_acceptance
from ..canonical.terms import terms_digest
from ..crypto.agreement import EphemeralKey
from ..crypto.digests import keyed_digest
from ..crypto.envelope import seal, unseal
from ..crypto.randomness import KEY_BYTES, FreshKeys, RandomStream
from ..errors import ProtocolError
from ..messages import Acceptance, ReleaseTerms
from ..protocols.partition import Partition


class Peers:
    """Keys that this party shares with every other one of a release, and streams sealed under them.

    Args:
        terms: terms of the release.
        plan: plan of the release.
        me: index of this party in the roster.
        secret: secret of this release in the ledger.
        acceptances: acceptances of all parties, in roster order; verified here.
        salts: source of salts.
        dealer: key of this party and the dealer, whose place is after the last party; None without a dealer.

    Raises:
        ProtocolError: an acceptance is missing, or not signed by the party in the plan.
    """

    def __init__(
        self,
        terms: ReleaseTerms,
        plan: Partition,
        me: int,
        secret: bytes,
        acceptances: Sequence[Acceptance],
        salts: FreshKeys,
        dealer: bytes | None = None,
    ) -> None:
        if len(acceptances) != len(plan.roster):
            raise ProtocolError("expected one acceptance for each party of the plan; introduce all of them")
        self._me = me
        self._salts = salts
        self._digest = terms_digest(terms)
        self._keys = {}
        own = EphemeralKey.from_seed(secret)
        for place, (entry, accepted) in enumerate(zip(plan.roster, acceptances, strict=True)):
            check_acceptance(accepted, entry.identity, self._digest)
            if place != me:
                self._keys[place] = own.pair_key(accepted.ephemeral, self._digest)
        if dealer is not None:
            self._keys[len(plan.roster)] = dealer

    def streams(self) -> dict[int, RandomStream]:
        """Place of every other participant -> stream of the key shared with it."""
        return {other: RandomStream(key) for other, key in self._keys.items()}

    def seal(
        self, recipient: int, what: Sequence[str], payload: Iterable[bytes | memoryview]
    ) -> Iterator[bytes]:
        """Sealed frames for another party; the first one is a salt, so that no two streams have the same key.

        Args:
            recipient: index of the other party in the roster.
            what: labels of the payload; bound to the key, with sender, recipient and the signed terms.
            payload: pieces of any size.

        Raises:
            ProtocolError: there is no such party.
        """
        salt = self._salts()
        key, context = self._envelope(recipient, self._me, recipient, what)
        return itertools.chain([salt], seal(key, context + salt, payload))

    def unseal(self, sender: int, what: Sequence[str], frames: Iterable[bytes]) -> Iterator[bytes]:
        """The payload of another party's sealed frames; see `seal`.

        Raises:
            ProtocolError: there is no such party, or the frames do not decrypt.
        """
        key, context = self._envelope(sender, sender, self._me, what)
        iterator = iter(frames)
        salt = next(iterator, b"")
        if len(salt) != KEY_BYTES:
            raise ProtocolError("expected a sealed stream to begin with its salt; ask for the stream again")
        return unseal(key, context + salt, iterator)

    def tag_for(self, recipient: int, what: Sequence[str], content: bytes) -> bytes:
        """A keyed digest of a content, with which another party compares its own; see `keyed_digest`.

        Args:
            recipient: index of the other party in the roster.
            what: labels of the content; bound to it with sender, recipient and the signed terms.
            content: what is compared.

        Raises:
            ProtocolError: there is no such party.
        """
        return keyed_digest(*self._envelope(recipient, self._me, recipient, what), content)

    def tag_from(self, sender: int, what: Sequence[str], content: bytes) -> bytes:
        """The keyed digest that another party sends if it has the same content; see `tag_for`."""
        return keyed_digest(*self._envelope(sender, sender, self._me, what), content)

    def _envelope(self, other: int, sender: int, to: int, what: Sequence[str]) -> tuple[bytes, bytes]:
        if other not in self._keys:
            raise ProtocolError("expected a sealed message between two parties of the plan; compare the plan")
        return self._keys[other], self._digest + json.dumps([sender, to, *what]).encode()
