"""What strangers on the institution's network send to a party's console, from another machine's address."""

import contextlib
import ipaddress
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
from urllib.parse import urlencode

import pytest

from dpmosaic.common.console import connections
from dpmosaic.simulations.local_network.ports import free_port
from support.authorities import SERVER
from support.browsing import Client, check_closed
from support.consoles import ABOUT, HOSTILE, WAITING
from support.desks import LISTS, Browser, of_provider, serving, write_section
from support.providers import Provider

pytestmark = pytest.mark.slow

DECISION = {"reason": "the purpose is ours", "read": "yes"}
ADA = {"sub": "ada-7", "name": "<script>alert(1)</script>\u202e", "groups": ["data-protection"]}
# An address of its own for each process that runs tests.
NETWORK = f"10.211.{os.getpid() % 256}.{os.getpid() // 256 % 64 * 4}"
HERE, THERE = (str(ipaddress.ip_address(NETWORK) + number) for number in (1, 2))
OPEN = {"/sign-in", "/console.css", "/icon.svg"}
PATHS = ("/", "/releases", f"/releases/{WAITING}", "/certificates", "/health", "/trail", "/trail.csv")

# Sends a raw request to a console, from the network namespace in which it runs; prints the reply.
ASK = """
import socket, ssl, sys
host, port, authority, text = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
with context.wrap_socket(socket.create_connection((host, int(port)), 20), server_hostname=host) as s:
    s.sendall(text.encode())
    reply = b""
    while piece := s.recv(65536):
        reply += piece
sys.stdout.write(reply.decode())
"""


@pytest.fixture(scope="module")
def provider(authority):
    files = authority.issue("provider", "CN=127.0.0.1", SERVER, hosts=["127.0.0.1"])
    with Provider().running(*files) as made:
        made.account = ADA
        yield made


@contextlib.contextmanager
def opened(past, authority, provider, address):
    write_section(past, authority, address, of_provider(provider, authority, past) + LISTS)
    with serving(past, address):
        ada = Browser(address, authority.context())
        assert ada.sign_in(provider)[0] == 200
        yield ada


@pytest.fixture
def ada(past, authority, provider):
    """The browser of an officer who is signed in."""
    with opened(past, authority, provider, f"https://127.0.0.1:{free_port()}") as made:
        yield made


def decisions(operator):
    return json.loads(operator.run("show", WAITING, "--json"))["decisions"]


def test_nobody_sees_a_page_without_a_session(ada):
    for cookies in ({}, {"__Host-console": "x" * 43}, {"__Host-console": ""}, {"console": "x"}):
        stranger = Browser(f"https://{ada.authority}", ada.context)
        stranger.cookies = cookies
        for path in PATHS:
            status, headers, text = stranger.get(path)
            assert (status, headers["Location"], text) == (303, "/sign-in", "")
        assert ABOUT.purpose not in stranger.get("/sign-in")[2]


def test_another_host_is_refused_so_that_a_name_that_points_here_is_of_no_use(ada):
    port = ada.authority.partition(":")[2]
    for host in (f"evil.example:{port}", "evil.example", f"localhost:{port}", "127.0.0.1", None):
        for path in ("/", "/sign-in", "/sign-in/start", "/console.css"):
            status, headers, text = ada.get(path, Host=host)
            assert status in (400, 421)
            assert headers["Set-Cookie"] is None
            assert ABOUT.purpose not in text


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"Origin": "https://evil.example"}, {}),
        ({"Origin": "null"}, {}),
        ({"Origin": None}, {}),
        ({"Origin": "http"}, {}),
        ({"Sec-Fetch-Site": "same-site"}, {}),
        ({"Sec-Fetch-Site": "cross-site"}, {}),
        ({"Content-Type": "text/plain"}, {}),
        ({"Content-Type": "multipart/form-data; boundary=x"}, {}),
        ({"Cookie": None}, {}),
        ({"Host": "evil.example"}, {}),
        ({}, {"form_token": ""}),
        ({}, {"form_token": "x" * 43}),
        ({}, {"reason": "x" * (1 << 17)}),
    ],
)
def test_a_form_from_elsewhere_decides_nothing(ada, past, changed, fields):
    if changed.get("Origin") == "http":
        changed = {"Origin": f"http://{ada.authority}"}
    for verdict in ("approve", "deny"):
        status = ada.post(f"/releases/{WAITING}/{verdict}", DECISION | fields, **changed)[0]
        assert 400 <= status < 500
    assert decisions(past) == []


def test_the_form_token_of_another_session_decides_nothing(ada, past, provider):
    other = Browser(f"https://{ada.authority}", ada.context)
    other.sign_in(provider)
    assert other.form_token != ada.form_token
    other.form_token = ada.form_token
    assert other.post(f"/releases/{WAITING}/approve", DECISION)[0] == 403
    assert decisions(past) == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_other_method_decides(ada, past, method):
    path = f"/releases/{WAITING}/approve?{urlencode(DECISION | {'form_token': ada.form_token})}"
    cookie = f"__Host-console={ada.cookies['__Host-console']}"
    assert ada.ask(method, path, Cookie=cookie, Origin=f"https://{ada.authority}")[0] in (403, 405)
    assert decisions(past) == []


def test_no_other_method_signs_in_or_takes_an_attempt(ada, provider):
    begun = Browser(f"https://{ada.authority}", ada.context)
    for method in ("HEAD", "PUT", "OPTIONS"):
        for path in ("/sign-in/start", "/sign-in/back?state=x&code=x"):
            status, headers, _ = begun.ask(method, path)
            assert (status, headers["Set-Cookie"], headers["Location"]) == (405, None, None)
    assert begun.sign_in(provider)[0] == 200


