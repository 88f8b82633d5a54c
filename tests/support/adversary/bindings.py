"""Every binding of the product, as its code has them, and the product without one of them."""

import ast
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import dpmosaic
from dpmosaic.common.binding import Binding
from dpmosaic.party.ledger_bindings import LedgerBindings
from support.adversary.scenarios import CLOSING, scenarios, script
from support.adversary.watching import Watch

ROOT = Path(dpmosaic.__file__).resolve().parent
ROOMS = ("common", "party", "curator")
BINDS = Binding.use.__name__


@dataclass(frozen=True, order=True)
class Site:
    """A call that binds.

    Attributes:
        path: file, from the root of the project.
        first: its first line.
        last: its last line.
    """

    path: str
    first: int
    last: int

    def __str__(self):
        return f"{self.path}:{self.first}"

    def is_at(self, frame):
        """Whether a frame is in this call."""
        path = Path(frame.f_code.co_filename).resolve()
        return path == ROOT / self.path and self.first <= frame.f_lineno <= self.last


def sites():
    """All calls of `Binding.use` in the product."""
    found = []
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        text = path.read_text()
        if f".{BINDS}(" in text:
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            found += [
                Site(path.relative_to(ROOT).as_posix(), call.lineno, call.end_lineno)
                for call in calls
                if isinstance(call.func, ast.Attribute) and call.func.attr == BINDS
            ]
    return sorted(found)


@cache
def bindings():
    """Every site -> the scenarios that use it, if each of their steps is taken twice."""
    known, use = sites(), Binding.use
    found = {site: {} for site in known}
    with pytest.MonkeyPatch.context() as patched, Watch().installed(patched) as watch:
        for scenario in scenarios():

            def noted(binding, *given, scenario=scenario):
                caller = sys._getframe(1)
                for site in (site for site in known if site.is_at(caller)):
                    found[site][scenario] = None
                return use(binding, *given)

            patched.setattr(Binding, "use", noted)
            world = scenario.world(watch)
            for step in (step for step in 2 * script(scenario) if step.method not in CLOSING):
                step.take(world)
    return {site: tuple(used) for site, used in found.items()}


def removed(monkeypatch, site):
    """The product without one binding."""
    use = Binding.use

    def other(binding, *given):
        return None if site.is_at(sys._getframe(1)) else use(binding, *given)

    monkeypatch.setattr(Binding, "use", other)


def forgotten(monkeypatch):
    """The product whose parties and dealers keep their bindings only until they are started again."""

    def kept(bindings):
        return bindings.__dict__.setdefault("in memory", {})

    monkeypatch.setattr(
        LedgerBindings, "bind", lambda self, kind, of, digest: kept(self).setdefault((kind, of), digest)
    )
    monkeypatch.setattr(LedgerBindings, "bound", lambda self, kind, of: kept(self).get((kind, of)))
