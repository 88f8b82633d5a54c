"""Who may see a console on its own machine: whoever opens the printed address first, until it ends."""

from __future__ import annotations

import hmac
import secrets
import threading

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from .doors import SHOWN_TO_ALL, Page, cookie_of
from .visitors import Visitor

_SECRET_BYTES = 32
"""Random bytes of a token of a console."""
_ENTER = "/enter"
_LOCKED = (
    "This console is locked. It opens in the browser that first opened the address which the command "
    "printed. If that was not you, end the command and start it again."
)


class Gate:
    """The secrets of one console. None of them is written to a file or a log.

    Browsers send a cookie to every port of a host, so a console has a path of its own, which nobody can
    guess, and its cookie is for this path alone.
    """

    scheme = "http"
    """See `Door.scheme`."""
    open_to_all = (_ENTER, *SHOWN_TO_ALL)
    """See `Door.open_to_all`."""

    def __init__(self) -> None:
        self.path = f"/{secrets.token_hex(16)}"
        """Beginning of the path of every page."""
        self.cookie = "console"
        """Name of the cookie."""
        self.form_token = new_secret()
        """What every form of a page sends back."""
        self.ended = threading.Event()
        """Set when the console ends; replies that go on for long end then."""
        self._session = new_secret()
        self._token: str | None = new_secret()
        self._lock = threading.Lock()

    @property
    def entrance(self) -> str:
        """Path of the address that opens the console once; empty after that."""
        with self._lock:
            return "" if self._token is None else f"{self.path}{_ENTER}?token={self._token}"

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

    def visitor(self, scope: Scope) -> Visitor | None:
        """Whoever entered; see `Door.visitor`."""
        with self._lock:
            entered = self._token is None and same(cookie_of(scope, self.cookie), self._session)
        return Visitor(self.form_token) if entered else None

    def turn_away(self, scope: Scope) -> Response:
        """See `Door.turn_away`."""
        return PlainTextResponse(f"{_LOCKED}\n", 403)

    def allows(self, visitor: Visitor, scope: Scope, page: str) -> bool:
        """Whoever entered may do everything."""
        return True

    def routes(self, page: Page) -> list[BaseRoute]:
        """The page that opens the console."""

        def enter(request: Request) -> Response:
            session = self.enter(request.query_params.get("token", ""))
            if session is None:
                return page(request, "used.html", "", status=403)
            # A link of the page leads on, since after a redirect from another program's link browsers would
            # hold back a strict cookie.
            reply = page(request, "entered.html", "")
            reply.set_cookie(self.cookie, session, path=f"{self.path}/", httponly=True, samesite="strict")
            return reply

        return [Route(_ENTER, enter)]


def new_secret() -> str:
    """A random text that nobody can guess."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def same(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
