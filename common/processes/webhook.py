"""Delivery of a notice to a webhook."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any


def post(url: str, text: bytes, timeout_s: float) -> None:
    """Posts JSON; takes no proxy of the environment and follows no redirection.

    Raises:
        OSError: it was not delivered.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)
    request = urllib.request.Request(url, text, {"Content-Type": "application/json"})
    try:
        opener.open(request, timeout=timeout_s).close()
    except urllib.error.HTTPError as error:
        error.close()
        raise OSError(f"the webhook answered with status {error.code}") from None
    except urllib.error.URLError:
        raise OSError("the webhook does not answer, or its certificate is not valid") from None


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirection for a failure: the notice goes to nobody whom the policy does not name."""

    def redirect_request(self, *_: Any) -> None:
        """Follows none."""
        return None
