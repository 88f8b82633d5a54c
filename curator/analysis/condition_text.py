"""The text of a condition, such as `age=30..39,sex=F|M`, as attributes with values and ranges."""

from __future__ import annotations

import re
from typing import Any

from ...common.errors import DataError

_FORM = "expected attributes with values, such as age=30..39,sex=F|M or income='>50K'"

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\.\.|!=|[,|=]|[^,|='".!]+|['".!]""")
"""A quoted text, a mark, or plain text."""


def read_condition(text: str) -> dict[str, Any]:
    """The attributes of a condition and what it says about each.

    Args:
        text: the condition.

    Returns:
        Attribute -> a list of alternatives: a text, None for a missing value, or (low, high) with None at an
        open end; with None at both for all values but a missing one.

    Raises:
        DataError: the text is no condition, or has an attribute twice.
    """
    found: dict[str, Any] = {}
    for clause in _split(_TOKEN.findall(text), ","):
        present = _split(clause, "!=", once=True)
        sides = _split(clause, "=", once=True) if "=" in present[0] or len(present) == 1 else present
        name = _text(sides[0])
        if len(sides) != 2 or not name:
            raise DataError(f"a condition: {_FORM}, got something else; fix it")
        if name in found:
            raise DataError(f"a condition names {name!r} twice; divide alternatives by | as in {name}=...")
        if sides is not present:
            found[name] = [_alternative(name, tokens) for tokens in _split(sides[1], "|")]
        elif _text(sides[1]) is None:
            found[name] = [(None, None)]
        else:
            raise DataError(
                f"a condition on {name!r}: expected nothing after !=, which stands for all values but a "
                "missing one; list the values that rows may have as in sex=F|M"
            )
    return found


def _alternative(name: str, tokens: list[str]) -> Any:
    ends = _split(tokens, "..")
    if len(ends) == 1:
        return _text(ends[0])
    low, high = (_text(end) for end in ends) if len(ends) == 2 else (None, None)
    if low is None and high is None:
        raise DataError(f"a condition on {name!r}: expected a range as 30..39, 30.. or ..39; fix it")
    return low, high


def _split(tokens: list[str], mark: str, once: bool = False) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == mark and not (once and len(parts) == 2):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _text(tokens: list[str]) -> str | None:
    """The text of some tokens; None if there is none."""
    joined = "".join(tokens).strip()
    tokens = [token for token in tokens if token.strip()]
    if len(tokens) == 1 and len(joined) > 1 and joined[0] in "'\"":
        mark = joined[0]
        joined = joined[1:-1].replace(mark * 2, mark)
    elif any(token[0] in "'\"" and (place == 0 or len(token) > 1) for place, token in enumerate(tokens)):
        raise DataError(f"a condition: {_FORM}, got an unpaired quotation mark; double it within quotes")
    return joined or None