def test_every_reply_forbids_other_resources_frames_scripts_and_copies(ada):
    replies = [ada.get(path) for path in (*PATHS, *OPEN, "/nothing", "/sign-in/back", "/sign-in/start")]
    replies += [ada.get("/", Host="evil.example"), ada.get("/", Cookie=None), ada.post("/x")]
    for _, headers, _ in replies:
        check_closed(headers)
        assert headers["Strict-Transport-Security"].startswith("max-age=")


def test_texts_of_others_and_the_name_of_the_person_are_text(ada):
    for path in ("/", f"/releases/{HOSTILE}"):
        text = ada.get(path)[2]
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "\u202e" not in text


def test_pages_and_files_are_found_by_their_own_path_alone(ada):
    for path in (
        "//",
        "/..%2f..%2fbase.html",
        "/%2e%2e/base.html",
        "/HEALTH",
        "/releases/../health",
        "/enter",
    ):
        status, _, text = ada.get(path)
        assert (status in (303, 307, 404), "Diagnosis" in text) == (True, False)


def test_half_open_connections_of_others_do_not_lock_out_an_officer(ada):
    host, port = ada.authority.split(":")
    plain = [socket.create_connection((host, int(port))) for _ in range(100)]
    begun = [
        ada.context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host)
        for _ in range(20)
    ]
    for one in begun:
        one.sendall(b"POST /sign-out HTTP/1.1\r\nHost: ")
    assert ada.get("/")[0] == 200
    for one in (*plain, *begun):
        one.close()


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("piece", [b"", b"x"], ids=["silent", "slow"])
def test_whoever_sends_no_whole_request_in_time_is_cut_off(ada, monkeypatch, asked_before, piece):
    """Also if bytes keep coming, and after an earlier request; others are served meanwhile."""
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    host, port = ada.authority.split(":")
    raw = socket.create_connection((host, int(port)), timeout=60)
    with ada.context.wrap_socket(raw, server_hostname=host) as slow:
        if asked_before:
            slow.sendall(f"GET /sign-in HTTP/1.1\r\nHost: {ada.authority}\r\n\r\n".encode())
            reply = b""
            while b"</html>" not in reply:
                reply += slow.recv(1 << 16)
        # Not if the server waits: that is a TimeoutError.
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            slow.sendall(b"POST /sign-out HTTP/1.1\r\nx")
            for _ in range(500 if piece else 0):
                slow.sendall(piece)
                time.sleep(0.02)
            assert not piece, "expected to be cut off"
            assert not slow.recv(1 << 16)
    assert ada.get("/")[0] == 200


def test_http_without_tls_is_not_answered(ada):
    with pytest.raises(OSError):  # noqa: PT011 - a reset, or an end without a reply
        Client(f"http://{ada.authority}/").get("/")


@pytest.fixture
def elsewhere():
    """Runs a program from another machine's address: in a network namespace with an interface of its own."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and `ip`, to make a network namespace")
    name, ours, theirs = f"desk-{os.getpid()}", f"dk{os.getpid() % 100000}a", f"dk{os.getpid() % 100000}b"
    steps = (
        f"ip netns add {name}",
        f"ip link add {ours} type veth peer name {theirs} netns {name}",
        f"ip addr add {HERE}/30 dev {ours}",
        f"ip link set {ours} up",
        f"ip -n {name} addr add {THERE}/30 dev {theirs}",
        f"ip -n {name} link set {theirs} up",
    )
    try:
        for step in steps:
            done = subprocess.run(step.split(), capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"no network namespace here: {step}: {done.stderr.strip()}")

        def run(*arguments):
            line = ["ip", "netns", "exec", name, sys.executable, "-c", ASK, *map(str, arguments)]
            return subprocess.run(line, capture_output=True, text=True, timeout=300)

        yield run
    finally:
        subprocess.run(["ip", "link", "del", ours], capture_output=True)
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


def test_from_another_machine_strangers_see_and_decide_nothing_and_officers_decide(
    past, authority, provider, elsewhere
):
    port = free_port(HERE)
    address = f"https://{HERE}:{port}"
    with opened(past, authority, provider, address) as ada:

        def ask(method, path, fields=None, host=ada.authority, **headers):
            body = urlencode(fields or {})
            sent = {"Host": host, "Connection": "close", "Content-Length": len(body)} | headers
            lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
            done = elsewhere(HERE, port, authority.file, "\r\n".join(lines) + "\r\n\r\n" + body)
            assert done.returncode == 0, done.stderr
            head, _, text = done.stdout.partition("\n\n")
            return int(head.split()[1]), text

        assert ask("GET", "/sign-in")[0] == 200
        assert ask("GET", "/")[0] == 303
        assert ask("GET", "/", host=f"evil.example:{port}")[0] == 421
        form = {
            "Origin": f"https://{ada.authority}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": f"__Host-console={ada.cookies['__Host-console']}",
        }
        fields = DECISION | {"form_token": ada.form_token}
        path = f"/releases/{WAITING}/approve"
        for changed in (
            {"Cookie": "a=b"},
            {"Origin": "https://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            assert ask("POST", path, fields, **form | changed)[0] == 403
        assert decisions(past) == []
        assert ask("POST", path, fields, **form)[0] == 303
        assert [one["by"] for one in decisions(past)] == [f"login {provider.issuer} ada-7"]
    log = (past.home.folder / "console.log").read_text()
    assert json.loads(log.splitlines()[0])["address"] == HERE


def test_the_default_console_cannot_be_reached_from_another_machine(past, consoles, authority, elsewhere):
    """The one of the loopback interface, which needs no login."""
    port = Client(consoles(past)).authority.partition(":")[2]
    done = elsewhere(HERE, port, authority.file, "")
    assert "ConnectionRefusedError" in done.stderr
