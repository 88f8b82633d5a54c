"""What is shown to people: no text of others moves a terminal's cursor, hides or turns what stands there.

Commands print by `telling` and by the tables of `terminal`; errors and warnings pass `Shown`; pages
pass `visible`. Nothing else prints.
"""

from __future__ import annotations

from typing import Any

_ERROR_LENGTH = 4000
"""Characters of an error: a name in it may be as long as a file."""


def printable(text: str) -> str:
    r"""The text with every character escaped that a terminal would obey or hide, such as `\x1b`.

    Escaped are control characters, line breaks, marks of writing direction, invisible and unassigned
    characters.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def printable_lines(text: str) -> str:
    """A text of several lines, each as `printable` gives it."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def visible(value: Any) -> Any:
    """What a page shows of a value: the lines of a text as `printable` gives them; markup as it is."""
    return printable_lines(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


class Shown:
    """An error or a warning: wherever its text is shown, it is printable, and only so much of it."""

    def __str__(self) -> str:
        text = printable_lines(super().__str__())
        return text if len(text) <= _ERROR_LENGTH else f"{text[:_ERROR_LENGTH]} ..."
