"""Every binding of the product, found in its code and in honest releases, and the product without one of them."""

import ast
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dpmosaic
from dpmosaic.common.binding import Binding
from support.adversary.scenarios import scenarios
from support.adversary.watching import Watch

ROOT = Path(dpmosaic.__file__).resolve().parent
ROOMS = ("common", "party", "curator")


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

    def is_at(self, frame):
        """Whether a frame is in this call."""
        path = Path(frame.f_code.co_filename).resolve()
        return path == ROOT / self.path and self.first <= frame.f_lineno <= self.last


def sites():
    """All calls of `Binding.use` in the product."""
    name = Binding.use.__name__
    found = []
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        text = path.read_text()
        if f".{name}(" in text:
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            found += [
                Site(path.relative_to(ROOT).as_posix(), call.lineno, call.end_lineno)
                for call in calls
                if isinstance(call.func, ast.Attribute) and call.func.attr == name
            ]
    return sorted(found)


def plain(kind):
    """A kind of use without the name of a party or dealer."""
    return re.sub(r" from .*", " from another", kind)


@cache
def bindings():
    """The site and the kind of every binding of the honest releases of all scenarios."""
    known, found, use = sites(), set(), Binding.use

    def noted(binding, kind, *rest):
        caller = sys._getframe(1)
        found.update((site, plain(kind)) for site in known if site.is_at(caller))
        return use(binding, kind, *rest)

    Binding.use = noted
    try:
        for scenario in scenarios():
            scenario.release(scenario.world(Watch()))
    finally:
        Binding.use = use
    return sorted(found)


def removed(monkeypatch, site, kind):
    """The product without one binding."""
    use = Binding.use

    def other(binding, asked, *rest):
        if plain(asked) == kind and site.is_at(sys._getframe(1)):
            return None
        return use(binding, asked, *rest)

    monkeypatch.setattr(Binding, "use", other)
