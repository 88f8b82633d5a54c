"""Forms of lists, and of values that have one of several forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .form import Fault, Form, came
from .values import Text


@dataclass(frozen=True)
class Either(Form):
    """A value of one of several forms."""

    forms: tuple[Form, ...]

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return " or ".join(form.words for form in self.forms)

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return any(not list(form.faults(value)) for form in self.forms)

    def read(self, text: str) -> object:
        """See `Form.read`."""
        values = (form.read(text) for form in self.forms)
        return next((value for value in values if self.fits(value)), text)

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        return {"anyOf": [form.schema() for form in self.forms]}


@dataclass(frozen=True)
class ListOf(Form):
    """A list.

    Attributes:
        form: of its entries.
        some: whether it needs an entry.
        like: what the list is, in words.
    """

    form: Form
    some: bool = False
    like: str = "a list"

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return self.like + (" that is not empty" if self.some else "")

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return not list(self.faults(value))

    def faults(self, value: object) -> Iterator[Fault]:
        """The faults of the entries, by their places."""
        if not isinstance(value, (list, tuple)) or (self.some and not value):
            got = "an empty one" if isinstance(value, (list, tuple)) else came(value)
            yield Fault((), f"expected {self.words}, got {got}")
            return
        if all(map(self.form.fits, value)):
            return
        for place, entry in enumerate(value, start=1):
            for fault in self.form.faults(entry):
                yield fault.inside(str(place))

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        least = {"minItems": 1} if self.some else {}
        return {"type": "array", "items": self.form.schema(), **least}


TEXTS = ListOf(Text(), like="a list of texts")
