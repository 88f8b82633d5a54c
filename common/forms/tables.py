"""Forms of tables with named keys, and of whole files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import DataError
from .form import Fault, Form, came
from .nearest import hint
from .values import Anything

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Key:
    """One key of a table.

    Attributes:
        form: of its value.
        about: what it is, for people; editors show it.
        required: whether the table needs it.
    """

    form: Form
    about: str = ""
    required: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value."""
        return self.form.schema() | ({"description": self.about} if self.about else {})


@dataclass(frozen=True)
class Cases:
    """Keys whose form depends on another key's text.

    Attributes:
        key: that key.
        default: its text where it is left out.
        keys: by its text, the keys and their forms.
    """

    key: str
    default: str
    keys: Mapping[str, Mapping[str, Key]]


@dataclass(frozen=True)
class Table(Form):
    """A table with known keys; a misspelt key must not leave a limit open or shut unnoticed.

    Attributes:
        keys: key -> form, in the order in which people read them.
        cases: further keys that depend on one of them; None for none.
    """

    keys: Mapping[str, Key]
    cases: Cases | None = field(default=None)

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return "a table of keys and values"

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return not list(self.faults(value))

    def faults(self, value: object) -> Iterator[Fault]:
        """Unknown keys with the nearest known one, missing keys, then the faults of the values."""
        if not isinstance(value, Mapping):
            yield Fault((), f"expected {self.words}, got {came(value)}")
            return
        keys = self._keys_for(value)
        for name in value:
            if name not in keys:
                known = ", ".join(keys) or "no key"
                yield Fault((str(name),), f"unknown key{hint(str(name), keys)}; it has {known}")
        for name, key in keys.items():
            if name in value:
                for fault in key.form.faults(value[name]):
                    yield fault.inside(name)
            elif key.required:
                yield Fault((name,), f"expected {key.form.words}, found nothing")

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        names = dict(self.keys)
        form: dict[str, Any] = {
            "type": "object",
            "properties": {name: key.schema() for name, key in names.items()},
            "required": [name for name, key in names.items() if key.required],
            "additionalProperties": False,
        }
        if self.cases is None:
            return form
        others = dict.fromkeys(name for keys in self.cases.keys.values() for name in keys)
        form["properties"] |= {name: {} for name in others}
        form["allOf"] = [_case(self.cases, text) for text in self.cases.keys]
        return form

    def _keys_for(self, value: Mapping[str, Any]) -> Mapping[str, Key]:
        """The keys that a table may have, given what it says."""
        if self.cases is None:
            return self.keys
        text = value.get(self.cases.key, self.cases.default)
        # Where the text itself is at fault, the keys that depend on it are not judged.
        known = self.cases.keys.get(text) if isinstance(text, str) else None
        others = {name: Key(Anything()) for keys in self.cases.keys.values() for name in keys}
        return {**self.keys, **(others if known is None else known)}


@dataclass(frozen=True)
class MapOf(Form):
    """A table whose keys are names that somebody chooses.

    Attributes:
        form: of every value.
        like: what the table is, in words.
        some: whether it needs an entry.
    """

    form: Form
    like: str = "a table"
    some: bool = False

    @property
    def words(self) -> str:
        """See `Form.words`."""
        return self.like

    def fits(self, value: object) -> bool:
        """See `Form.fits`."""
        return not list(self.faults(value))

    def faults(self, value: object) -> Iterator[Fault]:
        """The faults of the values, by their keys."""
        if not isinstance(value, Mapping) or (self.some and not value):
            got = "an empty one" if isinstance(value, Mapping) else came(value)
            yield Fault((), f"expected {self.words}, got {got}")
            return
        for name, entry in value.items():
            for fault in self.form.faults(entry):
                yield fault.inside(str(name))

    def schema(self) -> dict[str, Any]:
        """See `Form.schema`."""
        least = {"minProperties": 1} if self.some else {}
        return {"type": "object", "additionalProperties": self.form.schema(), **least}


def check_file(name: str, form: Form, content: object) -> None:
    """Refuses a TOML file that is not of its form.

    Args:
        name: what to call the file.
        form: of its sections.
        content: its sections.

    Raises:
        DataError: names the first fault's key and section, what was expected, and what came.
    """
    for fault in form.faults(content):
        raise DataError(f"{name}: {_place(fault.path)}: {fault.reason}; fix it")


def file_schema(title: str, form: Form) -> dict[str, Any]:
    """The JSON schema of a whole file.

    Args:
        title: what the file is.
        form: of its content.
    """
    return {"$schema": _DRAFT, "title": title, **form.schema()}


def _place(path: tuple[str, ...]) -> str:
    """Where a fault is: `key in [section]`, `key in [section] 2` of a repeated one, or the section alone."""
    section, *keys = path or ("file",)
    place = f"[{section}]"
    if keys and keys[0].isdigit():
        place = f"{place} {keys.pop(0)}"
    return f"{' '.join(keys)} in {place}" if keys else place


def _case(cases: Cases, text: str) -> dict[str, Any]:
    """The keys of one case; those of other cases are refused in it."""
    condition: dict[str, Any] = {"properties": {cases.key: {"const": text}}}
    if text != cases.default:
        condition["required"] = [cases.key]
    others = dict.fromkeys(name for keys in cases.keys.values() for name in keys)
    allowed = cases.keys[text]
    keys = {name: allowed[name].schema() if name in allowed else False for name in others}
    required = [name for name, key in allowed.items() if key.required]
    return {"if": condition, "then": {"properties": keys, "required": required}}
