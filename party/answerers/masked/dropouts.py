"""A party's masks in a release whose parties may drop out, and to whom it tells which of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ....common.crypto.randomness import RandomStream
from ....common.errors import ProtocolError
from ....common.messages import Remaining, Unmasked, Unmasking
from ....common.promises.binding import Binding, digest_of_labels
from ....common.promises.remaining import check_agreed, check_remaining, signed_bytes
from ....common.protocols.arithmetic.ring import Words
from ....common.protocols.dropouts.masks import own_key, pair_key, seed_of, sum_of_masks
from ....common.protocols.dropouts.plan import DropoutPlan
from ....common.protocols.dropouts.shares import SHARE_BYTES, points_of, share_of

_ASKED, _IN_ANSWER = "who had dropped out", "who is in an answer"
_GONE, _TOLD = "a party that dropped out", "masks of a party that dropped out"
"""Kinds of bindings."""

_PAIRS, _SHARES = "its masks with others were told", "shares of its keys were told"
"""What is told of a party that dropped out; never both, so that whatever else it sends stays hidden."""

Signing = Callable[[bytes], bytes]
"""Signs who is in an answer, with the party's identity."""


class Dropouts:
    """Masks the answers of one party, and tells the masks that hide a sum, once for each query.

    Args:
        plan: plan of the release.
        terms: SHA-256 of the encoded terms.
        me: index of the party in the roster.
        secret: secret of this release in the ledger.
        streams: stream of the key shared with each other party, by its index.
        binding: what this party signed and told.
        sign: signs with the party's identity.
    """

    def __init__(
        self,
        plan: DropoutPlan,
        terms: bytes,
        me: int,
        secret: bytes,
        streams: Mapping[int, RandomStream],
        binding: Binding,
        sign: Signing,
    ) -> None:
        self._plan = plan
        self._terms = terms
        self._me = me
        self._own = own_key(secret)
        self._streams = streams
        self._pairs = {place: pair_key(stream) for place, stream in streams.items()}
        self._binding = binding
        self._sign = sign

    def points(self) -> Iterator[bytes]:
        """What the party publishes of its keys, so that others hold shares of them: see `shares.points_of`.

        Yields:
            For each party of the roster the points of the key of masks with it; for itself, of its own masks.
        """
        for place in range(len(self._plan.roster)):
            shares = {o: share_of(stream, self._me, str(place)) for o, stream in self._streams.items()}
            key = self._own if place == self._me else self._pairs[place]
            yield points_of(key, shares, self._plan.may_drop_out)

    def check_asked(self, query: str, before: Sequence[int]) -> None:
        """Refuses a query before it is charged; for the arguments see `mask`.

        Raises:
            ProtocolError: the party has dropped out itself, or knows of another one that has.
        """
        check_remaining(self._plan, Remaining("", query, tuple(before), tuple(before)))
        if self._me in before:
            raise ProtocolError("the release goes on without this party, which answers nothing more in it")
        if self._binding.used(_ASKED, query) is None:
            self._check_gone(before)

    def mask(self, query: str, before: Sequence[int], words: int) -> Words:
        """The mask of an answer, after it is bound to the query who had dropped out before.

        Args:
            query: digest of the query.
            before: places of the parties that have dropped out.
            words: length of the answer.

        Raises:
            ProtocolError: it was asked with others before.
        """
        self._binding.use(_ASKED, query, _digest(before))
        others = [place for place in self._streams if place not in before]
        pairs = ((self._me, place, seed_of(self._pairs[place], query, before)) for place in others)
        return sum_of_masks(self._plan.ring, words, [seed_of(self._own, query, before)], pairs)

    def agree(self, remaining: Remaining) -> bytes:
        """Signs who is in an answer to which this party added its own, and who dropped out.

        Guarantee: of each query one set of absent parties; of all queries, parties that dropped out stay so.

        Raises:
            ProtocolError: it has not answered the query with these parties, has dropped out itself, or signed
                something else before.
        """
        self._check_answered(remaining)
        gone = {*remaining.absent, *remaining.lost}
        self._check_gone(gone)
        self._binding.use(_IN_ANSWER, remaining.query, _digest(remaining.absent))
        for place in gone:
            self._binding.use(_GONE, str(place), _digest([place]))
        return self._sign(signed_bytes(self._terms, remaining))

    def unmask(self, asked: Unmasking) -> Unmasked:
        """Tells the masks of a sum that enough parties agreed on.

        Guarantee: of no party both its masks with others and shares of its keys, in the whole release.

        Raises:
            ProtocolError: too few signed, this party is not in the sum, or the other kind of masks of a party
                that dropped out was told before.
        """
        remaining = asked.remaining
        self._check_answered(remaining)
        check_agreed(self._plan, self._terms, remaining, asked.signatures)
        left = [place for place in remaining.absent if place not in remaining.before]
        for places, told in ((left, _PAIRS), (remaining.lost, _SHARES)):
            for place in places:
                self._binding.use(_TOLD, str(place), digest_of_labels([told]))
        return Unmasked(
            seed_of(self._own, remaining.query, remaining.before),
            tuple(seed_of(self._pairs[place], remaining.query, remaining.before) for place in left),
            tuple(self._shares(remaining.lost, left)),
        )

    def _shares(self, lost: Sequence[int], left: Sequence[int]) -> Iterator[bytes]:
        for owner in lost:
            for place in (owner, *left):
                yield share_of(self._streams[owner], owner, str(place)).to_bytes(SHARE_BYTES, "big")

    def _check_answered(self, remaining: Remaining) -> None:
        check_remaining(self._plan, remaining)
        if self._me in (*remaining.absent, *remaining.lost):
            raise ProtocolError("the release goes on without this party, which tells none of its masks")
        if self._binding.used(_ASKED, remaining.query) != _digest(remaining.before):
            raise ProtocolError(
                "expected a query that this party answered with the same parties; ask it first"
            )

    def _check_gone(self, gone: Collection[int]) -> None:
        """Refuses to go on with a party that dropped out, as this one signed."""
        for place in self._streams:
            if place not in gone and self._binding.used(_GONE, str(place)) is not None:
                raise ProtocolError(
                    "expected a party that has dropped out to be absent for good, got it back"
                )


def _digest(places: Sequence[int]) -> str:
    return hashlib.sha256(json.dumps(list(places)).encode()).hexdigest()
