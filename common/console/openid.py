"""Signing in at an OpenID provider: the authorisation code flow with PKCE."""

from __future__ import annotations

import base64
import hashlib
import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..bounded import json_of
from ..errors import DataError, ProtocolError
from ..processes.webhook import NoRedirects
from .doors import cookie_of
from .gate import new_secret, same
from .id_token import claims_of
from .visitors import BY_CERTIFICATE, BY_PROVIDER, Person

_T = TypeVar("_T")
_COOKIE = "__Host-sign-in"
_WAITS_S = 600
"""Seconds that somebody may take at the provider."""
_MOST_SIGN_INS = 1000
_KNOWN_S, _KEYS_APART_S = 3600.0, 30.0
"""Seconds for which the provider's configuration is kept, and between two looks for new keys."""
_MAX_BYTES, _PROVIDER_ANSWERS_S = 1 << 20, 10

Fetch = Callable[[urllib.request.Request], bytes]
"""Sends a request to the provider; raises OSError if there is no answer, or one of failure."""


@dataclass(frozen=True)
class Client:
    """This console, as the provider knows it.

    Attributes:
        issuer: the provider, an https URL, as its tokens say it.
        client: id of the console.
        secret: its secret; None for a public client.
        claim: the claim whose values may stand in lists of roles; empty for none.
        back: the registered redirect URI.
    """

    issuer: str
    client: str
    secret: str | None
    claim: str
    back: str


@dataclass(frozen=True)
class _Waiting:
    """A sign-in that began: its secrets, and when."""

    state: str
    nonce: str
    verifier: str
    at: float


