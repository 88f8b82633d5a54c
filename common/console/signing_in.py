"""The way into a console for people of an institution, over its network: they sign in, and have roles."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from ..errors import MosaicError, ProtocolError
from .doors import SHOWN_TO_ALL, Page, cookie_of
from .sessions import Attempts, Sessions
from .visitors import Person, Visitor

SIGN_IN, START, BACK, SIGN_OUT = "/sign-in", "/sign-in/start", "/sign-in/back", "/sign-out"
SIGNED_IN, SIGNED_OUT, REFUSED = "signed in", "signed out", "refused"
"""What is recorded."""
PEER = "dpmosaic.peer"
"""Where the scope of a request keeps the certificate of the browser, DER."""

_NOT_LISTED = "You are known, and in no list of those who may see this console. Ask the operator to add you."
_TOO_OFTEN = "Too many attempts to sign in came from your address; wait five minutes."

Record = Callable[[str, str, str, str], None]
"""Keeps a security event: what happened, the login (or empty), the address, and why."""


class Method(Protocol):
    """How people prove who they are."""

    @property
    def words(self) -> str:
        """What the page before it says."""

    def begin(self, request: Request) -> Person | Response:
        """Who sends a request, or where the browser has to go first.

        Raises:
            MosaicError: nobody can sign in now, or this one not.
        """

    def finish(self, request: Request) -> Person:
        """Who comes back from there.

        Raises:
            MosaicError: nobody who is known.
        """


class SignIn:
    """The door of a console on a network.

    Args:
        method: proves who somebody is.
        roles_of: the roles of a person, asked anew for every request; none for somebody who is in no list.
        allowed: whether a visitor may send a request of this method for a page.
        sessions: who is signed in.
        record: keeps security events.
        attempts: limits how often one address may try.
    """

    path, scheme = "", "https"
    """See `Door`."""
    open_to_all = (SIGN_IN, START, BACK, *SHOWN_TO_ALL)
    """See `Door.open_to_all`."""
    cookie = "__Host-console"
    """Browsers take a cookie of such a name only over TLS, from this host alone, for all of its paths."""

    def __init__(
        self,
        method: Method,
        roles_of: Callable[[Person], frozenset[str]],
        allowed: Callable[[Visitor, str, str], bool],
        sessions: Sessions,
        record: Record,
        attempts: Attempts,
    ) -> None:
        self.ended = threading.Event()
        """See `Door.ended`."""
        self._method, self._roles_of, self._allowed = method, roles_of, allowed
        self._sessions, self._record, self._attempts = sessions, record, attempts

    def visitor(self, scope: Scope) -> Visitor | None:
        """Who is signed in and still in a list; see `Door.visitor`."""
        session = self._sessions.find(cookie_of(scope, self.cookie), _bound_to(scope))
        if session is None:
            return None
        person = session.person
        roles = self._roles_of(person)
        return Visitor(session.form_token, roles, person.login, person.name) if roles else None

    def turn_away(self, scope: Scope) -> Response:
        """Leads to the page to sign in; a form is refused."""
        if scope["method"] == "GET":
            return RedirectResponse(SIGN_IN, 303)
        return PlainTextResponse(
            "You are not signed in, and nothing was changed; load the page again.\n", 403
        )

    def allows(self, visitor: Visitor, scope: Scope, page: str) -> bool:
        """By the visitor's roles; a refusal is recorded."""
        allowed = page == SIGN_OUT or self._allowed(visitor, scope["method"], page)
        if not allowed:
            self._record(REFUSED, visitor.login, _address(scope), "the role does not allow it")
        return allowed

    def routes(self, page: Page) -> list[BaseRoute]:
        """The pages by which people sign in and out."""

        def ask(request: Request) -> Response:
            return page(request, "sign_in.html", "", words=self._method.words, start=START)

        def start(request: Request) -> Response:
            if self.visitor(request.scope) is not None:
                return RedirectResponse("/", 303)
            return self._attempt(request, page, self._method.begin)

        def back(request: Request) -> Response:
            return self._attempt(request, page, self._method.finish)

        def leave(request: Request) -> Response:
            self._sessions.close(cookie_of(request.scope, self.cookie))
            self._record(SIGNED_OUT, request.scope["visitor"].login, _address(request.scope), "")
            reply = page(request, "signed_out.html", "", sign_in=SIGN_IN)
            reply.delete_cookie(self.cookie, path="/", secure=True, httponly=True, samesite="strict")
            return reply

        return [
            Route(SIGN_IN, ask),
            Route(START, start),
            Route(BACK, back),
            Route(SIGN_OUT, leave, methods=["POST"]),
        ]

    def _attempt(
        self, request: Request, page: Page, step: Callable[[Request], Person | Response]
    ) -> Response:
        address = _address(request.scope)
        if not self._attempts.take(address):
            self._record(REFUSED, "", address, "too many attempts")
            return page(request, "not_in.html", "", status=429, message=_TOO_OFTEN, login="", sign_in=SIGN_IN)
        try:
            found = step(request)
        except MosaicError as error:
            self._record(REFUSED, "", address, str(error))
            message, status = str(error), 403 if isinstance(error, ProtocolError) else 503
            return page(request, "not_in.html", "", status=status, message=message, login="", sign_in=SIGN_IN)
        return self._admit(request, page, found) if isinstance(found, Person) else found

    def _admit(self, request: Request, page: Page, person: Person) -> Response:
        address = _address(request.scope)
        if not self._roles_of(person):
            self._record(REFUSED, person.login, address, "in no list")
            return page(
                request,
                "not_in.html",
                "",
                status=403,
                message=_NOT_LISTED,
                login=person.login,
                sign_in=SIGN_IN,
            )
        self._record(SIGNED_IN, person.login, address, "")
        # A link of the page leads on, since after the way back from a provider browsers would hold back a
        # strict cookie.
        reply = page(request, "signed_in.html", "", name=person.name)
        value = self._sessions.open(person, _bound_to(request.scope))
        reply.set_cookie(self.cookie, value, path="/", secure=True, httponly=True, samesite="strict")
        return reply


def _bound_to(scope: Scope) -> str:
    """The fingerprint of the certificate with which a browser came; empty for none."""
    peer = scope.get(PEER)
    return "" if peer is None else hashlib.sha256(peer).hexdigest()


def _address(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""
