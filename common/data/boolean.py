"""Attributes of yes and no."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .attribute import Attribute, Reading, check_name
from .values import RawColumn, read_texts, text_of

Spelling = str | int | float | bool

FALSE, TRUE = ("false", "False", "FALSE"), ("true", "True", "TRUE")
"""How false and true are written if the domain does not say; the first is JSON."""


@dataclass(frozen=True)
class BooleanAttribute(Attribute):
    """A column of booleans: code 0 is false, 1 is true, 2 a missing value.

    Attributes:
        name: name of the column.
        nullable: whether there is a code for a missing value.
        false: texts or numbers that are false, beside booleans themselves; empty for `FALSE`.
        true: those that are true; empty for `TRUE`.
        reviewed: see `Attribute`.
    """

    name: str
    nullable: bool = False
    false: tuple[Spelling, ...] = ()
    true: tuple[Spelling, ...] = ()
    reviewed: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        if not all(isinstance(flag, bool) for flag in (self.nullable, self.reviewed)):
            raise DataError(
                f"attribute {self.name!r}: nullable and reviewed are true or false; fix the domain"
            )
        given = (*self.false, *self.true)
        if bool(self.false) is not bool(self.true) or not all(isinstance(v, Spelling) for v in given):
            raise DataError(
                f"attribute {self.name!r}: expected how true and how false are written, both as lists of texts "
                "or numbers, or neither; fix the domain"
            )
        texts = list(map(text_of, given))
        if len(set(texts)) < len(texts) or "" in texts:
            raise DataError(
                f"attribute {self.name!r}: expected each way to write true or false once, and none empty; fix "
                "the domain"
            )

    @property
    def size(self) -> int:
        """Two, plus one for a missing value if nullable."""
        return 2 + int(self.nullable)

    def read(self, values: RawColumn) -> Reading:
        """0 for false, 1 for true, 2 for a missing value."""
        texts, position = read_texts(self.name, values)
        codes = np.array([self._codes.get(text, -1) for text in texts], dtype=np.int64)[position]
        empty = np.array([text == "" for text in texts], dtype=np.bool_)[position]
        codes[empty] = 2
        reasons = {
            "unlisted": (
                codes < 0,
                "expected true or false, as the domain writes them, found another value; fix the row, or add "
                'it to "true" or "false" in the domain',
            )
        }
        if not self.nullable:
            reasons["empty"] = (
                empty,
                "expected true or false, found a missing value; declare the attribute nullable or fix the row",
            )
        return Reading(codes, {"missing": empty & self.nullable}, reasons)

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[Any]:
        """Booleans, as objects with None for a missing value if nullable."""
        return np.array([False, True, None] if self.nullable else [False, True])[codes]

    def spelled(self, values: NDArray[Any]) -> NDArray[Any]:
        """Decoded values as the domain writes them first; None if missing."""
        if not self.true:
            return values
        written = {False: self.false[0], True: self.true[0]}
        return np.array([written.get(value) for value in values.tolist()], dtype=object)

    def to_json(self) -> dict[str, Any]:
        """Spellings and flags; the spellings only where the domain says them."""
        form: dict[str, Any] = {"type": "boolean", "nullable": self.nullable}
        form |= {"true": list(self.true), "false": list(self.false)} if self.true else {}
        return form | ({} if self.reviewed else {"reviewed": False})

    def with_absent(self) -> BooleanAttribute:
        """The same codes and an empty cell."""
        if self.nullable:
            raise DataError(
                f"attribute {self.name!r}: its missing values could not be told from people whom its party "
                'does not have; declare categories, or choose population = "everywhere"'
            )
        return replace(self, nullable=True)

    @cached_property
    def _codes(self) -> dict[str, int]:
        false, true = self.false or FALSE, self.true or TRUE
        return {"false": 0, "true": 1} | {text_of(v): 0 for v in false} | {text_of(v): 1 for v in true}
