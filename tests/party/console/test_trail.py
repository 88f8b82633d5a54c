"""The audit trail as a command, and on its way to a log server."""

import contextlib
import http.server
import json
import re
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.deciding import exporting
from dpmosaic.party.deciding.exporting import Export
from dpmosaic.party.deciding.receivers import receiver_of
from support.consoles import WAITING
from support.serving import Handler, serving
from support.waiting import wait_until

pytestmark = pytest.mark.slow

WORDS = "the purpose is ours"


@pytest.fixture
def listening():
    """Starts a server of a class of handler; gives its port."""
    with contextlib.ExitStack() as stack:

        def start(handler, kind=socketserver.TCPServer):
            return stack.enter_context(serving(kind(("127.0.0.1", 0), handler))).server_address[1]

        yield start


def entries(operator):
    return [json.loads(line) for line in operator.run("trail", "--json").splitlines()]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_command_says_who_did_what_when_with_which_outcome(past):
    past.run("approve", WAITING, "--by", "Officer", "--reason", WORDS, "--yes")
    found = entries(past)
    (decided,) = [one for one in found if one["release_id"] == WAITING and one["kind"] == "decided"]
    assert (decided["by"], decided["outcome"], WORDS in decided["what"]) == ("Officer", "approved", True)
    assert [one["at"] for one in found] == sorted(one["at"] for one in found)
    assert {"requested", "decided", "ledger", "daemon"} >= {one["kind"] for one in found}
    assert {"accepted", "charged"} <= {one["outcome"] for one in found}
    assert len({one["id"] for one in found}) == len(found)


def test_a_file_gets_each_entry_once(past, tmp_path):
    target = tmp_path / "audit.jsonl"
    past.run("trail", "--to", str(target))
    before = lines(target)
    assert target.stat().st_mode & 0o777 == 0o600
    past.run("trail", "--to", str(target))
    assert lines(target) == before
    past.run("approve", WAITING, "--by", "Officer", "--reason", WORDS, "--yes")
    past.run("trail", "--to", str(target))
    (new,) = lines(target)[len(before) :]
    assert (new["by"], new["outcome"]) == ("Officer", "approved")


@pytest.mark.parametrize("dies", ["before", "after", "within an id"])
def test_nothing_is_lost_where_the_process_dies(past, tmp_path, monkeypatch, dies):
    """An entry may come twice, with the same id."""
    target = tmp_path / "audit.jsonl"
    export = Export.to(past.home.folder, str(target), "x")
    monkeypatch.setattr(exporting, "_AT_ONCE", 2)
    taken, take = [], type(export.receiver).take

    def dying(receiver, some):
        if len(taken) == 2 and dies == "before":
            raise OSError("gone")
        take(receiver, some)
        taken.append(some)
        if len(taken) == 2 and dies != "before":
            raise OSError("gone")

    monkeypatch.setattr(type(export.receiver), "take", dying)
    with pytest.raises(OSError, match="gone"):
        export.send()
    if dies == "within an id":
        export.sent.write_bytes(export.sent.read_bytes()[:-7])
    monkeypatch.setattr(type(export.receiver), "take", take)
    Export.to(past.home.folder, str(target), "x").send()
    got = [one["id"] for one in lines(target)]
    assert set(got) == {one["id"] for one in entries(past)}
    assert len(got) - len(set(got)) == {"before": 0, "after": 2, "within an id": 3}[dies]
    assert export.send() == 0


def test_syslog_over_tcp_counts_octets(past, listening):
    got = []

    class Octets(socketserver.StreamRequestHandler):
        def handle(self):
            rest = self.rfile.read()
            while rest:
                size, rest = rest.split(b" ", 1)
                got.append(rest[: int(size)].decode())
                rest = rest[int(size) :]
            done.set()

    known, done = entries(past), threading.Event()
    past.run("trail", "--to", f"syslog+tcp://127.0.0.1:{listening(Octets)}")
    assert done.wait(60)
    pattern = re.compile(
        r"<10[89]>1 [^ ]+ [^ ]+ dpmosaic [0-9]+ (requested|decided|ledger|daemon) - (\{.*\})"
    )
    sent = [json.loads(pattern.fullmatch(message)[2]) for message in got]
    assert [one["id"] for one in sent] == [one["id"] for one in known]
    assert {one["party"] for one in sent} == {past.home.keyring.name}


def test_syslog_over_a_socket_of_the_machine(past, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "log"))
        server.settimeout(60)
        export = Export.to(past.home.folder, f"syslog:{tmp_path / 'log'}", "x")
        sender = threading.Thread(target=export.send)
        sender.start()
        got = [json.loads(server.recv(65536).split(b" - ", 1)[1]) for _ in entries(past)]
        sender.join(60)
    assert [one["id"] for one in got] == [one["id"] for one in entries(past)]


def test_a_collector_of_opentelemetry_gets_log_records(past, listening):
    got = []

    class Collector(Handler):
        def do_POST(self):
            got.append(self.posted())
            self.send_response(200)
            self.end_headers()

    port = listening(Collector, http.server.HTTPServer)
    past.run("trail", "--to", f"otlp+http://127.0.0.1:{port}/v1/logs")
    records = [one for batch in got for one in batch["resourceLogs"][0]["scopeLogs"][0]["logRecords"]]
    known = entries(past)
    assert [one["body"]["stringValue"] for one in records] == [one["what"] for one in known]
    assert all(int(one["timeUnixNano"]) > 0 and one["severityNumber"] in (9, 13) for one in records)
    assert {"key": "dpmosaic.id", "value": {"stringValue": known[0]["id"]}} in records[0]["attributes"]


@pytest.mark.parametrize(
    "target",
    [
        "http://collector/v1/logs",
        "otlp+http://collector/v1/logs",
        "syslog:",
        "syslog+tcp:",
        "ftp://x",
        "otlp+ftp://x",
    ],
)
def test_a_receiver_that_is_none_is_refused(target):
    with pytest.raises(DataError, match="receiver of the audit trail"):
        receiver_of(target, "x")


def test_a_receiver_that_is_gone_is_one_error_without_the_entries(past):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(DataError, match="what it has taken is not sent again") as told:
            past.run("trail", "--to", f"syslog+tcp://127.0.0.1:{port}")
    assert WAITING not in str(told.value)


def test_it_goes_on_beside_the_daemon_until_stopped(past, tmp_path):
    target = tmp_path / "audit.jsonl"
    line = ["trail", str(past.home.folder), "--to", str(target), "--follow"]
    with subprocess.Popen([Path(sys.executable).with_name("dpmosaic"), "party", *line]) as process:
        wait_until(target.exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert len(lines(target)) == len(entries(past))
