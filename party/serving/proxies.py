"""What the proxy of [serve] says if it does not pass a connection on to the curator."""

from __future__ import annotations

_OF_PROXY = {
    "407": "the proxy of [serve] asks for a user and a password, or refuses those that it got (407); name "
    "where they are in proxy_login",
    "403": "the proxy of [serve] does not pass connections on to the curator's address (403); ask whoever "
    "runs it to allow this host and port",
}


def proxy_says(code: str) -> str:
    """What the answer of a proxy means, by its code."""
    return _OF_PROXY.get(code, f"the proxy of [serve] refused to pass the connection on ({code})")
