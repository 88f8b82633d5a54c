"""A small OpenID provider: discovery, authorisation codes with PKCE, RS256 tokens, and forged ones."""

import base64
import contextlib
import hashlib
import json
import secrets
import socket
import threading
import time
from urllib.parse import parse_qsl, urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

CLIENT, SECRET = "console of the clinic", "p:w+%"
KID = "2026"


def signing_key(bits=2048):
    return generate_private_key(65537, bits)


def public_jwk(key, kid=KID, **entries):
    """The public key as a JSON Web Key."""
    return (
        json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
        | {"kid": kid, "use": "sig"}
        | entries
    )


class Provider:
    """Signs in whoever `account` is, without asking.

    Args:
        host: name by which others call it, on the loopback interface.
    """

    def __init__(self, host="127.0.0.1"):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.issuer = f"https://{host}:{self._listener.getsockname()[1]}/realms/staff"
        self.key, self.account = signing_key(), {}
        self.keys = [public_jwk(self.key)]
        self.changes, self.back = {}, None
        """What the next answers say otherwise: of the configuration, and of the way back."""
        self.sign = lambda claims: jwt.encode(claims, self.key, "RS256", {"kid": KID})
        self.asked = []
        """The requests for authorisation."""
        self._codes = {}

    def claims(self, nonce):
        now = int(time.time())
        return {
            "iss": self.issuer,
            "aud": CLIENT,
            "nonce": nonce,
            "iat": now,
            "exp": now + 300,
        } | self.account

    @contextlib.contextmanager
    def running(self, certificate, key):
        """Serves it while the context lasts."""
        base = "/realms/staff"
        app = Starlette(
            routes=[
                Route(f"{base}/.well-known/openid-configuration", self._configuration),
                Route(f"{base}/authorize", self._authorize),
                Route(f"{base}/token", self._token, methods=["POST"]),
                Route(f"{base}/keys", lambda request: JSONResponse({"keys": self.keys})),
            ]
        )
        config = uvicorn.Config(
            app, log_config=None, lifespan="off", ws="none",
            ssl_certfile=certificate, ssl_keyfile=key,
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=[[self._listener]], daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join()

    def _configuration(self, request):
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
            }
            | self.changes
        )

    def _authorize(self, request):
        asked = dict(request.query_params)
        self.asked.append(asked)
        code = secrets.token_urlsafe()
        self._codes[code] = asked | {"claims": self.claims(asked["nonce"])}
        back = {"code": code, "state": asked["state"], "iss": self.issuer} | (self.back or {})
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(back)}", 303)

    async def _token(self, request):
        form = await _fields(request)
        pair = base64.b64encode(b"console%20of%20the%20clinic:p%3Aw%2B%25").decode()
        known = self._codes.pop(form.get("code", ""), None)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        good = (
            known is not None
            and request.headers["authorization"] == f"Basic {pair}"
            and form["grant_type"] == "authorization_code"
            and form["redirect_uri"] == known["redirect_uri"]
            and known["client_id"] == CLIENT
            and known["code_challenge_method"] == "S256"
            and known["code_challenge"] == base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        )
        if not good:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(
            {"access_token": "x", "token_type": "Bearer", "id_token": self.sign(known["claims"])}
        )


async def _fields(request):
    return dict(parse_qsl((await request.body()).decode()))
