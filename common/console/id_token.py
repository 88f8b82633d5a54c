"""Tokens by which an OpenID provider says who signed in."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ..errors import ProtocolError

_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC"}
_ALGORITHMS = tuple(f"{kind}{bits}" for kind in _KINDS for bits in (256, 384, 512))
"""Signatures alone: with "none" or a shared secret anybody could make a token."""
_LEAST_RSA_BITS = 2048
_SKEW_S = 60
"""Seconds by which clocks may differ."""
_SUBJECT = re.compile(r"[!-~]{1,255}")


def claims_of(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client: str, nonce: str
) -> dict[str, Any] | None:
    """The claims of an ID token.

    Source: OpenID Connect Core 1.0, section 3.1.3.7.

    Args:
        token: as the provider's token endpoint gave it.
        keys: the provider's public keys, as JSON Web Keys.
        issuer: the provider.
        client: id of this client, for which alone the token has to be.
        nonce: the one of this sign-in.

    Returns:
        The claims; None if no key fits, since the provider may have new ones.

    Raises:
        ProtocolError: the token is of or for another, too old, not signed by the key, or no token.
    """
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as cause:
        raise _refusal("a token") from cause
    algorithm = header.get("alg")
    if algorithm not in _ALGORITHMS:
        raise _refusal("a token with a signature by a public key")
    for key in _fitting(keys, algorithm, header.get("kid")):
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=client,
                issuer=issuer,
                leeway=_SKEW_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.InvalidSignatureError:
            continue
        except jwt.PyJWTError as cause:
            raise _refusal("a token of this provider, for this console, that is valid now") from cause
        _check(claims, client, nonce)
        return claims
    return None


def _fitting(keys: Sequence[Mapping[str, Any]], algorithm: str, kid: object) -> list[jwt.PyJWK]:
    """The keys that may have signed a token."""
    found = []
    for one in keys:
        kind = one.get("kty") == _KINDS[algorithm[:2]] and one.get("use", "sig") == "sig"
        if not kind or one.get("alg", algorithm) != algorithm or (kid is not None and one.get("kid") != kid):
            continue
        try:
            key = jwt.PyJWK(dict(one), algorithm)
        except (jwt.PyJWTError, ValueError):
            continue
        if not isinstance(key.key, RSAPublicKey) or key.key.key_size >= _LEAST_RSA_BITS:
            found.append(key)
    return found


def _check(claims: Mapping[str, Any], client: str, nonce: str) -> None:
    """What every token for this client has to say beyond what `jwt` checks."""
    shown = claims.get("nonce")
    if not isinstance(shown, str) or not hmac.compare_digest(shown.encode(), nonce.encode()):
        raise _refusal("a token for this sign-in")
    for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if for_several else client) != client:
        raise _refusal("a token that was issued to this console")
    if not isinstance(claims["sub"], str) or not _SUBJECT.fullmatch(claims["sub"]):
        raise _refusal("a token with a subject of at most 255 visible ASCII characters")


def _refusal(expected: str) -> ProtocolError:
    return ProtocolError(
        f"the provider's token is refused: expected {expected}, got another; sign in again, and tell the "
        "operator if it comes back"
    )
