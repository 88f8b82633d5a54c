"""Notices reach an operator by a command or a webhook, and disturb nobody when they do not."""

import http.server
import json
import sys
import threading

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.forms.tables import Key, Table, check_file
from dpmosaic.common.processes import notices
from dpmosaic.common.processes.notices import APPROVAL_WAITS, FORM, Notifier, Notify
from support.serving import Handler, serving

pytestmark = pytest.mark.slow

LIMIT_S = 60.0
WRITES = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"
SECRETIVE = "import os, sys; sys.exit('TOKEN' in os.environ)"


class Failures(list):
    """Why notices were not delivered; waits for one."""

    def __init__(self):
        super().__init__()
        self._told = threading.Event()

    def __call__(self, why):
        self.append(why)
        self._told.set()

    def wait(self):
        assert self._told.wait(LIMIT_S)
        return self


class Webhook(Handler):
    """Answers with the statuses of its server, one after another; keeps what was posted."""

    def do_POST(self):
        self.server.posted.append(self.posted())
        self.send_response(self.server.statuses.pop(0))
        self.send_header("Location", "/elsewhere")
        self.end_headers()


@pytest.fixture
def webhook():
    with serving(http.server.HTTPServer(("127.0.0.1", 0), Webhook)) as server:
        server.posted, server.statuses = [], []
        yield server


def sent(settings, failed, pauses_s=(0.0, 0.0)):
    notifier = Notifier(settings, "party", "clinic", failed, pauses_s)
    notifier.send(APPROVAL_WAITS)
    notifier.close(LIMIT_S)


def test_a_command_reads_who_and_what_as_json_and_nothing_else(tmp_path):
    file, failed = tmp_path / "notices", Failures()
    sent(Notify((sys.executable, "-c", WRITES, str(file))), failed)
    (notice,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert notice.keys() == {"format", "role", "name", "event", "at"}
    assert (notice["role"], notice["name"], notice["event"]) == ("party", "clinic", "approval_waits")
    assert failed == []


def test_words_of_a_command_are_not_read_by_a_shell_and_variables_of_the_daemon_stay_with_it(
    tmp_path, monkeypatch
):
    file, failed = tmp_path / "a; b $(c)", Failures()
    sent(Notify((sys.executable, "-c", WRITES, str(file))), failed)
    assert file.exists()
    monkeypatch.setenv("TOKEN", "secret")
    sent(Notify((sys.executable, "-c", SECRETIVE)), failed)
    assert failed == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ((sys.executable, "-c", "raise SystemExit(3)"), "the command ended with status 3"),
        (("/no/such/program",), "No such file"),
        ((sys.executable, "-c", "import time; time.sleep(600)"), "took longer than"),
    ],
)
def test_a_command_that_fails_or_hangs_is_told_once_and_ended(command, why, monkeypatch):
    monkeypatch.setattr(notices, "_DELIVERY_S", 0.2)
    failed = Failures()
    notifier = Notifier(Notify(command), "party", "clinic", failed, (0.0,))
    notifier.send(APPROVAL_WAITS)
    assert why in failed.wait()[0]
    notifier.close(LIMIT_S)
    assert len(failed) == 1


def test_a_webhook_is_tried_again_and_a_bounded_number_of_times(webhook):
    settings, failed = Notify(webhook=f"http://127.0.0.1:{webhook.server_port}/"), Failures()
    webhook.statuses = [503, 204]
    sent(settings, failed)
    assert [notice["event"] for notice in webhook.posted] == ["approval_waits"] * 2
    assert failed == []
    webhook.statuses = [503] * 3 + [204]
    sent(settings, failed)
    assert failed == ["the webhook answered with status 503"]
    assert len(webhook.posted) == 5


def test_a_webhook_cannot_send_a_notice_elsewhere(webhook, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    failed = Failures()
    webhook.statuses = [307, 302, 301]
    sent(Notify(webhook=f"http://127.0.0.1:{webhook.server_port}/"), failed)
    assert failed == ["the webhook answered with status 301"]


def test_the_sender_never_waits_and_a_webhook_that_is_away_is_told(monkeypatch):
    failed = Failures()
    notifier = Notifier(Notify(webhook="http://127.0.0.1:1/"), "party", "clinic", failed, (LIMIT_S,))
    for _ in range(500):
        notifier.send(APPROVAL_WAITS)
    assert "too many notices wait" in failed.wait()
    notifier.close(LIMIT_S)
    assert any("the webhook does not answer" in why for why in failed)


def test_without_a_way_nothing_is_sent():
    notifier = Notifier(None, "party", "clinic", Failures())
    notifier.send(APPROVAL_WAITS)
    notifier.close(LIMIT_S)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({}, "either command or webhook"),
        ({"command": ["a"], "webhook": "https://a/"}, "either command or webhook"),
        ({"webhook": "http://example.org/"}, "has to begin with https"),
        ({"webhook": "https://"}, "has to begin with https"),
    ],
)
def test_a_section_that_is_wrong_is_refused(section, said):
    with pytest.raises(DataError, match=rf"policy.toml: .*{said}"):
        Notify.of("policy.toml", {"notify": section})


@pytest.mark.parametrize("section", [{"command": [1]}, {"command": "a"}, {"budget_below": 1.0}, {"other": 1}])
def test_a_key_that_is_wrong_is_refused_by_the_form(section):
    with pytest.raises(DataError, match=r"policy\.toml"):
        check_file("policy.toml", Table({"notify": Key(FORM)}), {"notify": section})


def test_a_section_names_the_way_and_the_mark():
    form = {"notify": {"command": ["a", "b"], "budget_below": 0.2}}
    assert Notify.of("policy.toml", form) == Notify(("a", "b"), "", 0.2)
    assert Notify.of("policy.toml", {}) is None
