"""The other parties of a masked release: who they are, the keys shared with them, what is sealed for them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

from ....common.canonical.terms import terms_digest
from ....common.crypto.agreement import EphemeralKey
from ....common.crypto.envelope import seal, unseal
from ....common.crypto.identity import verify
from ....common.crypto.randomness import KEY_BYTES, RandomStream
from ....common.errors import ProtocolError
from ....common.messages import Acceptance, ReleaseTerms
from ....common.protocols.masked.plan import MaskedPlan
from ...acceptance import ACCEPTANCE


class Peers:
    """The keys that this party shares with every other one of a release, and the streams sealed under them.

    Args:
        terms: of the release.
        plan: of the release.
        me: this party's place in the roster.
        secret: the ledger's for this release.
        acceptances: of every party, in the roster's order; each is verified here.
        salts: never the same words again, whatever the party's process went through.

    Raises:
        ProtocolError: an acceptance is missing, or not signed by the party that the plan names.
    """

    def __init__(
        self,
        terms: ReleaseTerms,
        plan: MaskedPlan,
        me: int,
        secret: bytes,
        acceptances: Sequence[Acceptance],
        salts: RandomStream,
    ) -> None:
        if len(acceptances) != len(plan.roster):
            raise ProtocolError("expected one acceptance for each party of the plan; introduce all of them")
        self._me = me
        self._salts = salts
        self._digest = terms_digest(terms)
        self._keys = {}
        own = EphemeralKey.from_seed(secret)
        for place, (entry, accepted) in enumerate(zip(plan.roster, acceptances, strict=True)):
            verify(entry.identity, ACCEPTANCE, self._digest + accepted.ephemeral, accepted.signature)
            if place != me:
                self._keys[place] = own.pair_key(accepted.ephemeral, self._digest)

    def streams(self) -> dict[int, RandomStream]:
        """For every other party, by its place in the roster, the stream of the key shared with it."""
        return {other: RandomStream(key) for other, key in self._keys.items()}

    def seal(
        self, recipient: int, what: Sequence[str], payload: Iterable[bytes | memoryview]
    ) -> Iterator[bytes]:
        """Sealed frames for another party; the first one is a salt, so that no two streams share a key.

        Args:
            recipient: place in the roster.
            what: says what the payload is; bound into the key, with sender, recipient and the signed terms.
            payload: pieces of any size.

        Raises:
            ProtocolError: there is no such party.
        """
        salt = self._salts.bytes(KEY_BYTES).tobytes()
        key, context = self._envelope(recipient, self._me, recipient, what)
        return itertools.chain([salt], seal(key, context + salt, payload))

    def unseal(self, sender: int, what: Sequence[str], frames: Iterable[bytes]) -> Iterator[bytes]:
        """The payload of another party's sealed frames; see `seal`.

        Raises:
            ProtocolError: there is no such party, or the frames are not what it sealed.
        """
        key, context = self._envelope(sender, sender, self._me, what)
        iterator = iter(frames)
        salt = next(iterator, b"")
        if len(salt) != KEY_BYTES:
            raise ProtocolError("expected a sealed stream to begin with its salt; ask for the stream again")
        return unseal(key, context + salt, iterator)

    def _envelope(self, other: int, sender: int, to: int, what: Sequence[str]) -> tuple[bytes, bytes]:
        if other not in self._keys:
            raise ProtocolError(
                "a sealed message goes from one party of the plan to another; compare the plan"
            )
        return self._keys[other], self._digest + json.dumps([sender, to, *what]).encode()
