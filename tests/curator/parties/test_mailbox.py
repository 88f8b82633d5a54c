"""The mailbox of a curator, asked as a party, as a stranger, and as somebody between the two would."""

import contextlib
import hashlib
import http.client
import shutil
import socket
import ssl
import threading
import time

import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import DataError
from dpmosaic.common.processes.bounded_server import BoundedServer
from dpmosaic.common.wire.bundles import (
    Bundle,
    BundledCall,
    BundledReplies,
    BundleHeader,
    encode_replies,
    seal_bundle,
)
from dpmosaic.common.wire.mailbox import CLOCK_S, MailboxRequest
from dpmosaic.curator.parties.home import ATTACHED
from dpmosaic.curator.parties.over_https.listening import address_of, tls_of
from support.mailboxes import RELEASE, Post
from support.middleboxes import Authority
from support.serving import serving
from support.waiting import wait_until

NOW = 1_800_000_000
CALL = BundledCall("Answer", (b"1",))


class Clock:
    """The time of the curator, and of requests, which are each a microsecond later than the one before."""

    def __init__(self):
        self.sent_us = NOW * 1_000_000

    def __call__(self):
        return NOW

    def next(self):
        self.sent_us += 1
        return self.sent_us


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def post(tmp_path, clock):
    with contextlib.closing(Post(tmp_path, now=clock)) as made:
        yield made


@pytest.fixture
def ask(post, clock):
    """Asks the mailbox as a party: `said` changes the request, `how` what is sent."""

    def ask(name="north", answer=b"", sign=None, sent=lambda body: body, path="/", **said):
        said = {"sender": name, "recipient": "curator", "sent_us": clock.next(), **said}
        if answer:
            said = {"answer_bytes": len(answer), "answer_digest": hashlib.sha256(answer).digest(), **said}
        request = MailboxRequest(**said)
        head = request.sign(sign or post.identities[name])
        return exchange(post.port, sent(head + answer), path)

    return ask


