"""Text of another institution, made safe to print on a terminal or to write to a log."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with every character escaped that a terminal would obey or hide, such as `\x1b`.

    Escaped are control characters, line breaks, marks of writing direction, invisible and unassigned
    characters.
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
