"""The guard of a console as a server calls it: bodies that come in pieces, or never whole."""

from urllib.parse import urlencode

import pytest

from dpmosaic.common.console.gate import Gate
from dpmosaic.common.console.guard import MAX_FORM_BYTES, Guard

pytestmark = pytest.mark.asyncio

AUTHORITY = "127.0.0.1:8000"


class Called:
    """Pages behind a guard, of a browser that has entered: the forms that reached them, and the replies."""

    def __init__(self):
        self.gate, self.forms, self.read, self.replies = Gate(), [], 0, []
        self.cookie = self.gate.enter(self.gate.entrance.partition("token=")[2])

    async def _pages(self, scope, receive, send):
        self.forms.append(scope["form"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    async def post(self, messages, path="/change"):
        """Sends a form in these messages; the status of the reply."""
        headers = {
            "host": AUTHORITY,
            "origin": f"http://{AUTHORITY}",
            "cookie": f"{self.gate.cookie}={self.cookie}",
            "content-type": "application/x-www-form-urlencoded",
        }
        scope = {
            "type": "http",
            "method": "POST",
            "path": self.gate.path + path,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        waiting = iter(messages)

        async def receive():
            self.read += 1
            return next(waiting)

        async def send(message):
            self.replies.append(message)

        await Guard(self._pages, self.gate, AUTHORITY)(scope, receive, send)
        return next(reply["status"] for reply in self.replies if reply["type"] == "http.response.start")

    def body(self, **fields):
        """The bytes of a form of this console."""
        return urlencode({"form_token": self.gate.form_token} | fields).encode()


def pieces(body, size):
    """Messages of a body, all but the last of them of this size."""
    cuts = [body[start : start + size] for start in range(0, len(body), size)]
    return [
        {"type": "http.request", "body": cut, "more_body": place < len(cuts) - 1}
        for place, cut in enumerate(cuts)
    ]


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_a_form_is_the_same_however_its_body_is_cut(size):
    called = Called()
    assert await called.post(pieces(called.body(reason="a & b"), size)) == 200
    assert called.forms == [{"reason": "a & b"}]


async def test_a_body_that_is_too_long_is_not_read_to_its_end():
    called = Called()
    endless = ({"type": "http.request", "body": bytes(1 << 12), "more_body": True} for _ in range(1 << 20))
    assert await called.post(endless) == 403
    assert called.read == MAX_FORM_BYTES // (1 << 12) + 1
    assert called.forms == []


async def test_a_browser_that_leaves_before_its_form_is_whole_changes_nothing():
    called = Called()
    body = called.body(reason="yes")
    leaving = [{"type": "http.request", "body": body, "more_body": True}, {"type": "http.disconnect"}]
    assert await called.post(leaving) == 403
    assert called.forms == []


async def test_what_is_no_request_is_not_answered():
    called = Called()
    await Guard(called._pages, called.gate, AUTHORITY)({"type": "lifespan"}, None, None)
    assert (called.forms, called.replies) == ([], [])
