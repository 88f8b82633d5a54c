import json
from io import StringIO

import pytest
from rich.console import Console

from dpmosaic.common.errors import PartyUnavailable
from dpmosaic.curator.mechanisms.parts.fitted import Progress
from dpmosaic.curator.parties.activity import AWAY, IDLE, Activity
from dpmosaic.curator.releasing.progress import parties, progress_bar, progress_lines
from support.waiting import wait_until


class Clock:
    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


class Echo:
    """A party that echoes its requests and records their type."""

    def call(self, method, requests):
        self.requests = requests
        yield from requests


class Away:
    def call(self, method, requests):
        raise PartyUnavailable("not reachable")
        yield


@pytest.fixture
def clock():
    return Clock()


def only(activity):
    (one,) = activity.snapshot()
    return one


def test_a_party_is_idle_before_and_after_a_call_and_its_bytes_are_counted(clock):
    activity = Activity(clock)
    connection = activity.watch("north", Echo())
    assert (only(activity).doing, only(activity).sent) == (IDLE, 0)
    replies = connection.call("Answer", iter([b"abc", b"de"]))
    assert next(replies) == b"abc"
    clock.time += 7
    one = only(activity)
    assert (one.doing, one.seconds, one.silent_s, one.sent, one.received) == ("Answer", 7, 7, 3, 3)
    assert list(replies) == [b"de"]
    one = only(activity)
    assert (one.doing, one.silent_s, one.sent, one.received) == (IDLE, 0, 5, 5)


def test_a_call_that_can_be_retried_stays_so(clock):
    party = Echo()
    assert list(Activity(clock).watch("north", party).call("Describe", [b"x"])) == [b"x"]
    assert party.requests == [b"x"]


def test_an_unreachable_party_is_away_until_the_next_call(clock):
    activity = Activity(clock)
    connection = activity.watch("north", Away())
    with pytest.raises(PartyUnavailable):
        list(connection.call("Answer", [b""]))
    assert only(activity).doing == AWAY
    shown = StringIO()
    Console(file=shown, width=100).print(parties(activity))
    assert "north" in shown.getvalue()
    assert "away" in shown.getvalue()


def test_an_abandoned_call_ends(clock):
    activity = Activity(clock)
    replies = activity.watch("north", Echo()).call("Open", [b"a", b"b"])
    next(replies)
    replies.close()
    assert only(activity).doing == IDLE


def test_writes_progress_after_every_step_and_every_few_seconds(clock):
    activity, lines = Activity(clock), []
    activity.watch("north", Echo())
    with progress_lines(lines.append, activity, every_s=0.01) as report:
        report(Progress("scores", (), 2, 0.25))
        wait_until(lambda: len(lines) >= 4)
    first, *_, last = map(json.loads, lines)
    assert {"event": "progress", "step": "scores", "round": 2, "spent": 0.25}.items() <= last.items()
    assert last["parties"][0]["party"] == "north"
    assert first["step"] in ("starting", "scores")


def test_the_display_shows_the_step_and_every_party(clock):
    activity, shown = Activity(clock), StringIO()
    activity.watch("north", Echo())
    console = Console(file=shown, force_terminal=True, width=100)
    with progress_bar(console, activity) as report:
        report(Progress("round", ("a", "b"), 3, 0.5))
    assert "round 3: a x b" in shown.getvalue()
    assert "north" in shown.getvalue()


def test_shows_nothing_without_a_terminal(clock):
    shown = StringIO()
    with progress_bar(Console(file=shown), Activity(clock)) as report:
        report(Progress("round", ("a", "b"), 3, 0.5))
    assert shown.getvalue() == ""
