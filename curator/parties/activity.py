"""The activity of each party during a release, as the curator sees it: running calls, bytes, silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...common.errors import PartyUnavailable
from .client import Connection, SlowConnection

IDLE, AWAY = "idle", "away"


@dataclass(frozen=True)
class PartyActivity:
    """The activity of one party at one moment.

    Attributes:
        party: name of the party.
        doing: method of the running call, `IDLE`, or `AWAY` after a call that did not reach the party. A call
            keeps running only while the party answers heartbeats (see `OPTIONS` in `common.wire.tls`).
        seconds: seconds since `doing` changed.
        silent_s: seconds since the last bytes from the party.
        sent: bytes sent to the party so far.
        received: bytes received from the party so far.
    """

    party: str
    doing: str
    seconds: float
    silent_s: float
    sent: int
    received: int


@dataclass(frozen=True)
class _State:
    calls: tuple[str, ...] = ()
    away: bool = False
    since: float = 0.0
    heard: float = 0.0
    sent: int = 0
    received: int = 0


class Activity:
    """Watches connections; thread-safe.

    Args:
        now: monotonic clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._states: dict[str, _State] = {}

    def watch(self, party: str, connection: Connection) -> Connection:
        """Wraps a connection and starts to watch it."""
        with self._lock:
            self._states[party] = _State(since=self._now(), heard=self._now())
        if isinstance(connection, SlowConnection):
            return _WatchedSlow(self, party, connection)
        return _Watched(self, party, connection)

    def snapshot(self) -> tuple[PartyActivity, ...]:
        """The current activity of each party."""
        with self._lock:
            now, states = self._now(), dict(self._states)
        return tuple(
            PartyActivity(
                party,
                AWAY if state.away else (state.calls[-1] if state.calls else IDLE),
                now - state.since,
                now - state.heard,
                state.sent,
                state.received,
            )
            for party, state in states.items()
        )

    def _began(self, party: str, method: str) -> None:
        with self._lock:
            state = self._states[party]
            calls = (*state.calls, method)
            self._states[party] = replace(state, calls=calls, since=self._now(), away=False)

    def _end_call(self, party: str, method: str, away: bool) -> None:
        with self._lock:
            state = self._states[party]
            calls = list(state.calls)
            calls.remove(method)
            self._states[party] = replace(state, calls=tuple(calls), since=self._now(), away=away)

    def _count_sent(self, party: str, size: int) -> None:
        with self._lock:
            state = self._states[party]
            self._states[party] = replace(state, sent=state.sent + size)

    def _count_received(self, party: str, size: int) -> None:
        with self._lock:
            state = self._states[party]
            self._states[party] = replace(state, received=state.received + size, heard=self._now())


class _Watched:
    """A connection that reports its traffic; see `Connection`."""

    def __init__(self, activity: Activity, party: str, connection: Connection) -> None:
        self._activity = activity
        self._party = party
        self._connection = connection

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        activity, party = self._activity, self._party
        activity._began(party, method)
        away = False
        try:
            for reply in self._connection.call(method, self._count_requests(requests)):
                activity._count_received(party, len(reply))
                yield reply
        except PartyUnavailable:
            away = True
            raise
        finally:
            activity._end_call(party, method, away)

    def _count_requests(self, requests: Iterable[bytes]) -> Iterable[bytes]:
        if isinstance(requests, Sequence):
            # Stays a sequence, so that the call can be retried.
            self._activity._count_sent(self._party, sum(map(len, requests)))
            return requests
        return self._one_by_one(requests)

    def _one_by_one(self, requests: Iterable[bytes]) -> Iterator[bytes]:
        for request in requests:
            self._activity._count_sent(self._party, len(request))
            yield request


class _WatchedSlow(_Watched):
    """A slow connection that reports its traffic; see `SlowConnection`."""

    def __init__(self, activity: Activity, party: str, connection: SlowConnection) -> None:
        super().__init__(activity, party, connection)
        self._slow = connection

    def foresee(self, method: str, requests: Iterable[bytes]) -> None:
        self._slow.foresee(method, requests)
