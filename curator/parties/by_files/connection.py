"""A connection to a party that is reached by files: calls wait in a bundle until somebody brings the answer.

A round trip takes people hours or days, so as few are made as can be. A call that a party only acknowledges
is taken to succeed, and goes out with the next call whose reply is wanted; if it is refused, that one is.
Calls that are announced (`foresee`) go out together. The party starts anew for every bundle, so each one
repeats what the party has to have received in this release.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator

from ....common.errors import AnswerPending, DeliveriesLost
from ....common.messages import Acknowledgement
from ....common.showing.telling import tell
from ....common.wire import codec
from ....common.wire.bundles import BundledCall
from .mailbox import DESCRIBE, Mailbox

_ACKNOWLEDGED = frozenset({"Introduce", "Deliver", "Multiply", "PrepareScores", "Abandon"})
_REPEATED = frozenset({"Introduce", "Deliver", "Multiply", "PrepareScores", "Open"})
"""Calls after which a party remembers something, until its process ends."""

_INBOX_S = 0.5
"""Seconds between two looks into the inbox."""


def _tell_people(text: str) -> None:
    tell(text, err=True)


class FilesConnection:
    """Carries encoded messages to a party by files; see `Connection`.

    Args:
        mailbox: files of the party in this release.
        beside: all such connections of the release, which write their bundles at the same time; this one is
            added.
        answer_s: seconds to wait for an answer; 0 to stop at once, which a later try goes on from.
        told: called with what people have to carry.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        beside: list[FilesConnection],
        answer_s: float,
        told: Callable[[str], None] = _tell_people,
    ) -> None:
        self._mailbox = mailbox
        self._beside = beside
        self._answer_s = answer_s
        self._told = told
        self._lock = threading.RLock()
        self._calls: dict[bytes, BundledCall] = {}
        self._replies: dict[bytes, tuple[bytes, ...]] = {}
        self._read: set[int] = set()
        beside.append(self)

    def foresee(self, method: str, requests: Iterable[bytes]) -> None:
        """Announces a call, which goes out with the next bundle."""
        with self._lock:
            self._add(BundledCall(method, tuple(requests)))

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests; those that are only acknowledged are replied to at once.

        Raises:
            AnswerPending: nobody brought the answer in time.
            MosaicError: what the party raised.
        """
        call = BundledCall(method, tuple(requests))
        if call == DESCRIBE:
            yield self._mailbox.description()
        elif method in _ACKNOWLEDGED:
            with self._lock:
                if method == "Abandon":
                    self._calls.clear()
                self._add(call)
            yield codec.encode(Acknowledgement())
        else:
            yield from self._reply_to(call)

    def close(self) -> None:
        """Writes a bundle for a release that was abandoned, whose answer nobody waits for."""
        with self._lock:
            if any(call.method == "Abandon" for call in self._calls.values()):
                self._mailbox.withdraw()
                self._tell(self._mailbox.send(self._calls_to_send()).number)

    def _add(self, call: BundledCall) -> None:
        self._calls.setdefault(call.digest, call)

    def _reply_to(self, call: BundledCall) -> tuple[bytes, ...]:
        """The replies to a call, which somebody brings."""
        with self._lock:
            self._add(call)
            self._load()
        if call.digest not in self._replies:
            for one in self._beside:
                one._send()
            self._wait(call)
        return self._replies[call.digest]

    def _wait(self, call: BundledCall) -> None:
        until = time.monotonic() + self._answer_s
        while call.digest not in self._replies:
            if time.monotonic() >= until:
                raise AnswerPending(
                    f"party {self._mailbox.party!r} is reached by files, and its answer is not here: carry "
                    "the file to it, and bring its answer by `dpmosaic curator inbox`, or look into the logs "
                    "of `dpmosaic curator mailbox` and of the party"
                )
            time.sleep(_INBOX_S)
            with self._lock:
                self._load()

    def _send(self) -> None:
        """Writes a bundle, unless nothing is wanted, or one that is out already asks for it."""
        with self._lock:
            calls = self._calls_to_send()
            wants = {call.digest for call in calls if not call.silent} - {DESCRIBE.digest}
            if wants:
                out = self._mailbox.waits()
                if out is None or not wants <= out.wants:
                    out = self._mailbox.send(calls)
                self._tell(out.number)

    def _calls_to_send(self) -> list[BundledCall]:
        """What a bundle holds: what has to be repeated, and what has no reply yet, in order."""
        self._calls = {
            digest: call
            for digest, call in self._calls.items()
            if call.method in _REPEATED or digest not in self._replies
        }
        calls = [
            BundledCall(call.method, call.requests, call.method in _ACKNOWLEDGED or digest in self._replies)
            for digest, call in self._calls.items()
        ]
        return [DESCRIBE, *calls]

    def _load(self) -> None:
        """Reads the answers that came.

        Raises:
            MosaicError: the party refused a call.
        """
        for number, answer in self._mailbox.answers(frozenset(self._read)).items():
            self._read.add(number)
            self._replies.update(answer.replies)
            if answer.refusal is not None:
                self._mailbox.give_up(number)
                lost = isinstance(answer.refusal, DeliveriesLost)
                self._calls = {d: c for d, c in self._calls.items() if lost and c.method == "Introduce"}
                raise type(answer.refusal)(f"party {self._mailbox.party!r}: {answer.refusal}")

    def _tell(self, number: int) -> None:
        path = self._mailbox.path(number)
        self._told(
            f"carry {path} to party {self._mailbox.party!r}, where `dpmosaic party answer` answers it; take "
            f"the answer in by: dpmosaic curator inbox {self._mailbox.folder} FILE; or let the party do both "
            "--through `dpmosaic curator mailbox`"
        )
