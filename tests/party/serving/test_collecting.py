"""A party that fetches from a mailbox which answers as the test says."""

import contextlib
import re
import socket
import time
from http.server import ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.wire.mailbox import SignedRequest
from dpmosaic.party.serving import collecting
from dpmosaic.party.serving.collecting import Collector
from dpmosaic.party.serving.https import Place
from support.serving import Handler, serving
from support.waiting import wait_until


class Answering(Handler):
    """Replies with the next of the statuses of its server, and with no bundle when there are no more."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        position = [0]

        def read(size):
            position[0] += size
            return body[position[0] - size : position[0]]

        self.server.asked.append(SignedRequest.read(read).request)
        status, content, stated = self.server.replies.pop(0) if self.server.replies else (204, b"", 0)
        self.send_response(status)
        self.send_header("Content-Length", str(stated or len(content)))
        self.end_headers()
        self.wfile.write(content)


class Mailbox(ThreadingHTTPServer):
    """Says nothing of parties that were stopped meanwhile."""

    def handle_error(self, request, client_address):
        """A party is gone."""


@pytest.fixture
def mailbox():
    with serving(Mailbox(("127.0.0.1", 0), Answering)) as server:
        server.asked, server.replies = [], []
        server.url = f"http://127.0.0.1:{server.server_port}/"
        yield server


@pytest.fixture
def collect(mailbox):
    """Starts a party that fetches, whose log is returned; stops it after the test."""
    with contextlib.ExitStack() as stack:

        def start(replies=(), now=time.time, url=mailbox.url):
            mailbox.replies[:] = replies
            keyring = SimpleNamespace(name="north", identity=Identity.generate())
            home, log = SimpleNamespace(keyring=keyring), []
            curator = SimpleNamespace(name="curator")
            collector = Collector(home, None, None, Place(url), curator, frozenset, log.append, now)
            collector.start()
            stack.callback(collector.stop)
            return collector, log

        yield start


def links(log):
    return [(event.code, event.reason) for event in log if event.event == "link"]


@pytest.mark.parametrize(
    ("status", "content", "stated", "code", "said"),
    [
        (403, b"", 0, "INVALID_ARGUMENT", "refuses this party"),
        (407, b"", 0, "INVALID_ARGUMENT", "asks for a user and a password"),
        (413, b"", 0, "INVALID_ARGUMENT", "raise its limit for bodies of requests"),
        (302, b"", 0, "INVALID_ARGUMENT", r"in place of the curator's mailbox \(302\)"),
        (200, b"<html>log in</html>", 0, "INVALID_ARGUMENT", "a page of a proxy that wants a login"),
        (503, b"", 0, "UNAVAILABLE", r"has no time now \(503\)"),
        (409, b"", 0, "UNAVAILABLE", r"has no time now \(409\)"),
        (200, b"dpmosaic", 9, "UNAVAILABLE", "was cut"),
    ],
)
def test_a_party_says_what_it_was_told_and_asks_again_soon_only_where_that_may_help(
    status, content, stated, code, said, mailbox, collect, monkeypatch
):
    soon = code == "UNAVAILABLE"
    monkeypatch.setattr(collecting, "_FIRST_PAUSE_S", 0.01 if soon else 600)
    monkeypatch.setattr(collecting, "_REFUSED_PAUSE_S", 600 if soon else 0.01)
    _, log = collect([(status, content, stated)])
    wait_until(lambda: len(links(log)) == 2)
    (found, reason), (then, _) = links(log)
    assert (found, then) == (code, "SERVING")
    assert re.search(said, reason)


def test_a_mailbox_that_does_not_answer_is_told_once_and_tried_again(mailbox, collect, monkeypatch):
    monkeypatch.setattr(collecting, "_FIRST_PAUSE_S", 0.001)
    collector, log = collect([(503, b"", 0)] * 3)
    wait_until(lambda: len(links(log)) == 2)
    assert [code for code, _ in links(log)] == ["UNAVAILABLE", "SERVING"]
    collector.check_link()


def test_the_link_is_down_until_the_mailbox_replied(collect):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        collector, log = collect(url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
        with pytest.raises(PartyUnavailable, match="not reached yet"):
            collector.check_link()
        silent.accept()[0].close()
        wait_until(lambda: links(log))
        with pytest.raises(PartyUnavailable, match="does not answer, or cannot be reached"):
            collector.check_link()


def test_a_wait_that_was_cut_is_halved_and_then_grows_slowly(mailbox, collect, monkeypatch):
    monkeypatch.setattr(collecting, "_FIRST_PAUSE_S", 0.001)
    collect([(504, b"", 0), (502, b"", 0), (204, b"", 0)])
    wait_until(lambda: len(mailbox.asked) > 4)
    assert [asked.wait_s for asked in mailbox.asked[:5]] == [20, 10, 5, 6, 7]


def test_each_request_is_later_than_the_one_before_also_if_the_clock_stands_still(mailbox, collect):
    collect(now=lambda: 1_800_000_000.0)
    wait_until(lambda: len(mailbox.asked) > 2)
    assert [asked.sent_us - 1_800_000_000_000_000 for asked in mailbox.asked[:3]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://curator.example/", "as https://HOST/PATH"),
        ("curator.example", "as https://HOST/PATH"),
        ("https://curator.example:x/", "as https://HOST/PATH"),
        ("https:///mailbox", "expected a host"),
        ("https://user:word@curator.example/", "no password"),
    ],
)
def test_an_address_that_is_no_mailbox_is_refused(url, said):
    with pytest.raises(DataError, match=said):
        Place(url)


def test_authorities_that_cannot_be_read_are_named(tmp_path):
    place = Place("https://localhost:9/", authorities=tmp_path / "none.pem")
    with pytest.raises(DataError, match=r"cannot read authorities of \[serve\]"):
        place.post([], 0, 1, 1.0, lambda connection: None)


def test_a_bundle_that_comes_again_waits_the_longer_the_more_often(collect, monkeypatch):
    collector, _ = collect()
    waits = []
    monkeypatch.setattr(collector._stopped, "wait", waits.append)
    for digest in (b"one", b"one", b"other", b"one", b"other", *[b"one"] * 9):
        collector._wait_if_repeated(digest)
    assert waits == [1, 2, 1, 4, 8, 16, 32, *[60] * 5]
    assert len(collector._answered) == 2