def exchange(port, body, path="/", method="POST", **headers):
    """Status, body and headers of a reply."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read(), sorted(reply.headers)


def answer_of(post, name, path, writer=None, sender=None):
    """What a party writes as the answer to a bundle that lies at a path."""
    asked = Bundle.read(path.read_bytes())
    header = BundleHeader(
        sender or name, "curator", asked.header.release_id, asked.header.number, asked.digest
    )
    payload = encode_replies(BundledReplies({CALL.digest: (b"1",)}))
    writer = writer or post.identities[name]
    return seal_bundle(header, payload, writer, post.home.keyring.identity.public).to_bytes()


def test_a_party_fetches_its_bundle_and_brings_the_answer_which_is_taken_as_one_that_people_carry(post, ask):
    path = post.send("north", CALL)
    assert ask()[:2] == (200, path.read_bytes())
    assert ask(answer=answer_of(post, "north", path))[0] == 204
    assert ask()[:2] == (204, b"")
    (north,) = post.connections(["north"], 0.0)
    assert list(north.call(CALL.method, CALL.requests)) == [b"1"]
    assert [event[:2] for event in post.events] == [("fetched", "north"), ("taken", "north")]


def test_a_party_gets_bundles_of_its_own_only_and_none_that_it_says_it_has(post, ask):
    first, second = post.send("north", CALL), post.send("north", CALL, release="cd" * 16)
    assert ask("south")[0] == 204
    assert ask(held=(first.stem,))[1] == second.read_bytes()
    assert ask(held=(first.stem, second.stem))[0] == 204


def test_a_party_that_waits_gets_a_bundle_as_soon_as_it_is_written(post, ask):
    written = threading.Timer(0.05, lambda: post.send("north", CALL))
    written.start()
    assert ask(wait_s=30)[0] == 200
    written.join()


def test_a_later_request_of_a_party_ends_its_earlier_wait(post, ask):
    replies = []
    first = threading.Thread(target=lambda: replies.append(ask(wait_s=30)[0]))
    first.start()
    wait_until(lambda: "north" in post.server.admission._latest)
    assert ask()[0] == 204
    post.send("north", CALL)
    first.join()
    assert replies == [204]


def stranger_requests(post, ask, clock):
    """What is refused before anything is read or waited for, by a name of what it is."""
    post.enroll("dialled", ATTACHED)
    stranger, earlier = Identity.generate(), clock.next()
    post.identities["dialled"] = stranger
    replayed = []

    def keep(body):
        replayed.append(body)
        return body

    assert ask(sent=keep)[0] == 204
    yield "replayed", exchange(post.port, replayed[0])
    yield "reordered", ask(sent_us=earlier)
    yield "old", ask("south", sent_us=(NOW - CLOCK_S - 1) * 1_000_000)
    yield "new", ask("south", sent_us=(NOW + CLOCK_S + 1) * 1_000_000)
    yield "signed by another", ask(sign=stranger)
    yield "signed by another party", ask("south", sign=post.identities["north"])
    yield "of nobody", ask("nobody", sign=stranger)
    yield "of one that is dialled", ask("dialled")
    yield "of the curator", ask("curator", sign=post.home.keyring.identity)
    yield "a name that is a path", ask("../../inbox/north", sign=stranger)
    yield "for another curator", ask("south", recipient="other")
    yield "altered", ask(sent=lambda body: body[:8] + bytes([body[8] ^ 1]) + body[9:])
    yield "cut", ask(sent=lambda body: body[:-1])
    yield "longer than it says", ask(sent=lambda body: body + b"?")
    yield "an answer beyond the limit", ask(answer_bytes=(1 << 30) + 1)
    yield "more bundles than the limit", ask(held=("x",) * 65)
    yield "empty", exchange(post.port, b"")
    yield "a request longer than the limit", exchange(post.port, (8000).to_bytes(4, "big") + bytes(9000))
    yield "another method", exchange(post.port, b"", "/outbox/north", "GET")
    yield "a path outside", exchange(post.port, b"", "/../../identity/identity.key", "GET")
    yield "long headers", exchange(post.port, b"", Filler="x" * 20_000)
    yield "many headers", exchange(post.port, b"", **{f"Filler-{n}": "x" for n in range(150)})


def test_whatever_a_stranger_sends_is_refused_with_the_same_words(post, ask, clock):
    path = post.send("south", CALL)
    found = dict(stranger_requests(post, ask, clock))
    assert {status for status, _, _ in found.values()} == {403}
    assert len({str(reply) for reply in found.values()}) == 1
    assert found["replayed"][1] == b""
    assert [event[0] for event in post.events] == ["refused"]
    assert ask("south", path="/../anything?at=all")[1] == path.read_bytes()


def test_what_is_brought_as_an_answer_is_refused_unless_it_is_one_of_this_party_to_a_bundle_that_waits(
    post, ask
):
    assert ask(answer=b"nothing waits")[0] == 409
    own, others = post.send("north", CALL), post.send("south", CALL)
    whole, stranger = answer_of(post, "north", own), Identity.generate()
    stray = post.mailbox("north", "cd" * 16)
    stray_path = stray.path(stray.send([CALL]).number)
    foreign = answer_of(post, "north", stray_path)
    stray.clear()
    refused = {
        "no bundle": b"\0" * 1000,
        "cut by its writer": whole[:-1],
        "signed by another": answer_of(post, "north", own, writer=stranger),
        "of another party": answer_of(post, "south", others),
        "under another party's name": answer_of(post, "north", own, sender="south"),
        "to another party's bundle": answer_of(post, "north", others),
        "of a release that is over": foreign,
        "a bundle of calls": own.read_bytes(),
    }
    for answer in refused.values():
        assert ask(answer=answer)[0] == 409
    assert ask(answer=whole, answer_digest=bytes(32))[0] == 409
    assert ask(answer=whole, sent=lambda body: body[:-1] + b"?")[0] == 409
    assert not list(post.home.folder.glob(f"inbox/*/{RELEASE}*"))
    assert not [path for path in post.home.folder.iterdir() if path.name.startswith("tmp")]
    assert ask(answer=whole)[0] == 204
    assert len([event for event in post.events if event[:2] == ("refused", "north")]) == len(refused) + 3


def test_the_body_of_an_answer_that_is_not_due_is_not_read(post, clock):
    request = MailboxRequest("north", "curator", clock.next(), 0, (), 1 << 30, bytes(32))
    head = request.sign(post.identities["north"])
    with socket.create_connection(("127.0.0.1", post.port), 30) as waiting:
        length = len(head) + (1 << 30)
        waiting.sendall(f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode() + head)
        assert b" 409 " in waiting.recv(1000)


def test_an_answer_that_does_not_come_whole_leaves_nothing_and_comes_again(post, ask, clock):
    path = post.send("north", CALL)
    whole = answer_of(post, "north", path)
    digest = hashlib.sha256(whole).digest()
    request = MailboxRequest("north", "curator", clock.next(), 0, (), len(whole), digest)
    head = request.sign(post.identities["north"])
    with socket.create_connection(("127.0.0.1", post.port), 30) as cut:
        length = len(head) + len(whole)
        cut.sendall(f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode() + head + whole[:-1])
        cut.shutdown(socket.SHUT_WR)
        assert b" 409 " in cut.recv(1000)
    assert not list(post.home.folder.glob(f"inbox/*/{RELEASE}*"))
    assert ask(answer=whole)[0] == 204


def test_a_connection_that_is_not_admitted_in_time_is_closed_and_one_too_many_at_once():
    served = threading.Event()

    def serve(connection, address, server, lift_deadline):
        served.set()
        while connection.recv(100):
            pass

    server = BoundedServer(("127.0.0.1", 0), serve, None, admission_s=0.2)
    server._free = threading.BoundedSemaphore(1)
    with serving(server):
        address = server.server_address
        with socket.create_connection(address, 30) as slow:
            assert served.wait(30)
            with socket.create_connection(address, 30) as second:
                assert second.recv(1) == b""
            # A byte now and then does not help.
            with contextlib.suppress(OSError):
                while True:
                    slow.sendall(b"?")
                    time.sleep(0.05)


def test_a_new_certificate_is_shown_without_a_restart_once_its_key_is_there_too(tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue()
    tls = tls_of(certificate, key)
    first = tls()
    kept = shutil.copy(key, tmp_path / "kept")
    new_certificate, new_key = authority.issue("new")
    new_certificate.replace(certificate)
    assert tls() is first
    new_key.replace(key)
    assert tls() is not first
    shutil.copy(kept, key)
    assert isinstance(tls(), ssl.SSLContext)


@pytest.mark.parametrize(
    ("text", "local", "said"),
    [
        ("8080", True, "host:port"),
        ("127.0.0.1:", True, "host:port"),
        ("127.0.0.1:65536", True, "host:port"),
        ("0.0.0.0:8080", True, "expected --certificate and --key"),
    ],
)
def test_plain_http_is_for_this_machine_only(text, local, said):
    with pytest.raises(DataError, match=said):
        address_of(text, local)


def test_an_address_may_be_one_of_ipv6():
    assert address_of("[::]:8443", local=False) == ("::", 8443)
    assert address_of("127.0.0.1:0", local=True) == ("127.0.0.1", 0)


def test_a_certificate_that_cannot_be_read_or_belongs_to_another_key_is_refused(tmp_path):
    authority = Authority(tmp_path)
    (certificate, _), (_, other) = authority.issue("one"), authority.issue("other")
    for key in (other, tmp_path / "none", certificate):
        with pytest.raises(DataError, match="name PEM files that belong together"):
            tls_of(certificate, key)


def test_an_address_that_is_taken_is_named(post):
    with pytest.raises(DataError, match=f"cannot listen on 127.0.0.1 port {post.port}"):
        BoundedServer(("127.0.0.1", post.port), None, None)
