"""Every request and reply of a console passes here: other hosts, other sites and strangers are refused."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .doors import Door
from .gate import same
from .visitors import Visitor

MAX_FORM_BYTES = 64 << 10
FORM_TOKEN = "form_token"

_FORM_SECONDS = 30
"""Time in which a form has to come whole."""

_METHODS = ("GET", "POST")
_OTHER_METHOD = "This page takes no such request."
_FORM = "application/x-www-form-urlencoded"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With `no-referrer`, browsers would send forms without their origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SECURE_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}
"""Over TLS: the browser asks for no page of this name without it, for a year."""


class Guard:
    """Passes on what a visitor may ask, with the visitor and the fields of a form in the scope.

    Args:
        app: the pages, which see paths without the door's.
        door: the way in.
        authority: host and port of the console, as browsers send it.
    """

    def __init__(self, app: ASGIApp, door: Door, authority: str) -> None:
        self._app = app
        self._door = door
        self._authority = authority

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request; see ASGI."""
        if scope["type"] != "http":
            return
        sending = _with_headers(send, _HEADERS | (_SECURE_HEADERS if self._door.scheme == "https" else {}))
        page = scope["path"].removeprefix(self._door.path)
        refusal = self._wrong_place(scope)
        form: dict[str, str] | None = {}
        visitor = None
        if refusal is None and page not in self._door.open_to_all:
            visitor = self._door.visitor(scope)
            refusal = self._door.turn_away(scope) if visitor is None else None
        if refusal is None:
            refusal = self._refusal(scope, visitor, page)
        if refusal is None and scope["method"] == "POST":
            assert visitor is not None, "forms are not open to all"
            form = await _form(receive)
            if form is None or not same(form.pop(FORM_TOKEN, ""), visitor.form_token):
                refusal = _plain(403, "The form is not one of this console's pages; load the page again.")
        if refusal is not None:
            await refusal(scope, receive, sending)
            return
        inner = dict(scope, path=page or "/", form=form, visitor=visitor)
        inner.pop("raw_path", None)
        await self._app(inner, receive, sending)

    def _wrong_place(self, scope: Scope) -> Response | None:
        """The refusal of a request for another host or place, or of another kind; None for all others."""
        if Headers(scope=scope).getlist("host") != [self._authority]:
            return _plain(421, "This console is not served under this name; open the address that was given.")
        if not scope["path"].startswith(self._door.path + "/"):
            return _plain(404, "There is no such page.")
        # A page before the door would answer HEAD as GET, and so use up a token of which nobody sees the
        # answer.
        return None if scope["method"] in _METHODS else _plain(405, _OTHER_METHOD)

    def _refusal(self, scope: Scope, visitor: Visitor | None, page: str) -> Response | None:
        """The refusal of a request before its body is read; None if it is taken."""
        headers = Headers(scope=scope)
        if scope["method"] == "GET":
            return self._not_allowed(scope, visitor, page)
        if visitor is None:
            return _plain(405, _OTHER_METHOD)
        if headers.getlist("origin") != [f"{self._door.scheme}://{self._authority}"]:
            return _plain(403, "The form was sent from another site, and nothing was changed.")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _plain(403, "The form was sent from another site, and nothing was changed.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            return _plain(415, "The form has another encoding than those of this console.")
        return self._not_allowed(scope, visitor, page)

    def _not_allowed(self, scope: Scope, visitor: Visitor | None, page: str) -> Response | None:
        if visitor is None or self._door.allows(visitor, scope, page):
            return None
        return _plain(403, "Your role does not allow this, and nothing was changed; ask your operator.")


def _plain(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)


async def _form(receive: Receive) -> dict[str, str] | None:
    """The fields of a form, the last value of each name; None if too many, too long, too slow or no text."""
    try:
        async with asyncio.timeout(_FORM_SECONDS):
            body = await _body(receive)
    except TimeoutError:
        return None
    if body is None:
        return None
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        return None
    return {name: values[-1] for name, values in fields.items()}


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too long, or the sender left."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_FORM_BYTES:
            return None
    return body


def _with_headers(send: Send, headers: dict[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return sending
