"""Checks of openings: coins, and proofs that openings of one part are one-hot, own ones and received ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ....common.crypto.randomness import KEY_BYTES, RandomStream
from ....common.dealing.dealing import dealt_labels
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.messages import Delivery
from ....common.protocols.arithmetic.field import PRIME, Elements
from ....common.protocols.arithmetic.ring import Words
from ....common.protocols.masked.masks import coins_labels, coins_of, point_key, proof_stream
from ....common.protocols.masked.one_hot import (
    PROOF_ELEMENTS,
    Challenge,
    attestation_elements,
    holds,
    prove,
)
from ....common.protocols.masked.one_hot_integers import challenge_of
from ....common.protocols.masked.opened_rows import opened_check_labels
from ....common.protocols.masked.plan import Chain, MaskedPlan, labels
from ....common.protocols.masked.products import Codes
from ....common.wire.streams import row_blocks
from .dealt import InSlice, ReceivedSeeds
from .openings import opened_labels

_WORD = np.dtype("<u8")


class Checks(InSlice):
    """The checks of a release whose plan demands them; see `common/protocols/masked/one_hot`.

    For the other arguments see `InSlice`.

    Args:
        secret: stream that only this party has, for this release only.
    """

    def __init__(
        self, plan: MaskedPlan, me: int, seeds: ReceivedSeeds, peers: Peers, secret: RandomStream
    ) -> None:
        super().__init__(plan, me, seeds, peers)
        self._secret = secret
        self._told: dict[tuple[int, Chain], bytes] = {}
        self._proofs: dict[tuple[int, Chain], Elements] = {}
        self._attested: dict[tuple[int, Chain], dict[int, Elements]] = {}
        self._passed: set[tuple[int, Chain]] = set()

    def coins(self, chain: Chain, owner: int, recipient: int) -> Iterator[bytes]:
        """The coins for another party's opening, sealed for that party or for a dealer.

        A dealer gets them with the key of a point, once nothing else is taken as the owner's proof.

        Args:
            chain: chain of the opened matrix.
            owner: index of the party that opened it.
            recipient: place of the party or dealer that they are for.

        Raises:
            DeliveriesLost: the opening, or for a dealer the proof, was not received whole.
        """
        coins = self.coins_for(owner, chain)
        told = coins
        if recipient != owner:
            proof = opened_check_labels(chain) if len(chain) > 1 else self._what(coins, chain)
            if self._peers.digest_received(owner, proof) is None:
                raise DeliveriesLost("dealers get coins after the proof was delivered; deliver it first")
            told += point_key(self._secret, owner, coins, chain) if len(chain) == 1 else b""
        elif len(chain) > 1:
            raise ProtocolError("expected a dealer as recipient of coins for a product; compare the plan")
        return self._peers.seal(recipient, coins_labels(owner, chain), [told])

    def receive_coins(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores the coins by which the receiver of an opening of this party has it proved."""
        sender, chain = delivery.sender, delivery.chain
        sealed = self._peers.unseal(sender, coins_labels(self._me, chain), chunks)
        (coins,) = row_blocks(sealed, np.dtype("u1"), 1, KEY_BYTES, 1)
        self._told[sender, chain] = coins.tobytes()

    def prove(
        self,
        chain: Chain,
        recipient: int,
        blocks: Iterable[tuple[Words, Codes]],
    ) -> Iterator[bytes]:
        """The proof for an opening of this party, sealed for its receiver.

        Args:
            chain: chain of the opened matrix.
            recipient: index of the receiver in the roster.
            blocks: its mask and the codes of the matrix, in blocks of rows.

        Raises:
            DeliveriesLost: its coins were not delivered.
        """
        if (recipient, chain) not in self._told:
            raise DeliveriesLost("a proof needs the coins of the receiver; deliver them first")
        coins = self._told[recipient, chain]
        challenge = self._challenge(coins, chain)
        proof = prove(
            challenge,
            *challenge.own_sums(blocks),
            [proof_stream(one, recipient, coins, chain) for one in self._seeds.masks.sources.values()],
            proof_stream(self._peers.streams()[recipient], recipient, coins, chain),
        )
        return self._peers.seal(recipient, self._what(coins, chain), [proof.astype(_WORD).data])

    def receive(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores another party's proof."""
        sender, chain = delivery.sender, delivery.chain
        sealed = self._peers.unseal(sender, self._what(self.coins_for(sender, chain), chain), chunks)
        self._proofs[sender, chain] = _read(sealed, PROOF_ELEMENTS)

    def decide(self, delivery: Delivery, chunks: Iterable[bytes], opened: Iterable[Words]) -> None:
        """Accepts or refuses another party's opening, once all dealers attested it.

        Args:
            delivery: header of the attestation.
            chunks: the attestation.
            opened: the opening, in blocks of rows.

        Raises:
            ProtocolError: the opening is not one-hot.
            DeliveriesLost: the proof was not delivered.
        """
        sender, chain = delivery.owner, delivery.chain
        if (sender, chain) not in self._proofs:
            raise DeliveriesLost("an attestation needs the proof; deliver the proof first")
        coins, proof = self.coins_for(sender, chain), self._proofs[sender, chain]
        challenge = self._challenge(coins, chain)
        sealed = self._peers.unseal(delivery.sender, dealt_labels(delivery.kind, (chain,), sender), chunks)
        attested = self._attested.setdefault((sender, chain), {})
        attested[delivery.sender] = _read(sealed, attestation_elements(self._records, challenge.vectors))
        if attested.keys() != set(self._dealers):
            return
        del self._attested[sender, chain]
        shown = challenge.sketch(opened, masks=False)
        stream = proof_stream(self._peers.streams()[sender], self._me, coins, chain)
        if not holds(challenge, shown, proof, list(attested.values()), stream):
            raise ProtocolError(
                f"expected an opening with one value for each record from party "
                f"{self._plan.roster[sender].name!r}, got another: it did not follow the protocol, or its "
                "dealer did not; ask their operators"
            )
        self.accept(sender, chain)

    def accept(self, sender: int, chain: Chain) -> None:
        """Notes that an opening of another party was checked."""
        self._passed.add((sender, chain))

    def require(self, sender: int, chain: Chain) -> None:
        """Refuses to multiply with an opening that was not checked.

        Raises:
            DeliveriesLost: its proof was not accepted since the party was started.
        """
        if self._plan.check and (sender, chain) not in self._passed:
            raise DeliveriesLost(
                "a product needs an opening whose proof was not delivered; deliver both, then attest it"
            )

    def coins_for(self, owner: int, chain: Chain) -> bytes:
        """This party's coins for an opening that it received whole, and will receive as no other one."""
        if not self._plan.check:
            raise ProtocolError("expected a release that checks openings; compare plans")
        ranges = range(self._plan.opened_ranges(chain, self._plan.roster[owner].slice))
        opened = [self._peers.digest_received(owner, opened_labels(chain, place)) for place in ranges]
        if None in opened:
            raise DeliveriesLost("coins are for an opening that was not delivered; deliver it first")
        return coins_of(self._secret, owner, [digest for digest in opened if digest], chain)

    def _challenge(self, coins: bytes, chain: Chain) -> Challenge:
        return challenge_of(self._plan, self._slice, chain, coins)

    def _what(self, coins: bytes, chain: Chain) -> list[str]:
        return ["one-hot proof", coins.hex(), *labels(chain)]


def _read(chunks: Iterable[bytes], count: int) -> Elements:
    """Field elements of a message."""
    (words,) = row_blocks(chunks, _WORD, 1, count, 1)
    found: Elements = words[0] % np.uint64(PRIME)
    return found
