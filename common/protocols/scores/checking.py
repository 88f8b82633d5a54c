"""The messages by which evaluators prove to each other that they followed the protocol.

Each evaluator is the *prover* of its own messages; of the other two, one is the *helper* and one the
*verifier* (`proof`). Verifiers are evaluators 1 and 2, which end with shares of the scores: none leaves a
verifier whose prover failed.

    proofs      the prover sends the verifier a digest of what it sent to the helper, and its share of M;
    challenges  the verifier sends the key of the hash and random bytes to prover and helper;
    responses   the prover sends a key and the random sums of the helper's factors, the helper a digest of
                what it expects, under this key.

The key depends on the challenge, so a verifier that sends two different ones learns nothing from the digest.
A helper that deviates cannot make the outcome depend on a secret: it knows the only digest that an honest
verifier accepts of an honest prover.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Generator, Mapping, Sequence

from ...crypto.digests import DIGEST_BYTES
from ...crypto.randomness import KEY_BYTES, RandomStream
from ...errors import ProtocolError
from .exchange import AWAITS, Exchange
from .proof import PlaneHash, choices_of, drawn_blinds, expected_of, proof_of, response_of, shares_of
from .relations import Side
from .shape import VERIFIERS, ScoreShape

Sides = Mapping[tuple[int, int], Sequence[Side]]
"""(prover, other evaluator) -> what the other one knows, for each block of the prover."""

Messages = Generator[bytes, bytes, None]

_LABEL = "proof of an evaluator"


class _Part:
    """What an evaluator does in the proof of one prover.

    Args:
        shape: shape of the batch.
        prover: index of the prover.
        exchange: all messages before.
        sides: what this evaluator knows.
        streams: index of each other evaluator -> stream of the pair.
    """

    def __init__(
        self,
        shape: ScoreShape,
        prover: int,
        exchange: Exchange,
        sides: Sides,
        streams: Mapping[int, RandomStream],
    ) -> None:
        self.prover, (self.helper, self.verifier) = prover, VERIFIERS[prover]
        self.blocks, self.width = shape.blocks[prover], shape.plane_bytes
        self.exchange, self.sides, self.streams = exchange, sides, streams

    def prove(self) -> Messages:
        """Sends or receives the proof."""
        yield from ()

    def challenge(self) -> Messages:
        """Sends or receives the challenge."""
        yield from ()

    def respond(self) -> Messages:
        """Sends or receives the responses."""
        yield from ()

    def stream(self, other: int) -> RandomStream:
        """What this evaluator shares with another one for this proof only."""
        return self.streams[other].child(_LABEL, str(self.prover))

    def hash_key(self, to_helper: bytes, to_verifier: bytes) -> bytes:
        """The key of the hash, from digests of the prover's messages."""
        return hashlib.sha256(bytes([self.prover]) + to_helper + to_verifier).digest()

    def tag(self, key: bytes, to_helper: bytes, response: bytes, expected: bytes) -> bytes:
        """What helper and verifier compare."""
        content = to_helper + hashlib.sha256(response).digest() + expected
        return hmac.digest(key, content, "sha256")


class _Prover(_Part):
    def prove(self) -> Messages:
        helper, verifier = self.helper, self.verifier
        self._to_helper = self.exchange.digest(self.prover, helper)
        self._key = self.hash_key(self._to_helper, self.exchange.digest(self.prover, verifier))
        self._blinds = drawn_blinds(self.blocks, self.stream(helper), self.width)
        one, other = self.sides[self.prover, helper], self.sides[self.prover, verifier]
        pairs = list(zip(one, other, strict=True))
        yield self._to_helper + proof_of(PlaneHash(self._key, self.width), pairs, self._blinds)

    def challenge(self) -> Messages:
        self._challenge = yield AWAITS
        if self._challenge[:KEY_BYTES] != self._key:
            raise deviation(self.helper, self.verifier)

    def respond(self) -> Messages:
        choices = choices_of(self.blocks, self._challenge[KEY_BYTES:])
        response = response_of(choices, self.sides[self.prover, self.helper], self._blinds)
        yield self.stream(self.helper).child_key(self._challenge.hex()) + response


class _Helper(_Part):
    def challenge(self) -> Messages:
        self._challenge = yield AWAITS

    def respond(self) -> Messages:
        sides, stream = self.sides[self.prover, self.helper], self.stream(self.prover)
        blinds = drawn_blinds(self.blocks, stream, self.width)
        plane_hash = PlaneHash(self._challenge[:KEY_BYTES], self.width)
        choices = choices_of(self.blocks, self._challenge[KEY_BYTES:])
        shares = [share for _, share in blinds]
        expected = expected_of(plane_hash, self.blocks, choices, sides, shares)
        response = response_of(choices, sides, blinds)
        key = self.stream(self.prover).child_key(self._challenge.hex())
        yield self.tag(key, self.exchange.digest(self.prover, self.helper), response, expected)


class _Verifier(_Part):
    def prove(self) -> Messages:
        received = yield AWAITS
        self._to_helper, self._proof = received[:DIGEST_BYTES], received[DIGEST_BYTES:]
        self._key = self.hash_key(self._to_helper, self.exchange.digest(self.prover, self.verifier))

    def challenge(self) -> Messages:
        drawn = self.stream(self.helper).child_key(self._key.hex(), hashlib.sha256(self._proof).hexdigest())
        self._drawn = drawn
        for _ in (self.prover, self.helper):
            yield self._key + drawn

    def respond(self) -> Messages:
        received = yield AWAITS
        tag = yield AWAITS
        key, response = received[:KEY_BYTES], received[KEY_BYTES:]
        expected = expected_of(
            PlaneHash(self._key, self.width),
            self.blocks,
            choices_of(self.blocks, self._drawn),
            self.sides[self.prover, self.verifier],
            shares_of(self.blocks, self._proof),
            response,
        )
        if not hmac.compare_digest(tag, self.tag(key, self._to_helper, response, expected)):
            raise deviation(self.prover, self.helper)


def check(
    shape: ScoreShape,
    role: int,
    exchange: Exchange,
    sides: Sides,
    streams: Mapping[int, RandomStream],
) -> Messages:
    """Run by an evaluator after its last step: proves its messages, and checks those of the others.

    Args:
        shape: shape of the batch.
        role: index of the evaluator.
        exchange: all messages that it sent or received.
        sides: what it knows: as prover both sides, else its own.
        streams: index of each other evaluator -> stream of the pair.

    Raises:
        ProtocolError: another evaluator deviates.
    """
    parts: list[_Part] = []
    for prover, (helper, verifier) in VERIFIERS.items():
        kind = {prover: _Prover, helper: _Helper, verifier: _Verifier}[role]
        parts.append(kind(shape, prover, exchange, sides, streams))
    for part in parts:
        yield from part.prove()
    for part in parts:
        yield from part.challenge()
    for part in parts:
        yield from part.respond()


def deviation(one: int, other: int) -> ProtocolError:
    """The refusal to answer scores that an evaluator may have computed otherwise."""
    return ProtocolError(
        f"expected messages of evaluators {one} and {other} of scores as the protocol says, got a proof that "
        "fails: one of the two deviates; nothing of these scores is answered, ask the operators of both"
    )