class OpenId:
    """Sends people to the provider, and learns from it who they are.

    Source: OpenID Connect Core 1.0, section 3.1; RFC 7636 (PKCE); RFC 9207 (issuer in the answer).

    Args:
        client: this console.
        fetch: sends a request to the provider.
        clock: seconds from some moment on.
    """

    words = "You sign in with the account of your institution."

    def __init__(self, client: Client, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._fetch, self._clock = client, fetch, clock
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._known: dict[str, tuple[float, Any]] = {}

    def begin(self, request: Request) -> Response:
        """Sends the browser to the provider; see `Method.begin`."""
        started = _Waiting(new_secret(), new_secret(), new_secret(), self._clock())
        challenge = base64.urlsafe_b64encode(hashlib.sha256(started.verifier.encode()).digest()).rstrip(b"=")
        asked = {
            "response_type": "code",
            "client_id": self._client.client,
            "redirect_uri": self._client.back,
            "scope": "openid profile",
            "state": started.state,
            "nonce": started.nonce,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        endpoint = self._endpoint("authorization_endpoint")
        reply = RedirectResponse(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}", 303)
        value = new_secret()
        with self._lock:
            self._waiting[value] = started
            if len(self._waiting) > _MOST_SIGN_INS:
                del self._waiting[next(iter(self._waiting))]
        # The way back is a navigation from another site, for which browsers hold back a strict cookie.
        reply.set_cookie(_COOKIE, value, _WAITS_S, path="/", secure=True, httponly=True, samesite="lax")
        return reply

    def finish(self, request: Request) -> Person:
        """Whom the provider names; see `Method.finish`."""
        given = request.query_params
        with self._lock:
            started = self._waiting.pop(cookie_of(request.scope, _COOKIE), None)
        if started is None or self._clock() - started.at >= _WAITS_S:
            raise ProtocolError("expected the end of a sign-in that began here; sign in again")
        if not same(given.get("state", ""), started.state):
            raise ProtocolError("expected the state of this sign-in, got another; sign in again")
        if given.get("iss", self._client.issuer) != self._client.issuer:
            raise ProtocolError("expected an answer of the institution's provider, got one of another")
        if "code" not in given:
            raise ProtocolError("the provider did not sign you in; ask those who operate it why")
        claims = self._claims(self._exchange(given["code"], started.verifier), started.nonce)
        return self._person(claims)

    def _person(self, claims: Mapping[str, Any]) -> Person:
        login = f"{BY_PROVIDER}{self._client.issuer} {claims['sub']}"
        values = claims.get(self._client.claim, []) if self._client.claim else []
        values = values if isinstance(values, list) else [values]
        # A group whose name looks like a login is none.
        texts = {
            one
            for one in values
            if isinstance(one, str) and not one.startswith((BY_PROVIDER, BY_CERTIFICATE))
        }
        name = claims.get("name")
        return Person(login, name if isinstance(name, str) and name else login, frozenset({login, *texts}))

    def _exchange(self, code: str, verifier: str) -> str:
        """The ID token for a code, which the provider gives once, and to this console alone."""
        own = self._client
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": own.back,
            "code_verifier": verifier,
        }
        request = urllib.request.Request(
            self._endpoint("token_endpoint"), headers={"Accept": "application/json"}
        )
        if own.secret is None:
            form["client_id"] = own.client
        else:
            pair = f"{quote(own.client, safe='')}:{quote(own.secret, safe='')}".encode()
            request.add_header("Authorization", f"Basic {base64.b64encode(pair).decode()}")
        request.data = urlencode(form).encode()
        token = self._ask(request, "did not take the code of this sign-in").get("id_token")
        if not isinstance(token, str):
            raise ProtocolError("expected an ID token of the provider, got none; check the client there")
        return token

    def _claims(self, token: str, nonce: str) -> dict[str, Any]:
        """The claims of a token; new keys are looked for once if none fits."""
        own = self._client
        for again in (False, True):
            found = claims_of(
                token, self._public_keys(again=again), issuer=own.issuer, client=own.client, nonce=nonce
            )
            if found is not None:
                return found
        raise ProtocolError("the provider's token is refused: expected one signed by its keys, got another")

    def _public_keys(self, *, again: bool) -> list[Any]:
        def read() -> list[Any]:
            keys = self._ask(urllib.request.Request(self._endpoint("jwks_uri")), "shows no keys").get("keys")
            return [one for one in keys if isinstance(one, dict)] if isinstance(keys, list) else []

        return self._recall("keys", _KEYS_APART_S if again else _KNOWN_S, read)

    def _endpoint(self, name: str) -> str:
        found = self._configuration().get(name)
        if not isinstance(found, str) or not found.startswith("https://"):
            raise DataError(f"expected {name} of the provider to be an https address, got another; ask it")
        return found

    def _configuration(self) -> dict[str, Any]:
        def read() -> dict[str, Any]:
            where = self._client.issuer.rstrip("/") + "/.well-known/openid-configuration"
            found = self._ask(urllib.request.Request(where), "shows no configuration")
            if found.get("issuer") != self._client.issuer:
                raise DataError(
                    "expected the configuration of the provider that the policy names, got another's"
                )
            return found

        return self._recall("configuration", _KNOWN_S, read)

    def _recall(self, what: str, seconds: float, read: Callable[[], _T]) -> _T:
        """What the provider says, read anew where that was so many seconds ago."""
        now = self._clock()
        with self._lock:
            known = self._known.get(what)
        if known is None or now - known[0] >= seconds:
            known = (now, read())
            with self._lock:
                self._known[what] = known
        value: _T = known[1]
        return value

    def _ask(self, request: urllib.request.Request, failed: str) -> dict[str, Any]:
        try:
            found = json_of(self._fetch(request))
        except OSError as cause:
            raise DataError(
                f"the institution's provider of accounts does not answer, or {failed}; try again, then ask "
                "its operator"
            ) from cause
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ProtocolError(
                "expected JSON of the institution's provider, got something else; ask its operator"
            )
        return found


def fetcher(context: SSLContext) -> Fetch:
    """Sends requests over TLS, through the proxy that the environment names, if any; follows no redirection.

    Args:
        context: verifies the provider's certificate.
    """
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), NoRedirects)

    def fetch(request: urllib.request.Request) -> bytes:
        try:
            with opener.open(request, timeout=_PROVIDER_ANSWERS_S) as reply:
                content: bytes = reply.read(_MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            error.close()
            raise OSError(f"status {error.code}") from None
        except http.client.HTTPException:
            raise OSError("the answer is not HTTP") from None
        if len(content) > _MAX_BYTES:
            raise OSError("the answer is too long")
        return content

    return fetch
