"""Who is admitted to a curator's mailbox: parties by files that sign each request anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from ....common.errors import PolicyError
from ....common.wire.mailbox import CLOCK_S, MailboxRequest, SignedRequest

_REFUSED = "the request is of no party that is enrolled --by-files, is old, or came before"


class Admission:
    """Admits requests that an enrolled party signed just now: each once, and in the order they were made.

    A stranger learns nothing from a refusal: an unknown name, a wrong signature, a clock that is off and a
    request that came before are refused with the same words, after the same work.

    Args:
        curator: name of the curator.
        stranger: identity against which requests under unknown names are verified, in vain.
        enrolled: identities of the parties by files, by name; called for each request.
        now: seconds since 1970 in UTC.
    """

    def __init__(
        self,
        curator: str,
        stranger: bytes,
        enrolled: Callable[[], Mapping[str, bytes]],
        now: Callable[[], float],
    ) -> None:
        self._curator = curator
        self._stranger = stranger
        self._enrolled = enrolled
        self._now = now
        self._lock = threading.Lock()
        self._latest: dict[str, int] = {}

    def admit(self, signed: SignedRequest) -> MailboxRequest:
        """The request, if it is admitted.

        Raises:
            ProtocolError: the party that it names did not sign it.
            PolicyError: it is for another curator, too old or too new, or not later than one before.
        """
        request = signed.request
        identities = self._enrolled()
        signed.verify(identities.get(request.sender, self._stranger))
        early = abs(request.sent_us - self._now() * 1e6) > CLOCK_S * 1e6
        if request.sender not in identities or request.recipient != self._curator or early:
            raise PolicyError(_REFUSED)
        with self._lock:
            if request.sent_us <= self._latest.get(request.sender, 0):
                raise PolicyError(_REFUSED)
            self._latest[request.sender] = request.sent_us
        return request

    def is_latest(self, request: MailboxRequest) -> bool:
        """Whether the party made no later request, so that somebody waits for the reply to this one."""
        with self._lock:
            return self._latest.get(request.sender) == request.sent_us
