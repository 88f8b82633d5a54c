"""Every request and reply of a console passes here: other hosts, other sites and strangers are refused."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .gate import Gate, same

MAX_FORM_BYTES = 64 << 10
FORM_TOKEN = "form_token"
ENTER = "/enter"
OPEN_TO_ALL = (ENTER, "/console.css", "/icon.svg")
"""Pages that need no cookie; none of them shows anything of the institution."""

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
_LOCKED = (
    "This console is locked. It opens in the browser that first opened the address which the command "
    "printed. If that was not you, end the command and start it again."
)


class Guard:
    """Passes on what a browser of this machine may ask, with the fields of a form in `scope["form"]`.

    Args:
        app: the pages, which see paths without the gate's.
        gate: secrets of the console.
        authority: host and port of the console, as browsers send it.
    """

    def __init__(self, app: ASGIApp, gate: Gate, authority: str) -> None:
        self._app = app
        self._gate = gate
        self._authority = authority

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request; see ASGI."""
        if scope["type"] != "http":
            return
        form: dict[str, str] | None = {}
        refusal = self._refusal(scope)
        if refusal is None and scope["method"] == "POST":
            form = await _form(receive)
            if form is None or not same(form.pop(FORM_TOKEN, ""), self._gate.form_token):
                refusal = (403, "The form is not one of this console's pages; load the page again.")
        if refusal is not None:
            status, text = refusal
            await PlainTextResponse(text + "\n", status)(scope, receive, _with_headers(send))
            return
        inner = dict(scope, path=scope["path"].removeprefix(self._gate.path) or "/", form=form)
        inner.pop("raw_path", None)
        await self._app(inner, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and text by which a request is refused before its body is read; None if it is not."""
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self._authority]:
            return (
                421,
                "This console is not served under this name; open the address that the command printed.",
            )
        path = scope["path"]
        if not path.startswith(self._gate.path + "/"):
            return 404, "There is no such page."
        page = path.removeprefix(self._gate.path)
        if page not in OPEN_TO_ALL and not self._gate.knows(_cookie(headers, self._gate.cookie)):
            return 403, _LOCKED
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST" or page in OPEN_TO_ALL:
            return 405, "This page takes no such request."
        if headers.getlist("origin") != [f"http://{self._authority}"]:
            return 403, "The form was sent from another site, and nothing was changed."
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return 403, "The form was sent from another site, and nothing was changed."
        if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            return 415, "The form has another encoding than those of this console."
        return None


async def _form(receive: Receive) -> dict[str, str] | None:
    """The fields of a form, the last value of each name; None if they are too many, too long or no text."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_FORM_BYTES:
            return None
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        return None
    return {name: values[-1] for name, values in fields.items()}


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sending
