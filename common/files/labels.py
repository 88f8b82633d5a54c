"""What the codes of a column mean, as a file of SPSS, Stata or SAS says: its dictionary, which is public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from ..data.values import compose

Code = int | float | str
"""A number, a text, or of Stata and SAS the letter of a missing value."""

Range = tuple[Code, Code]

_WIDEST = 20
"""Labels that stand apart name points of a scale; the codes between them are answers too, if so few."""


@dataclass(frozen=True)
class Labels:
    """The dictionary of a column.

    Attributes:
        texts: code -> its label, in the order of the file.
        missing: ranges of codes that stand for a missing value: first and last code.
        measure: SPSS's nominal, ordinal or scale; empty if nobody has said so.
        title: what the column is about; may be empty.
    """

    texts: Mapping[Code, str] = field(default_factory=dict)
    missing: tuple[Range, ...] = ()
    measure: str = ""
    title: str = ""

    @cached_property
    def categories(self) -> Mapping[Code, str]:
        """Code -> text of each category, different ones, answers before missing values; empty for numbers.

        Whether a column holds categories follows from its labels alone: at least two answers have one. SPSS's
        measure has no part in it, since programs set it to scale unasked. If no two labels are neighbours, as
        of the ends of a scale from 1 to 7, the whole numbers between them are categories too or, if these are
        many, the column is one of numbers.
        """
        answers = {code: text for code, text in self.texts.items() if not self.is_missing(code)}
        if len(answers) < 2:
            return {}
        whole = [int(code) for code in answers if isinstance(code, (int, float)) and float(code).is_integer()]
        if len(whole) == len(answers) and _stand_apart(whole):
            low, high = min(whole), max(whole)
            if high - low > _WIDEST:
                return {}
            between = {code: str(code) for code in range(low, high + 1)}
            answers = {code: answers.get(code, text) for code, text in between.items()}
        elif len(whole) == len(answers):
            answers = dict(sorted(answers.items(), key=lambda one: float(one[0])))
        rest = {code: text for code, text in self.texts.items() if self.is_missing(code)}
        return _different(answers | rest)

    def is_missing(self, code: Code) -> bool:
        """Whether the file says that a code stands for a missing value."""
        return any(
            isinstance(code, str) == isinstance(low, str) == isinstance(high, str) and low <= code <= high  # type: ignore[operator]
            for low, high in self.missing
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON, in which the codes of an object would be texts."""
        return {
            "texts": [[code, text] for code, text in self.texts.items()],
            "missing": [list(one) for one in self.missing],
            "measure": self.measure,
            "title": self.title,
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Labels:
        """Reads `to_json`; raises ValueError, TypeError or KeyError if it is something else."""
        texts = {_code(code): str(text) for code, text in form["texts"]}
        missing = tuple((_code(low), _code(high)) for low, high in form["missing"])
        return cls(texts, missing, str(form["measure"]), str(form["title"]))


def listed_categories(labels: Mapping[str, Labels]) -> dict[str, tuple[str, ...]]:
    """The categories of the columns that their dictionary describes."""
    return {name: tuple(one.categories.values()) for name, one in labels.items() if one.categories}


def _code(given: Any) -> Code:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise ValueError("expected a number or a text")
    return given


def _stand_apart(codes: Iterable[int]) -> bool:
    ordered = sorted(codes)
    return all(after - before > 1 for before, after in pairwise(ordered))


def _different(texts: Mapping[Code, str]) -> dict[Code, str]:
    """The texts without blanks around them; one that is empty or comes again says its code too."""
    found: dict[Code, str] = {}
    taken: set[str] = set()
    for code, text in texts.items():
        written = f"{code:g}" if isinstance(code, float) else str(code)
        named = compose(text.strip()) or written
        while named in taken:
            named = f"{named} ({written})"
        taken.add(named)
        found[code] = named
    return found
