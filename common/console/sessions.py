"""Sessions of people who signed in, and a limit of attempts; all in memory, and gone with the process."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from .gate import new_secret
from .visitors import Person

_OF_ONE_PERSON = 5
"""Sessions of one person at a time; a further one ends the oldest."""
_MOST, _WINDOW_S = 30, 300
"""Attempts from one address in so many seconds; a sign-in at a provider takes two."""
_ADDRESSES = 10_000
"""Addresses whose attempts are counted at a time."""

Clock = Callable[[], float]
"""Seconds from some moment on."""


@dataclass
class Session:
    """One browser in which a person is signed in.

    Attributes:
        person: who.
        bound: what every request has to come with beside the cookie; see `Sessions.open`.
        begun: when, in seconds of the clock.
        seen: when the last request came.
        form_token: what every form of a page sends back.
    """

    person: Person
    bound: str
    begun: float
    seen: float
    form_token: str = field(default_factory=new_secret)


class Sessions:
    """Who is signed in.

    Args:
        idle_s: seconds without a request after which a session ends.
        longest_s: seconds after which it ends in any case.
        clock: seconds from some moment on.
    """

    def __init__(self, idle_s: float, longest_s: float, clock: Clock = time.monotonic) -> None:
        self._idle_s, self._longest_s, self._clock = idle_s, longest_s, clock
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()

    def open(self, person: Person, bound: str = "") -> str:
        """Begins a session.

        Args:
            person: who signed in.
            bound: what every request has to come with, such as the fingerprint of a certificate.

        Returns:
            The value of its cookie, which is kept as a digest only.
        """
        value, now = new_secret(), self._clock()
        with self._lock:
            self._drop_ended(now)
            own = [key for key, one in self._open.items() if one.person.login == person.login]
            for key in own[: max(0, len(own) + 1 - _OF_ONE_PERSON)]:
                del self._open[key]
            self._open[_digest(value)] = Session(person, bound, now, now)
        return value

    def find(self, value: str, bound: str = "") -> Session | None:
        """The session of a cookie, which goes on by being asked for; None if it ended or never was."""
        now = self._clock()
        with self._lock:
            self._drop_ended(now)
            found = self._open.get(_digest(value))
            if found is None or found.bound != bound:
                return None
            found.seen = now
            return found

    def close(self, value: str) -> None:
        """Ends a session."""
        with self._lock:
            self._open.pop(_digest(value), None)

    def _drop_ended(self, now: float) -> None:
        self._open = {
            key: one
            for key, one in self._open.items()
            if now - one.seen < self._idle_s and now - one.begun < self._longest_s
        }


class Attempts:
    """A limit of attempts from one address.

    Args:
        clock: seconds from some moment on.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._made: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def take(self, address: str) -> bool:
        """Counts an attempt; whether it is within the limit."""
        now = self._clock()
        with self._lock:
            made = self._made.pop(address, deque())
            while made and now - made[0] >= _WINDOW_S:
                made.popleft()
            within = len(made) < _MOST
            if within:
                made.append(now)
            self._made[address] = made
            if len(self._made) > _ADDRESSES:
                # The one that tried nothing for longest.
                del self._made[next(iter(self._made))]
            return within


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
