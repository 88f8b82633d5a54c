import contextlib
import socket
import urllib.request
from fractions import Fraction

import pytest

from dpmosaic.common import extras
from dpmosaic.common.errors import DataError, MissingExtraError
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.serving import metrics as metrics_module
from dpmosaic.party.serving.events import Event
from dpmosaic.party.serving.metrics import Metrics
from support.terms import RELEASE_ID, terms_of

pytestmark = pytest.mark.slow


def broken():
    raise OSError("disk full")


@pytest.fixture
def ledger():
    opened = Ledger()
    yield opened
    opened.close()


@pytest.fixture
def served(ledger):
    """Metrics that are served, and how to read them."""
    metrics = Metrics(ledger, Fraction(4), {"ledger": ledger.check_writable, "source": broken})
    address = metrics.start("0")
    assert address.startswith("127.0.0.1:")

    def read():
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as page:
            lines = page.read().decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    yield metrics, read
    metrics.stop()


def test_calls_and_bytes_are_counted_by_method_and_code_and_written_to_the_log(served):
    metrics, read = served
    written = []
    log = metrics.counting_log(written.append)
    for code in ("OK", "OK", "PERMISSION_DENIED"):
        log(Event("call", "Answer", code=code, seconds=0.5, bytes_in=10, bytes_out=1000))
    log(Event("health", code="SERVING", bytes_in=7))
    found = read()
    assert found['dpmosaic_party_calls_total{code="OK",method="Answer"}'] == "2.0"
    assert found['dpmosaic_party_calls_total{code="PERMISSION_DENIED",method="Answer"}'] == "1.0"
    assert found['dpmosaic_party_bytes_total{direction="in"}'] == "30.0"
    assert found['dpmosaic_party_bytes_total{direction="out"}'] == "3000.0"
    assert found['dpmosaic_party_call_seconds_total{method="Answer"}'] == "1.5"
    assert len(written) == 4


def test_methods_that_do_not_exist_are_counted_together(served):
    metrics, read = served
    for number in range(3):
        metrics.count(Event("call", f"age={number}", code="INVALID_ARGUMENT"))
    assert read()['dpmosaic_party_calls_total{code="INVALID_ARGUMENT",method="other"}'] == "3.0"


def test_health_releases_and_the_share_of_the_budget_are_current(served, ledger):
    _, read = served
    assert read()["dpmosaic_party_releases"] == "0.0"
    terms = terms_of()
    ledger.reserve(terms, "digest", bytes(32), lambda reserved: None)
    found = read()
    assert found["dpmosaic_party_releases"] == "1.0"
    assert found['dpmosaic_party_budget_share{kind="granted"}'] == "0.25"
    assert found['dpmosaic_party_budget_share{kind="spent"}'] == "0.0"
    assert found['dpmosaic_party_healthy{what="ledger"}'] == "1.0"
    assert found['dpmosaic_party_healthy{what="source"}'] == "0.0"
    assert RELEASE_ID not in str(found)


@pytest.mark.parametrize("sent", [b"", b"GET /metrics HTTP/1.1\r\nx"], ids=["silent", "half a request"])
def test_whoever_sends_no_whole_request_in_time_is_cut_off(ledger, monkeypatch, sent):
    monkeypatch.setattr(metrics_module, "REQUEST_S", 0.2)
    metrics = Metrics(ledger, Fraction(4), {})
    host, port = metrics.start("0").split(":")
    with (
        socket.create_connection((host, int(port)), timeout=60) as slow,
        contextlib.suppress(ConnectionError),
    ):
        slow.sendall(sent)
        # Not if the server waits: that is a TimeoutError.
        assert slow.recv(1) == b""
    metrics.stop()


def test_the_metrics_of_a_dealer_are_named_after_it_and_have_no_budget(ledger):
    metrics = Metrics(ledger, None, {}, "dealer")
    ledger.reserve(terms_of(), "", bytes(32), lambda reserved: None)
    metrics.count(Event("call", "Deal"))
    found = {sample.name: sample.value for family in metrics.registry.collect() for sample in family.samples}
    assert (found["dpmosaic_dealer_releases"], found["dpmosaic_dealer_calls_total"]) == (1, 1)
    assert not [name for name in found if "budget" in name or "party" in name]


@pytest.mark.parametrize("address", ["localhost:port", "127.0.0.1:70000", ""])
def test_an_address_without_a_port_is_refused(ledger, address):
    with pytest.raises(DataError, match="expected host:port or a port"):
        Metrics(ledger, Fraction(1), {}).start(address)


def test_a_port_that_is_taken_is_refused(served, ledger):
    metrics, _ = served
    taken = metrics._server[0].server_address[1]
    with pytest.raises(DataError, match="cannot listen"):
        Metrics(ledger, Fraction(1), {}).start(f"127.0.0.1:{taken}")


def test_without_the_extra_the_error_states_how_to_install_it(ledger, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpmosaic\[metrics\]'"):
        Metrics(ledger, Fraction(1), {})
