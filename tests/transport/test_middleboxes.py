"""One masked release through what stands between institutions is as in one process, to the last byte."""

import contextlib
from fractions import Fraction

import pytest

from dpmosaic.common.data.view import View
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.over_https.listening import tls_of
from dpmosaic.simulations.local_network.ports import free_port
from support.mailboxes import NAMES, TRIAL, Post, trial_table
from support.middleboxes import IDLE_S, Authority, Resetting, haproxy, nginx, squid
from support.waiting import wait_until

pytestmark = pytest.mark.slow


def released(links):
    measurer = TRIAL.measurer(trial_table(), links)
    cliques = [("a", "b"), ("a", "c"), ("a", "b", "c")]
    marginals = measurer.measure([Query(View(clique), Fraction(1, 5), "test") for clique in cliques])
    return [list(m.values) for m in marginals]


@pytest.fixture(scope="module")
def expected():
    return released(TRIAL.parties(trial_table()))


@pytest.fixture
def post(tmp_path):
    """Makes a mailbox for both parties, and closes it after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda **how: stack.enter_context(contextlib.closing(Post(tmp_path, NAMES, **how)))


@pytest.fixture
def hospital(tmp_path):
    return Authority(tmp_path / "hospital")


@pytest.fixture
def outside(tmp_path):
    return Authority(tmp_path / "outside", "Authority of the internet")


def through(post, url, names=NAMES, **place):
    """What is released if parties fetch through an address; the others are in this process."""
    links = []
    for (link,), name in zip(TRIAL.parties(trial_table()), NAMES, strict=True):
        if name in names:
            post.fetch(name, link.servicer, url, **place)
            post.describe(name)
            links.extend([one] for one in post.connections([name]))
        else:
            links.append([link])
    return released(links)


def silence(post):
    """Waits until a middlebox has cut a wait of every party that is longer than its idle limit."""
    wait_until(lambda: all("UNAVAILABLE" in post.codes(name) for name in post.logs))


def test_the_mailbox_behind_nginx_that_ends_tls_and_cuts_what_is_silent(post, outside, tmp_path, expected):
    made, port = post(), free_port()
    certificate, key = outside.issue()
    server = f"""server {{
        listen 127.0.0.1:{port} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};
        location /mailbox {{ proxy_pass http://127.0.0.1:{made.port}; proxy_read_timeout {IDLE_S}s; }}
    }}"""
    with nginx(tmp_path / "nginx", port, http=server):
        url = f"https://localhost:{port}/mailbox"
        assert through(made, url, authorities=outside.file) == expected
        silence(made)


def test_the_mailbox_behind_nginx_that_passes_tcp_on(post, outside, tmp_path, expected):
    made, port = post(tls=tls_of(*outside.issue())), free_port()
    server = f"server {{ listen {port}; proxy_pass 127.0.0.1:{made.port}; proxy_timeout {IDLE_S}s; }}"
    with nginx(tmp_path / "nginx", port, stream=server):
        assert through(made, f"https://localhost:{port}/", authorities=outside.file) == expected
        silence(made)


@pytest.mark.parametrize("mode", ["http", "tcp"])
def test_the_mailbox_behind_haproxy(mode, post, outside, tmp_path, expected):
    pair = outside.issue()
    ends = mode == "http"
    made, port = post(tls=None if ends else tls_of(*pair)), free_port()
    both = tmp_path / "both.pem"
    both.write_bytes(b"".join(path.read_bytes() for path in pair))
    text = f"""listen mailbox
 mode {mode}
 bind 127.0.0.1:{port} {f"ssl crt {both} alpn h2,http/1.1" if ends else ""}
 server one 127.0.0.1:{made.port}"""
    with haproxy(tmp_path / "haproxy", port, text):
        assert through(made, f"https://localhost:{port}/", authorities=outside.file) == expected
        silence(made)


def test_the_mailbox_behind_a_proxy_that_inspects_and_asks_for_a_password(post, hospital, outside, expected):
    made, port = post(tls=tls_of(*outside.issue())), free_port()
    with squid(port, authority=hospital, outside=outside, login="north:secret"):
        way = {"proxy": f"http://north:secret@127.0.0.1:{port}", "authorities": hospital.file}
        assert through(made, f"https://localhost:{made.port}/", **way) == expected
        silence(made)


def test_a_party_says_what_a_proxy_wants(post, hospital, outside):
    made, port = post(tls=tls_of(*outside.issue())), free_port()
    url, proxy = f"https://localhost:{made.port}/", f"http://north:wrong@127.0.0.1:{port}"
    with squid(port, authority=hospital, outside=outside, login="north:secret"):
        made.fetch(NAMES[0], None, url, proxy=proxy, authorities=hospital.file)
        made.fetch(NAMES[1], None, url, proxy=proxy.replace("wrong", "secret"), authorities=outside.file)
        wait_until(lambda: all(made.codes(name) for name in NAMES))
    reasons = [next(one.reason for one in made.logs[name] if one.event == "link") for name in NAMES]
    assert "the proxy of [serve] asks for a user and a password" in reasons[0]
    assert "name the PEM file of its authority in authorities of [serve]" in reasons[1]


def test_the_mailbox_over_ipv6_with_a_carrier_certificate_that_changes_under_way(
    post, outside, hospital, expected
):
    made = post(tls=tls_of(*outside.issue()), host="::1")
    url, both = f"https://[::1]:{made.port}/", outside.folder / "both.pem"
    both.write_bytes(outside.file.read_bytes() + hospital.file.read_bytes())
    links = TRIAL.parties(trial_table())
    for (link,), name in zip(links, NAMES, strict=True):
        made.fetch(name, link.servicer, url, authorities=both)
        made.describe(name)
    for path, new in zip(outside.issue(), hospital.issue(), strict=True):
        new.replace(path)
    assert released([[one] for one in made.connections(NAMES)]) == expected
    assert all(made.codes(name) == ["SERVING"] for name in NAMES)


def test_connections_that_are_reset_in_the_middle_of_a_transfer(post, outside, expected):
    made = post(tls=tls_of(*outside.issue()))
    with contextlib.closing(Resetting(made.port, after=2500, times=3)) as link:
        url = f"https://localhost:{link.port}/"
        assert through(made, url, NAMES[:1], authorities=outside.file) == expected
        assert link.left == 0


def test_daemons_that_are_dialled_behind_load_balancers_that_pass_tcp_on(loopback, tmp_path, expected):
    ports = free_port(), free_port()
    parties = [loopback(link.servicer) for (link,) in TRIAL.parties(trial_table())]
    first, second = (party.address for party in parties)
    stream = f"server {{ listen {ports[0]}; proxy_pass {first}; proxy_timeout {IDLE_S}s; }}"
    text = f"listen party\n mode tcp\n bind 127.0.0.1:{ports[1]}\n server one {second}"
    with nginx(tmp_path / "nginx", ports[0], stream=stream), haproxy(tmp_path / "haproxy", ports[1], text):
        links = [
            [party.dial(address=f"127.0.0.1:{port}")] for party, port in zip(parties, ports, strict=True)
        ]
        assert released(links) == expected
