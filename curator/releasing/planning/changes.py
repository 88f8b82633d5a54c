"""What changed in a plan and its files since a release began."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from ....common.bounded import toml_of

_ABSENT = "absent"
_VALUE_LENGTH = 80
_CHANGES_NAMED = 12


def plan_changes(before: str, now: str) -> list[str]:
    """The keys of a plan that have other values; comments and order do not count.

    Args:
        before: text of the plan when the release began.
        now: text of the plan now.

    Returns:
        For each key `KEY in [SECTION]: BEFORE before, NOW now`.
    """
    return differences(toml_of(before), toml_of(now))


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The entries of two nested tables that differ, each with its place and both values.

    Args:
        before: the first table.
        now: the second.
    """
    old, new = dict(_flat(before)), dict(_flat(now))
    return [
        f"{_place(path)}: {_value_text(old, path)} before, {_value_text(new, path)} now"
        for path in dict.fromkeys((*old, *new))
        if path not in old or path not in new or old[path] != new[path]
    ]


def changes_text(changes: list[str]) -> str:
    """Changes as one line, the first of many."""
    more = f"; and {len(changes) - _CHANGES_NAMED} more" if len(changes) > _CHANGES_NAMED else ""
    return "; ".join(changes[:_CHANGES_NAMED]) + more


def _flat(form: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every value with the keys to it; lists of tables are numbered from 1."""
    if isinstance(form, Mapping) and form:
        for key, value in form.items():
            yield from _flat(value, (*path, str(key)))
    elif isinstance(form, list) and any(isinstance(entry, Mapping) for entry in form):
        for number, entry in enumerate(form, start=1):
            yield from _flat(entry, (*path, str(number)))
    else:
        yield path, form


def _place(path: tuple[str, ...]) -> str:
    section, *keys = path
    if keys and keys[0].isdigit():
        section = f"{section} {keys.pop(0)}"
    return f"{'.'.join(keys)} in [{section}]" if keys else section


def _value_text(values: Mapping[tuple[str, ...], object], path: tuple[str, ...]) -> str:
    if path not in values:
        return _ABSENT
    text = json.dumps(values[path], default=date.isoformat, ensure_ascii=False)
    return text if len(text) <= _VALUE_LENGTH else f"{text[: _VALUE_LENGTH - 3]}..."
