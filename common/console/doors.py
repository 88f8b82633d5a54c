"""How people get into a console: what its pages and its guard ask of the way in."""

from __future__ import annotations

import threading
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from typing import Any, Protocol

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Scope

from .visitors import Visitor

FILES = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}
"""Files that pages load, and their types."""
SHOWN_TO_ALL = ("/console.css", "/icon.svg")
"""Those that the pages before the door load."""


class Page(Protocol):
    """Renders a page; see `Site.page`."""

    def __call__(
        self, request: Request, template: str, here: str, *, status: int = 200, **values: Any
    ) -> Response:
        """See `Site.page`."""


class Door(Protocol):
    """The way into a console."""

    ended: threading.Event
    """Set when the console ends; replies that go on for long end then."""

    @property
    def path(self) -> str:
        """Beginning of the path of every page."""

    @property
    def scheme(self) -> str:
        """Of its address: http or https."""

    @property
    def open_to_all(self) -> Collection[str]:
        """Pages before the door; none of them shows anything of the institution."""

    def visitor(self, scope: Scope) -> Visitor | None:
        """Who sends a request; None for somebody who has to get in first."""

    def turn_away(self, scope: Scope) -> Response:
        """The reply to somebody who has to get in first."""

    def allows(self, visitor: Visitor, scope: Scope, page: str) -> bool:
        """Whether a visitor may send this request for a page."""

    def routes(self, page: Page) -> list[BaseRoute]:
        """Its own pages."""


def cookie_of(scope: Scope, name: str) -> str:
    """The value of a cookie; empty if there is none."""
    try:
        found = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def visitor_of(request: Request) -> Visitor:
    """Who sends a request that passed the door."""
    found: Visitor = request.scope["visitor"]
    return found
