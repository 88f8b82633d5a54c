"""What somebody who misspelt a name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(text: str, known: Iterable[str]) -> str:
    """`did you mean 'NAME'? ` with the known name that is most like the text; empty if none is like it."""
    near = difflib.get_close_matches(text, list(known), 1)
    return f"did you mean {near[0]!r}? " if near else ""
