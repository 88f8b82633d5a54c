"""Forms of single values."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from .form import Fault, Form, came
from .nearest import hint


@dataclass(frozen=True)
class Number(Form):
    """A finite number in a range.

    Attributes:
        least: smallest value.
        above: a bound that it exceeds.
        most: largest value.
        below: a bound that it stays under.
        whole: whether it is a whole number.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    whole: bool = False

    @property
    def words(self) -> str:
        """See `Form.words`."""
        bounds = (
            ("of at least", self.least),
            ("above", self.above),
            ("at most", self.most),
            ("below", self.below),
        )
        said = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        return ("a whole number" if self.whole else "a number") + (f" {said}" if said else "")

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral if self.whole else numbers.Real):
            return False
        try:
            value = float(value)
        except OverflowError:
            return False
        return math.isfinite(value) and not (
            (self.least is not None and value < self.least)
            or (self.above is not None and value <= self.above)
            or (self.most is not None and value > self.most)
            or (self.below is not None and value >= self.below)
        )

    def read(self, text: str) -> object:
        """See `Form.read`."""
        try:
            return int(text) if self.whole else float(text)
        except ValueError:
            return text

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        bounds = {
            "minimum": self.least,
            "exclusiveMinimum": self.above,
            "maximum": self.most,
            "exclusiveMaximum": self.below,
        }
        kind = {"type": "integer" if self.whole else "number"}
        return kind | {name: bound for name, bound in bounds.items() if bound is not None}


def whole(least: int | None = None, most: int | None = None) -> Number:
    """A whole number of at least `least` and at most `most`."""
    return Number(least=least, most=most, whole=True)


SHARE = Number(above=0, below=1)
"""A part of a whole, such as of a budget."""

POSITIVE = Number(above=0)


@dataclass(frozen=True)
class Text(Form):
    """A text.

    Attributes:
        pattern: a regular expression for the whole text; empty for any text.
        like: what the pattern asks for, in words.
    """

    pattern: str = ""
    like: str = "a text"

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return self.like

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return isinstance(value, str) and (not self.pattern or re.fullmatch(self.pattern, value) is not None)

    def faults(self, value: object) -> Iterator[Fault]:
        """A fault does not repeat the text, which may be a secret."""
        if not self.fits(value):
            got = "another text" if isinstance(value, str) else came(value)
            yield Fault((), f"expected {self.words}, got {got}")

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"type": "string"} | ({"pattern": f"^(?:{self.pattern})$"} if self.pattern else {})


@dataclass(frozen=True)
class Choice(Form):
    """One of some texts."""

    texts: tuple[str, ...]

    @property
    def words(self) -> str:
        """See `Form.words`."""
        if len(self.texts) > 2:
            return f"one of {', '.join(self.texts)}"
        return " or ".join(self.texts) or "none"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return isinstance(value, str) and value in self.texts

    def faults(self, value: object) -> Iterator[Fault]:
        """A fault names the nearest text."""
        if not self.fits(value):
            got = repr(value[:60]) if isinstance(value, str) else came(value)
            near = hint(value, self.texts) if isinstance(value, str) else ""
            yield Fault((), f"expected {self.words}, got {got}{near}")

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"enum": list(self.texts)}


@dataclass(frozen=True)
class Truth(Form):
    """True or false."""

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return "true or false"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return isinstance(value, bool)

    def read(self, text: str) -> object:
        """See `Form.read`."""
        return {"true": True, "false": False}.get(text, text)

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Nothing(Form):
    """No value: `none` as text, since TOML has no word for it."""

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return "none"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return value is None or value == "none"

    def read(self, text: str) -> object:
        """See `Form.read`."""
        return None if text == "none" else text

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"const": "none"}


@dataclass(frozen=True)
class Null(Form):
    """No value: null, in JSON."""

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return "null"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return value is None

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"type": "null"}


@dataclass(frozen=True)
class Scalar(Form):
    """A text, a finite number, true or false."""

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return "a text, a finite number, true or false"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return isinstance(value, (str, bool)) or Number().fits(value)

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True)
class Day(Form):
    """A day, as TOML writes it or as text."""

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return "a day such as 2030-12-31"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        if isinstance(value, str):
            try:
                return value == "" or date.fromisoformat(value).isoformat() == value
            except ValueError:
                return False
        # A TOML time of a day is a day too for Python.
        return type(value) is date

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"type": "string", "pattern": "^([0-9]{4}-[0-9]{2}-[0-9]{2})?$", "format": "date"}


@dataclass(frozen=True)
class Anything(Form):
    """Any value, of which something else judges."""

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return "a value"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return True

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {}
