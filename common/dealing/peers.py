"""The other participants of a release: keys shared with them, and streams sealed under these keys.

What a participant sends is bound to its labels when it has been received whole (`common/promises/binding`):
whoever sends something else under the same labels is refused, so that nothing that depends on it is sent
twice.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

from ..canonical.terms import terms_digest
from ..crypto.agreement import EphemeralKey
from ..crypto.digests import keyed_digest
from ..crypto.envelope import seal, unseal
from ..crypto.randomness import KEY_BYTES, FreshKeys, RandomStream
from ..errors import ProtocolError
from ..messages import Acceptance
from ..promises.acceptance import check_acceptance
from ..promises.binding import Binding, digest_of_labels
from ..terms import ReleaseTerms


class Peers:
    """Keys that this participant shares with every other one of a release, and streams sealed under them.

    Args:
        terms: terms of the release.
        me: place of this participant in the plan.
        secret: secret of this release in the ledger.
        acceptances: acceptances of all participants, in the plan's order; verified here.
        salts: source of salts.
        binding: what this participant received of the others, and hid.

    Raises:
        ProtocolError: an acceptance is missing, or not signed by the participant in the plan.
    """

    def __init__(
        self,
        terms: ReleaseTerms,
        me: int,
        secret: bytes,
        acceptances: Sequence[Acceptance],
        salts: FreshKeys,
        binding: Binding,
    ) -> None:
        participants = terms.plan.participants
        if len(acceptances) != len(participants):
            raise ProtocolError(
                "expected one acceptance for each party and dealer of the plan; introduce all of them"
            )
        self._me = me
        self._salts = salts
        self._binding = binding
        self._names = [entry.name for entry in participants]
        self._digest = terms_digest(terms)
        self._keys = {}
        own = EphemeralKey.from_seed(secret)
        for place, (entry, accepted) in enumerate(zip(participants, acceptances, strict=True)):
            check_acceptance(accepted, entry.identity, self._digest)
            if place != me:
                self._keys[place] = own.pair_key(accepted.ephemeral, self._digest)

    def streams(self) -> dict[int, RandomStream]:
        """Place of every other participant in the plan -> stream of the key shared with it."""
        return {other: RandomStream(key) for other, key in self._keys.items()}

    def seal(
        self, recipient: int, what: Sequence[str], payload: Iterable[bytes | memoryview]
    ) -> Iterator[bytes]:
        """Sealed frames for another participant; the first is a salt, so that no two streams have one key.

        Args:
            recipient: place of the other participant in the plan.
            what: labels of the payload; bound to the key, with sender, recipient and the signed terms.
            payload: pieces of any size.

        Raises:
            ProtocolError: there is no such participant.
        """
        salt = self._salts()
        key, context = self._envelope(recipient, self._me, recipient, what)
        return itertools.chain([salt], seal(key, context + salt, payload))

    def unseal(self, sender: int, what: Sequence[str], frames: Iterable[bytes]) -> Iterator[bytes]:
        """The payload of another participant's sealed frames; see `seal`.

        Guarantee: who reads it to its end has received nothing else under these labels, in this release.

        Raises:
            ProtocolError: there is no such participant, the frames do not decrypt, or, at the end, another
                payload was received under these labels.
        """
        key, context = self._envelope(sender, sender, self._me, what)
        iterator = iter(frames)
        salt = next(iterator, b"")
        if len(salt) != KEY_BYTES:
            raise ProtocolError("expected a sealed stream to begin with its salt; ask for the stream again")
        return self._unseal_and_bind(sender, what, unseal(key, context + salt, iterator))

    def digest_received(self, sender: int, what: Sequence[str]) -> str | None:
        """SHA-256 of what another participant sent under these labels; None before it came whole."""
        return self._binding.used(*self._use(sender, what))

    def _unseal_and_bind(self, sender: int, what: Sequence[str], payload: Iterable[bytes]) -> Iterator[bytes]:
        digest = hashlib.sha256()
        for chunk in payload:
            digest.update(chunk)
            yield chunk
        self._binding.use(*self._use(sender, what), digest.hexdigest())

    def _use(self, sender: int, what: Sequence[str]) -> tuple[str, str]:
        """Kind and name of the use of what another participant sends, to bind it."""
        return f"{what[0]} from {self._names[sender]}", digest_of_labels(
            [self._digest.hex(), str(sender), str(self._me), *what]
        )

    def tag_for(self, recipient: int, what: Sequence[str], content: bytes) -> bytes:
        """A keyed digest of a content, with which another party compares its own; see `keyed_digest`.

        Args:
            recipient: place of the other participant in the plan.
            what: labels of the content; bound to it with sender, recipient and the signed terms.
            content: what is compared.

        Raises:
            ProtocolError: there is no such participant.
        """
        return keyed_digest(*self._envelope(recipient, self._me, recipient, what), content)

    def tag_from(self, sender: int, what: Sequence[str], content: bytes) -> bytes:
        """The keyed digest that another party sends if it has the same content; see `tag_for`."""
        return keyed_digest(*self._envelope(sender, sender, self._me, what), content)

    def _envelope(self, other: int, sender: int, to: int, what: Sequence[str]) -> tuple[bytes, bytes]:
        if other not in self._keys:
            raise ProtocolError(
                "expected a sealed message between two participants of the plan; compare the plan"
            )
        return self._keys[other], self._digest + json.dumps([sender, to, *what]).encode()
