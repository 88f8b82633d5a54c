"""Answers of the parties that remain: asked, agreed on, and unmasked, although others drop out for good.

A party that does not answer for too long is left out of the sum. One that drops out later, before the sum is
unmasked, stays in it: the others restore its masks. Each step is noted before the next one begins, since no
party agrees to two sums of the answers to one query.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.bounded import json_of
from ...common.canonical.queries import query_digest
from ...common.canonical.terms import terms_digest
from ...common.errors import ProtocolError
from ...common.messages import Introduction, Remaining, Unmasked, Unmasking
from ...common.promises.dropout import Dropout
from ...common.promises.remaining import check_agreed
from ...common.protocols.arithmetic.ring import Words
from ...common.protocols.dropouts.masks import seed_of, sum_of_masks
from ...common.protocols.dropouts.plan import DropoutPlan
from ...common.protocols.dropouts.shares import SHARE_BYTES, restore_key
from ...common.queries import MarginalQuery
from ...common.terms import ReleaseTerms
from ..parties.asking import Asking
from ..parties.client import PartyClient

Agreed = tuple[Remaining, tuple[bytes, ...]]
"""Who is in an answer and who dropped out, and the signatures of each party of the roster over it."""


class Rounds:
    """Asks the parties of a release for one sum after the other, and keeps who dropped out.

    Args:
        terms: terms of the release.
        plan: their plan.
        clients: clients of the parties, in the roster's order.
        asking: waits for parties, and keeps notes.
    """

    def __init__(
        self, terms: ReleaseTerms, plan: DropoutPlan, clients: Sequence[PartyClient], asking: Asking
    ) -> None:
        self._release_id = terms.release_id
        self._terms = terms_digest(terms)
        self._plan = plan
        self._clients = clients
        self._asking, self._notes = asking, asking.notes
        self._points: dict[int, bytes] = {}
        self._absent: dict[str, tuple[int, ...]] = {}
        self._dropouts: dict[int, Dropout] = {}
        self.gone: tuple[int, ...] = ()
        """Places of the parties that dropped out so far."""

    @property
    def dropouts(self) -> tuple[Dropout, ...]:
        """The parties that dropped out so far, in the roster's order."""
        return tuple(self._dropouts[place] for place in self.gone)

    def begin(self, introduction: Introduction) -> None:
        """Introduces the parties to each other, and keeps the points of their keys.

        In a release that is resumed, those that dropped out are known already.

        Raises:
            PartyUnavailable: a party does not answer.
        """
        places = range(len(self._clients))
        noted = {place: self._notes.note(_points_note(place)) for place in places}
        spared = 0 if None in noted.values() else self._plan.may_drop_out
        self._asking.each({p: partial(self._clients[p].introduce, introduction) for p in places}, spared)
        for place in places:
            found = noted[place] or self._asking.each({place: partial(self._key_points, place)}, 0)[place]
            self._points[place] = self._notes.note_once(_points_note(place), found)

    def absent_from(self, asked: MarginalQuery) -> tuple[int, ...]:
        """Places of the parties that are not in the answer to a query, which was opened or is noted."""
        if asked.query_id not in self._absent:
            noted = self._notes.note(_ended_note(asked))
            if noted is None:
                raise ProtocolError(
                    "expected the note of an answer that is noted, found none; start a new release"
                )
            self._end(asked, noted)
        return self._absent[asked.query_id]

    def open_sum(self, asked: MarginalQuery, words: int) -> NDArray[np.int64]:
        """The sum of the answers of the parties that remain, without their masks.

        Args:
            asked: query to every party.
            words: length of an answer.

        Raises:
            PartyUnavailable: more parties do not answer than may drop out.
            ProtocolError: a party did not follow the protocol.
        """
        remaining, total = self._ask_all(asked, words)
        (remaining, signatures), told = self._agree_and_unmask(asked, remaining)
        total -= self._masks(remaining, told, words)
        self._end(asked, self._notes.note_once(_ended_note(asked), _to_note((remaining, signatures))))
        return self._plan.ring.as_signed(total)

    def _ask_all(self, asked: MarginalQuery, words: int) -> tuple[Remaining, Words]:
        """Who is in the sum of the masked answers, and the sum; the same when it is asked for again."""
        note, ring = f"answers {asked.query_id}", self._plan.ring
        noted = self._notes.note(note)
        if noted is None:
            total = np.zeros(words, dtype=ring.dtype)

            def add(client: PartyClient) -> None:
                (answer,) = client.answer(asked, 1, words, 1, before=self.gone)
                total[:] += ring.words(answer[0])

            left = {p: partial(add, one) for p, one in enumerate(self._clients) if p not in self.gone}
            came = self._asking.each(left, self._left_to_lose(self.gone))
            absent = [p for p in range(len(self._clients)) if p not in came]
            noted = self._notes.note_once(note, json.dumps(absent).encode() + b"\n" + total.tobytes())
        head, _, body = noted.partition(b"\n")
        stated = Remaining(self._release_id, query_digest(asked), self.gone, tuple(json_of(head)))
        return stated, np.frombuffer(body, dtype=ring.dtype).copy()

    def _agree_and_unmask(
        self, asked: MarginalQuery, answered: Remaining
    ) -> tuple[Agreed, Mapping[int, Unmasked]]:
        """What parties that remain agree on and tell of the masks, also if more drop out meanwhile."""
        inside = [p for p in range(len(self._clients)) if p not in answered.absent]
        lost = [p for p in inside if self._notes.note(_lost_note(asked, p)) is not None]
        while True:
            for place in lost:
                # Whoever agreed that a party dropped out does not take it back.
                self._notes.note_once(_lost_note(asked, place), b"")
            remaining = replace(answered, lost=tuple(sorted(lost)))
            left = [p for p in inside if p not in lost]
            spared = self._left_to_lose(remaining.absent, lost)
            signed = self._asking.each({p: partial(self._clients[p].agree, remaining) for p in left}, spared)
            lost += [p for p in left if p not in signed]
            if len(signed) < len(left):
                continue
            signatures = tuple(signed.get(p, b"") for p in range(len(self._clients)))
            check_agreed(self._plan, self._terms, remaining, signatures)
            wanted = Unmasking(remaining, signatures)
            told = self._asking.each({p: partial(self._clients[p].unmask, wanted) for p in left}, spared)
            if len(told) == len(left):
                return (remaining, signatures), told
            lost += [p for p in left if p not in told]

    def _masks(self, remaining: Remaining, told: Mapping[int, Unmasked], words: int) -> Words:
        """The sum of all masks in the answers of a sum."""
        lost = remaining.lost
        left = [place for place in remaining.absent if place not in remaining.before]
        each = 1 + len(left)
        if any(len(one.pairs) != len(left) or len(one.shares) != each * len(lost) for one in told.values()):
            raise ProtocolError("expected a mask for each party that is absent, got others; compare versions")
        own = [one.own for one in told.values()]
        pairs = [(p, q, s) for p, one in told.items() for q, s in zip(left, one.pairs, strict=True)]
        for number, owner in enumerate(lost):
            seeds = [
                seed_of(
                    self._key(told, owner, other, number * each + place), remaining.query, remaining.before
                )
                for place, other in enumerate((owner, *left))
            ]
            own.append(seeds[0])
            pairs += ((owner, q, seed) for q, seed in zip(left, seeds[1:], strict=True))
        return sum_of_masks(self._plan.ring, words, own, pairs)

    def _key(self, told: Mapping[int, Unmasked], owner: int, other: int, place: int) -> bytes:
        """A key of a party that dropped out: of its own masks, or of those with another party."""
        size = self._plan.may_drop_out * SHARE_BYTES
        points = self._points[owner][other * size : (other + 1) * size]
        shares = {holder: int.from_bytes(one.shares[place], "big") for holder, one in told.items()}
        return restore_key(points, shares, len(self._clients))

    def _end(self, asked: MarginalQuery, noted: bytes) -> None:
        """Takes over who dropped out until the answer to a query was opened."""
        said, signatures = _of_note(self._release_id, query_digest(asked), noted)
        for place in (*said.absent, *said.lost):
            answers = len(self._absent) + (place in said.lost)
            stated = (said.query, said.before, said.absent, said.lost, signatures)
            self._dropouts.setdefault(place, Dropout(self._name(place), answers, *stated))
        self._absent[asked.query_id] = said.absent
        self.gone = tuple(sorted((*said.absent, *said.lost)))

    def _key_points(self, place: int) -> bytes:
        found = self._clients[place].key_points(self._release_id)
        if len(found) != len(self._clients) * self._plan.may_drop_out * SHARE_BYTES:
            raise ProtocolError("expected the points of a key for each party, got others; compare versions")
        return found

    def _left_to_lose(self, *gone: Sequence[int]) -> int:
        """How many more parties may drop out."""
        return self._plan.may_drop_out - sum(map(len, gone))

    def _name(self, place: int) -> str:
        return self._plan.roster[place].name


def _points_note(place: int) -> str:
    return f"key points {place}"


def _lost_note(asked: MarginalQuery, place: int) -> str:
    return f"lost {asked.query_id} {place}"


def _ended_note(asked: MarginalQuery) -> str:
    return f"opened {asked.query_id}"


def _to_note(agreed: Agreed) -> bytes:
    said, signatures = agreed
    return json.dumps([said.before, said.absent, said.lost, [one.hex() for one in signatures]]).encode()


def _of_note(release_id: str, query: str, noted: bytes) -> Agreed:
    before, absent, lost, signatures = json_of(noted)
    remaining = Remaining(release_id, query, tuple(before), tuple(absent), tuple(lost))
    return remaining, tuple(map(bytes.fromhex, signatures))
