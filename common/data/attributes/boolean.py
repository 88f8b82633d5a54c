"""Attributes of yes and no."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..values import RawColumn, text_of
from .attribute import Attribute, Reading, check_missing, check_name
from .categorical import CategoricalAttribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

Spelling = str | int | float | bool


@dataclass(frozen=True)
class BooleanAttribute(Attribute):
    """A column of booleans: code 0 is false, 1 is true, 2 a missing value.

    Attributes:
        name: name of the column.
        nullable: whether there is a code for a missing value.
        false: texts or numbers that are false, beside booleans and their JSON texts; the first is written.
        true: those that are true.
        missing: see `Attribute`.
        reviewed: see `Attribute`.
    """

    name: str
    nullable: bool = False
    false: tuple[Spelling, ...] = ()
    true: tuple[Spelling, ...] = ()
    missing: tuple[str, ...] = field(default=(), kw_only=True)
    reviewed: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_missing(self.name, self.missing)
        if not all(isinstance(flag, bool) for flag in (self.nullable, self.reviewed)):
            raise DataError(
                f"attribute {self.name!r}: nullable and reviewed are true or false; fix the domain"
            )
        false, true = ([text_of(value) for value in listed] for listed in (self.false, self.true))
        if bool(false) is not bool(true) or not all(
            isinstance(v, Spelling) for v in (*self.false, *self.true)
        ):
            raise DataError(
                f"attribute {self.name!r}: expected how true and how false are written, both as lists of "
                "texts or numbers, or neither; fix the domain"
            )
        if len({*false, *true}) < len(false) + len(true) or "" in (*false, *true):
            raise DataError(
                f"attribute {self.name!r}: expected each way to write true or false once, and none empty; "
                "fix the domain"
            )
        if {*false, *true, "false", "true"}.intersection(self.missing):
            raise DataError(
                f"attribute {self.name!r}: a way to write true or false stands among missing too; list it in "
                "one of the two"
            )
        if "true" in false or "false" in true:
            raise DataError(f"attribute {self.name!r}: true is not false; fix the domain")

    @property
    def size(self) -> int:
        """Two, plus one for a missing value if nullable."""
        return 2 + int(self.nullable)

    def read(self, values: RawColumn) -> Reading:
        """0 for false, 1 for true, 2 for a missing value."""
        reading = self.spellings.read(values)
        refused = {key: (rows, _REASONS[key]) for key, (rows, _) in reading.refused.items()}
        return Reading(self._meanings[reading.codes], reading.counted, refused)

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[Any]:
        """Booleans, as objects with None for a missing value if nullable."""
        decoded: NDArray[Any] = np.array([False, True, None] if self.nullable else [False, True])[codes]
        return decoded

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
        form |= {"missing": list(self.missing)} if self.missing else {}
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
    def spellings(self) -> CategoricalAttribute:
        """All that a cell can hold, as categories."""
        given = tuple(v for v in (*self.false, *self.true) if text_of(v) not in ("false", "true"))
        return CategoricalAttribute(
            self.name, (False, True, *given, *([""] if self.nullable else [])), missing=self.missing
        )

    @cached_property
    def _meanings(self) -> NDArray[np.int64]:
        """The code of each of them."""
        true = {"true", *map(text_of, self.true)}
        texts = map(text_of, self.spellings.categories)
        return np.array([int(text in true) if text else 2 for text in texts], dtype=np.int64)


_REASONS = {
    "empty": "expected true or false, found a missing value; declare the attribute nullable or fix the row",
    "unlisted": 'expected true or false, found another value; list it in "true" or "false" or fix the row',
}
