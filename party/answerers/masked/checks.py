"""Proofs that openings are one-hot: of this party's own openings, and of those that it received."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ....common.dealing.dealing import dealt_labels
from ....common.dealing.peers import Peers
from ....common.errors import DeliveriesLost, ProtocolError
from ....common.messages import Delivery
from ....common.protocols.masked.field import PRIME, Elements
from ....common.protocols.masked.masks import proof_stream
from ....common.protocols.masked.one_hot import (
    PROOF_ELEMENTS,
    Challenge,
    attestation_elements,
    holds,
    prove,
)
from ....common.protocols.masked.plan import Chain, MaskedPlan, labels
from ....common.protocols.masked.ring import Words
from ....common.wire.streams import row_blocks
from .dealt import ReceivedSeeds

_WORD = np.dtype("<u8")


class Checks:
    """The checks of a release whose plan demands them; see `common/protocols/masked/one_hot`.

    Args:
        plan: plan of the release.
        me: index of this party in the roster.
        seeds: seeds of this party's masks.
        peers: the other parties.
    """

    def __init__(self, plan: MaskedPlan, me: int, seeds: ReceivedSeeds, peers: Peers) -> None:
        self._plan = plan
        self._me = me
        self._records = plan.opened_records(plan.roster[me].slice)
        self._seeds = seeds
        self._peers = peers
        self._proofs: dict[tuple[int, Chain], tuple[bytes, Elements]] = {}
        self._passed: set[tuple[int, Chain]] = set()

    def prove(
        self,
        chain: Chain,
        recipient: int,
        coins: bytes,
        masks: Callable[[], Iterable[Words]],
        opened: Callable[[], Iterable[Words]],
    ) -> Iterator[bytes]:
        """The proof for an opening of this party, sealed for its receiver.

        Args:
            chain: chain of the opened matrix.
            recipient: index of the receiver in the roster.
            coins: coins of the dealer.
            masks: gives the mask, in blocks of rows.
            opened: gives the opening, in blocks of rows.
        """
        challenge = self._challenge(coins, chain)
        proof = prove(
            challenge,
            challenge.sketch(masks(), masks=True),
            challenge.sketch(opened(), masks=False),
            proof_stream(self._seeds.masks.source, recipient, coins, chain),
            proof_stream(self._peers.streams()[recipient], recipient, coins, chain),
        )
        return self._peers.seal(recipient, self._what(coins, chain), [proof.astype(_WORD).data])

    def forget(self, sender: int, chain: Chain) -> None:
        """An opening was delivered: what was proved of another one does not count for it."""
        self._proofs.pop((sender, chain), None)
        self._passed.discard((sender, chain))

    def receive(self, delivery: Delivery, chunks: Iterable[bytes]) -> None:
        """Stores another party's proof."""
        sealed = self._peers.unseal(delivery.sender, self._what(delivery.coins, delivery.chain), chunks)
        self._proofs[delivery.sender, delivery.chain] = delivery.coins, _read(sealed, PROOF_ELEMENTS)

    def decide(self, delivery: Delivery, chunks: Iterable[bytes], opened: Iterable[Words]) -> None:
        """Accepts or refuses another party's opening, from its proof and the dealer's attestation.

        Args:
            delivery: header of the attestation.
            chunks: the attestation.
            opened: the opening, in blocks of rows.

        Raises:
            ProtocolError: the opening is not one-hot.
            DeliveriesLost: there is no proof for these coins.
        """
        sender, chain, coins = delivery.owner, delivery.chain, delivery.coins
        what = dealt_labels(delivery.kind, (chain,), sender, coins)
        sealed = self._peers.unseal(delivery.sender, what, chunks)
        attestation = _read(sealed, attestation_elements(self._records))
        known, proof = self._proofs.pop((sender, chain), (b"", None))
        if proof is None or known != coins:
            raise DeliveriesLost("an attestation needs the proof for the same coins; deliver the proof first")
        challenge = self._challenge(coins, chain)
        stream = proof_stream(self._peers.streams()[sender], self._me, coins, chain)
        if not holds(challenge, challenge.sketch(opened, masks=False), proof, attestation, stream):
            raise ProtocolError(
                f"expected an opening with one value for each record from party "
                f"{self._plan.roster[sender].name!r}, got another: it did not follow the protocol, or its "
                "dealer did not; ask their operators"
            )
        self._passed.add((sender, chain))

    def require(self, sender: int, chain: Chain) -> None:
        """Refuses to multiply with an opening that was not checked.

        Raises:
            DeliveriesLost: no proof of it was accepted since it was delivered.
        """
        if self._plan.check and (sender, chain) not in self._passed:
            raise DeliveriesLost(
                "a product needs an opening whose proof was not delivered; deliver both, then attest it"
            )

    def _challenge(self, coins: bytes, chain: Chain) -> Challenge:
        if not self._plan.check or not coins or len(chain) > 1:
            raise ProtocolError(
                "expected coins for one part, in a release that checks openings; compare plans"
            )
        return Challenge.from_coins(coins, self._records, self._plan.cells(chain))

    def _what(self, coins: bytes, chain: Chain) -> list[str]:
        return ["one-hot proof", coins.hex(), *labels(chain)]


def _read(chunks: Iterable[bytes], count: int) -> Elements:
    """Field elements of a message."""
    (words,) = row_blocks(chunks, _WORD, 1, count, 1)
    found: Elements = words[0] % np.uint64(PRIME)
    return found
