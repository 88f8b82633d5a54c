"""What somebody who misspelt a name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a text; None if none is like it."""
    return next(iter(difflib.get_close_matches(text, list(known), 1)), None)


def hint(name: object, known: Iterable[str]) -> str:
    """` (did you mean 'NAME'?)` with the nearest name, to follow what stands for one; empty without one."""
    found = nearest(str(name), known)
    return "" if found is None else f" (did you mean {str(found)!r}?)"
