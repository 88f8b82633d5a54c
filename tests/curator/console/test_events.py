"""The events of a curator's console: a message for every change, a sign of life in silence, and an end."""

from types import SimpleNamespace

import pytest

from dpmosaic.common.console.gate import Gate
from dpmosaic.curator.console import pages
from dpmosaic.curator.console.operations import Shown
from dpmosaic.curator.console.pages import CuratorPages

pytestmark = pytest.mark.asyncio


class Stream:
    """Events since a version; `version` is that of the operations now."""

    def __init__(self, since):
        self.version, self.gate = 0, Gate()
        operations = SimpleNamespace(snapshot=lambda: Shown(self.version))
        self.pages = CuratorPages(None, operations, SimpleNamespace(gate=self.gate), None)
        self.request = SimpleNamespace(query_params={"since": since} if since is not None else {})

    async def open(self):
        """The events, after the first, which says how soon a browser asks again."""
        reply = await self.pages.events(self.request)
        assert reply.media_type == "text/event-stream"
        events = aiter(reply.body_iterator)
        assert await anext(events) == "retry: 2000\n\n"
        return events


@pytest.fixture
def stream(monkeypatch):
    monkeypatch.setattr(pages, "_LOOK_FOR_CHANGES_S", 0)
    return Stream


async def test_every_version_is_told_once(stream):
    told = stream("0")
    events = await told.open()
    for version in (1, 2, 5):
        told.version = version
        assert await anext(events) == f"data: {version}\n\n"


@pytest.mark.parametrize("since", ["3", None, "", "-1", "x", "\u00b2", "9" * 5000])
async def test_a_page_that_is_behind_or_says_no_version_is_told_at_once(stream, since):
    told = stream(since)
    told.version = 4
    assert await anext(await told.open()) == "data: 4\n\n"


async def test_in_silence_a_comment_shows_that_the_console_lives(stream):
    told = stream("7")
    told.version = 7
    events = await told.open()
    assert [await anext(events) for _ in range(3)] == [": nothing new\n\n"] * 3


async def test_the_events_end_with_the_console(stream):
    told = stream("0")
    events = await told.open()
    told.gate.ended.set()
    assert [event async for event in events] == []
