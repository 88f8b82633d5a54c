"""Every binding of the product, as its code has them, and the product without one of them."""

import ast
import sys
import threading
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

import dpmosaic
from dpmosaic.common.dealing.peers import Peers
from dpmosaic.common.promises.binding import Binding
from dpmosaic.party.accounts.accepted import LedgerBindings
from support.adversary.scenarios import CLOSING, scenarios, script
from support.adversary.watching import Watch

ROOT = Path(dpmosaic.__file__).resolve().parent
ROOMS = ("common", "party", "curator")
BINDS = Binding.use.__name__
OF_DROPOUTS = "party/answerers/masked/dropouts.py"
"""Its bindings hold what parties agreed on of others, not what hides rows: see `test_dropouts.py`."""


@cache
def resolved(file):
    """The path of a file; asked at every call of the product that binds."""
    return Path(file).resolve()


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
        return self.first <= frame.f_lineno <= self.last and self._file == resolved(frame.f_code.co_filename)

    @cached_property
    def _file(self):
        return ROOT / self.path


def sites():
    """All calls of `Binding.use` in the product."""
    found = []
    paths = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    for path in (path for path in paths if path != ROOT / OF_DROPOUTS):
        text = path.read_text()
        if f".{BINDS}(" in text:
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            found += [
                Site(path.relative_to(ROOT).as_posix(), call.lineno, call.end_lineno)
                for call in calls
                if isinstance(call.func, ast.Attribute) and call.func.attr == BINDS
            ]
    return sorted(found)


def kind_of(what):
    """The kind of a message by its labels; dealers name theirs in the second one."""
    return " ".join(what[: 1 + (what[0] == "dealt")])


@cache
def uses():
    """Every site, and every kind of message that a role takes -> the scenarios that use it.

    Each of their steps is taken twice.
    """
    known, use, received = sites(), Binding.use, Peers._unseal_and_bind
    found, kinds = {site: {} for site in known}, {}
    with pytest.MonkeyPatch.context() as patched, Watch().installed(patched) as watch:
        for scenario in scenarios():

            def noted(binding, *given, scenario=scenario):
                caller = sys._getframe(1)
                for site in (site for site in known if site.is_at(caller)):
                    found[site][scenario] = None
                return use(binding, *given)

            def taken(peers, sender, what, payload, scenario=scenario):
                kinds.setdefault(kind_of(what), {})[scenario] = None
                return received(peers, sender, what, payload)

            patched.setattr(Binding, "use", noted)
            patched.setattr(Peers, "_unseal_and_bind", taken)
            world = scenario.world(watch)
            for step in (step for step in 2 * script(scenario) if step.method not in CLOSING):
                step.take(world)
    return tuple({one: tuple(some) for one, some in sorted(by.items())} for by in (found, kinds))


def bindings():
    """Every site -> the scenarios that use it."""
    return uses()[0]


def kinds():
    """Every kind of message that a role takes from another -> the scenarios in which it does."""
    return uses()[1]


def unbound(monkeypatch):
    """The product whose roles take any number of messages of each kind, each in place of the one before.

    Installed below what watches, so that it sees what is taken.
    """
    use, received = Binding.use, Peers.digest_received
    latest, now = {}, threading.local()
    take = Peers._unseal_and_bind

    def taken(peers, sender, what, payload):
        now.free = True
        try:
            yield from take(peers, sender, what, payload)
        finally:
            now.free = False

    def used(binding, name, of, digest):
        if getattr(now, "free", False):
            latest[id(binding._store), name, of] = digest
            return
        use(binding, name, of, digest)

    def told(peers, sender, what):
        name = id(peers._binding._store), *peers._use(sender, what)
        return latest.get(name) or received(peers, sender, what)

    monkeypatch.setattr(Peers, "_unseal_and_bind", taken)
    monkeypatch.setattr(Peers, "digest_received", told)
    monkeypatch.setattr(Binding, "use", used)


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
