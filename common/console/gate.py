"""Who may see a console: whoever opens the printed address first, until the process ends."""

from __future__ import annotations

import hmac
import secrets
import threading

_SECRET_BYTES = 32
"""Random bytes of a token of a console."""


class Gate:
    """The secrets of one console. None of them is written to a file or a log.

    Browsers send a cookie to every port of a host, so a console has a path of its own, which nobody can
    guess, and its cookie is for this path alone.
    """

    def __init__(self) -> None:
        self.path = f"/{secrets.token_hex(16)}"
        """Beginning of the path of every page."""
        self.cookie = "console"
        """Name of the cookie."""
        self.form_token = secrets.token_urlsafe(_SECRET_BYTES)
        """What every form of a page sends back."""
        self.ended = threading.Event()
        """Set when the console ends; replies that go on for long end then."""
        self._session = secrets.token_urlsafe(_SECRET_BYTES)
        self._token: str | None = secrets.token_urlsafe(_SECRET_BYTES)
        self._lock = threading.Lock()

    @property
    def entrance(self) -> str:
        """Path of the address that opens the console once; empty after that."""
        with self._lock:
            return "" if self._token is None else f"{self.path}/enter?token={self._token}"

    def enter(self, token: str) -> str | None:
        """The value of the cookie for the first caller with the token, which is of no use from then on.

        Args:
            token: as it came from the browser.

        Returns:
            The value; None if the token is another one, or was used before.
        """
        with self._lock:
            if self._token is None or not same(token, self._token):
                return None
            self._token = None
            return self._session

    def knows(self, value: str) -> bool:
        """Whether this is the value of the cookie, and somebody has entered."""
        with self._lock:
            return self._token is None and same(value, self._session)


def same(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
