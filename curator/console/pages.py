"""The pages of a curator's console: one page that shows everything, and a button for each operation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from ...common.console.gate import Gate
from ...common.console.site import Site, form_of
from ...common.errors import DataError
from ...common.processes.stopping import Stop
from ..parties.home import CuratorHome
from ..releasing.planning.plan import ReleasePlan
from .operations import Operation, Operations, Shown
from .overview import ABANDONED, FINISHED, NOTHING, OPEN, members, rounds_of, state_of

PREFLIGHT, FORECAST, RELEASE, RESUME, ABANDON = "preflight", "dry run", "release", "resume", "abandon"
_MAKING = (RELEASE, RESUME)

_TEMPLATES = Path(__file__).parent / "templates"
_LOOK_FOR_CHANGES_S, _BEATS = 0.5, 20
"""Seconds between two looks for a change, and looks after which silence is broken."""

_MOST_DIGITS = 20
"""Digits of a version; Python does not read thousands of them."""


@dataclass(frozen=True)
class Place:
    """What a console is about.

    Attributes:
        plan: the plan, a TOML file.
        out: folder of the results.
        home: folder of the curator.
    """

    plan: Path
    out: Path
    home: Path

    def arguments(self, operation: str) -> list[str]:
        """The arguments of the command of an operation."""
        plan, out, home = str(self.plan), str(self.out), ("--home", str(self.home))
        return {
            PREFLIGHT: ["curator", "preflight", plan, *home, "--json"],
            FORECAST: ["curator", "release", plan, *home, "--dry-run", "--json"],
            RELEASE: ["curator", "release", plan, *home, "--out", out, "--json"],
            RESUME: ["curator", "resume", out, "--json"],
            ABANDON: ["curator", "abandon", out],
        }[operation]


@dataclass(frozen=True)
class CuratorPages:
    """Answers the requests of a curator's console.

    Attributes:
        place: what it is about.
        operations: runs the commands.
        site: renders the pages.
        stop: ends the console.
    """

    place: Place
    operations: Operations
    site: Site
    stop: Stop

    def overview(self, request: Request) -> Response:
        """Everything."""
        plan, shown = ReleasePlan.load(self.place.plan), self.operations.snapshot()
        state = OPEN if shown.running else state_of(self.place.out)
        checks = shown.last[PREFLIGHT].records if PREFLIGHT in shown.last else ()
        making = _making(shown)
        activity = making.progress["parties"] if making and making.progress else ()
        return self.site.page(
            request,
            "curator.html",
            "/",
            plan=plan,
            place=self.place,
            members=members(
                plan,
                CuratorHome.open(self.place.home),
                checks,
                activity,
                running=making is not None and not making.ended,
            ),
            shown=shown,
            state=state,
            allowed=_possible_operations(shown, state),
            checks=checks,
            making=making,
            forecast=_forecast(shown),
            parts=_parts(shown),
            rounds=rounds_of(self.place.out) if state == FINISHED else (),
        )

    def run(self, request: Request) -> Response:
        """Starts an operation."""
        form, shown = form_of(request), self.operations.snapshot()
        name = form.get("operation", "")
        state = OPEN if shown.running else state_of(self.place.out)
        if name not in _possible_operations(shown, state):
            raise DataError(
                "the operation cannot be started now: another one is running, or the release is in another "
                "state; look at the page again"
            )
        if name == ABANDON and form.get("sure") != "yes":
            raise DataError("expected that you tick that the release shall end for good; nothing was changed")
        self.operations.start(name, self.place.arguments(name))
        return self.site.to("/")

    def cancel(self, request: Request) -> Response:
        """Stops the operation that runs; a release can be resumed."""
        self.operations.stop()
        return self.site.to("/")

    async def events(self, request: Request) -> Response:
        """Server-sent events: a message for every change since the page was made."""
        since = request.query_params.get("since", "")
        seen = int(since) if since.isdecimal() and len(since) <= _MOST_DIGITS else 0
        return StreamingResponse(self._changes(seen), media_type="text/event-stream")

    def end(self, request: Request) -> Response:
        """Ends the console, and stops what runs."""
        self.stop.request()
        return self.site.page(request, "ended.html", "")

    async def _changes(self, seen: int) -> AsyncIterator[str]:
        silent = 0
        yield "retry: 2000\n\n"
        while not self.site.gate.ended.is_set():
            await asyncio.sleep(_LOOK_FOR_CHANGES_S)
            version, silent = self.operations.snapshot().version, silent + 1
            if version != seen:
                seen, silent = version, 0
                yield f"data: {version}\n\n"
            elif silent >= _BEATS:
                silent = 0
                yield ": nothing new\n\n"


def curator_pages(place: Place, operations: Operations, gate: Gate, stop: Stop) -> ASGIApp:
    """The console of a curator.

    Args:
        place: what it is about.
        operations: runs the commands.
        gate: secrets of the console.
        stop: ends the console.

    Raises:
        DataError: the plan is invalid, or the folder is not a curator's.
    """
    ReleasePlan.load(place.plan)
    name = CuratorHome.open(place.home).keyring.name
    site = Site(gate, "Curator console", name, {"/": place.plan.name}, _TEMPLATES)
    pages = CuratorPages(place, operations, site, stop)
    return site.app(
        [
            Route("/", pages.overview),
            Route("/run", pages.run, methods=["POST"]),
            Route("/cancel", pages.cancel, methods=["POST"]),
            Route("/events", pages.events),
            Route("/end", pages.end, methods=["POST"]),
        ]
    )


def _possible_operations(shown: Shown, state: str) -> tuple[str, ...]:
    """The operations that can be started."""
    if shown.running:
        return ()
    of_state = {NOTHING: (RELEASE,), OPEN: (RESUME, ABANDON), ABANDONED: (ABANDON,)}
    return (PREFLIGHT, FORECAST, *of_state.get(state, ()))


def _making(shown: Shown) -> Operation | None:
    """The release that runs or ran last; None before one."""
    made = [shown.last[name] for name in _MAKING if name in shown.last]
    return max(made, key=lambda one: one.began) if made else None


def _forecast(shown: Shown) -> Any:
    """What the last dry run printed; None before one, or if it was of an alignment or of parts."""
    found = _dry_run(shown)
    return found if "steps" in found else None


def _parts(shown: Shown) -> Any:
    """The parts of a release of related tables, as the last dry run stated them."""
    return _dry_run(shown).get("parts", ())


def _dry_run(shown: Shown) -> Mapping[str, Any]:
    found = shown.last[FORECAST].records if FORECAST in shown.last else ()
    return found[-1] if found else {}
