"""Columns that no model holds: identifiers, drawn anew, others computed in the end, and text, dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from .attribute import Attribute, check_name, check_pattern, even_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIELD = re.compile(r"\{:(0?)([0-9]{0,2})([dx])\}")
NETWORK = "10.{:d}.{:d}.{:d}"
"""The pattern of addresses of the internet, of a network that is nobody's: each number counts to 255."""

_PATTERN = re.compile(
    rf"[^{{}}]*{_FIELD.pattern}[^{{}}]*|[^{{}}]*(\{{:0[0-9]{{1,2}}d\}}[^{{}}]*){{2,9}}|{re.escape(NETWORK)}"
)

WHOLE_NUMBERS = "{:d}"
"""The pattern of names that are the numbers themselves."""

UUIDS = "00000000-0000-4000-8000-{:012d}"
"""The pattern of names in the form of a UUID of version 4, which no generator draws."""

UUID = re.compile(r"[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
"""The form of a UUID."""


@dataclass(frozen=True)
class Identifier:
    """A column that names each record; synthetic rows get new names.

    Attributes:
        name: name of the column.
        pattern: a name with the number of the row in it, such as `P-{:06d}`, in hexadecimal digits as
            `{:08x}`, or with its digits in several places, as `{:03d}-{:02d}-{:04d}`.
        empty: share of the rows without a name.
    """

    name: str
    pattern: str
    empty: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.name)
        check_pattern(self.pattern)
        if not _PATTERN.fullmatch(self.pattern):
            raise DataError(
                f"attribute {self.name!r}: expected a pattern with one number, such as P-{{:06d}}, or with "
                "several of stated lengths, such as {:03d}-{:04d}; fix the domain"
            )
        if self.empty and (self.pattern == WHOLE_NUMBERS or not 0 < self.empty < 1):
            raise DataError(
                f"attribute {self.name!r}: empty is a share above 0 and below 1 of the rows, of names that "
                "are texts; fix the domain"
            )

    def draw(self, rows: int, first: int = 1) -> NDArray[Any]:
        """New names, shape (rows,), None where there is none; the numbers themselves for `WHOLE_NUMBERS`.

        Rows without a name are spread evenly, whatever the rows hold.

        Args:
            rows: how many.
            first: number of the first.
        """
        if self.pattern == WHOLE_NUMBERS:
            return np.arange(first, first + rows, dtype=np.int64)
        names = np.array([self._name(number) for number in range(first, first + rows)], dtype=object)
        names[even_places(first - 1, rows) >= 1 - self.empty] = None
        return names

    def numbers_in(self, names: Iterable[Any]) -> NDArray[np.int64]:
        """The numbers in names as `draw` makes them, shape (names,).

        Raises:
            ValueError: one is no such name.
        """
        between = [re.escape(part) for part in _FIELD.sub("\0", self.pattern).split("\0")]
        digits, base = ("[ 0-9]+", 10) if "d}" in self.pattern else ("[0-9a-f]+", 16)
        written = re.compile(f"({digits})".join(between))
        found = []
        for name in names:
            match = written.fullmatch(str(name))
            if match is None:
                raise ValueError("expected a name in the pattern")
            widths = [int(field[2] or 0) for field in _FIELD.finditer(self.pattern)]
            numbers = [int(part, base) for part in match.groups()]
            for width, part in zip(widths[1:], numbers[1:], strict=True):
                numbers[0] = numbers[0] * _ends(width) + part
            found.append(numbers[0])
        return np.array(found, dtype=np.int64)

    def _name(self, number: int) -> str:
        widths = [int(field[2] or 0) for field in _FIELD.finditer(self.pattern)]
        if len(widths) == 1:
            return self.pattern.format(number)
        parts = []
        for width in widths[:0:-1]:
            number, part = divmod(number, _ends(width))
            parts.append(part)
        return self.pattern.format(number, *reversed(parts))

    def to_json(self) -> dict[str, Any]:
        """The entry in a domain file."""
        return {"type": "identifier", "pattern": self.pattern} | ({"empty": self.empty} if self.empty else {})


@dataclass(frozen=True)
class Dropped:
    """A column that no release holds, such as free text."""

    name: str

    def to_json(self) -> dict[str, Any]:
        """The entry in a domain file."""
        return {"type": "text", "drop": True}


@dataclass(frozen=True)
class Computed:
    """A column that follows from others, and is computed when all rows are drawn.

    Attributes:
        attribute: how its values are written, as if a model held it.
        formula: an expression in SQL; see `curator.results.columns.formulas`.
        measured: whether a model holds it, too, and the expression names the value that is drawn.
    """

    attribute: Attribute
    formula: str
    measured: bool = False

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.attribute.name

    def to_json(self) -> dict[str, Any]:
        """The entry in a domain file."""
        found = self.attribute.to_json()
        if isinstance(found, int):
            found = {"type": "codes", "n": found}
        elif isinstance(found, list):
            found = {"type": "categorical", "categories": found}
        return {**found, "computed": self.formula} | ({"measured": True} if self.measured else {})


Unmodelled = Identifier | Dropped | Computed

_RUN, _HEX = re.compile("[0-9]+"), re.compile("(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8,64}")
_TIME = re.compile("[0-9]:[0-9]{2}|[0-9]{4}([-/.])[0-9]{2}[-/.][0-9]{2}")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
"""The form of an address."""

_ADDRESS = re.compile(r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.|$)){4}")

EMAILS = "user{:06d}@example.com"
"""The pattern of addresses, of a domain that is nobody's."""

_MOST_FIELDS, _LONGEST_RUN = 9, 99

_OF_ONE_LENGTH = 0.95
"""Numbers without zeros in front have a length if so many of them have it."""


def _ends(width: int) -> int:
    """How far one of several numbers in a name counts, of so many digits, or without a length."""
    return 10**width if width else 256


def pattern_by_name(name: str) -> str:
    """The pattern of names that have none in common, by the name of their column."""
    return re.sub(r"[{}]", "", name) + "-{:06d}"


def pattern_of_last(name: str) -> str:
    """The pattern in which the last number of a name counts, by how many digits it has; empty if it has none.

    A number without a zero in front is written as `{:6d}`.
    """
    if UUID.fullmatch(name):
        return UUIDS
    if EMAIL.fullmatch(name):
        return EMAILS
    if _ADDRESS.fullmatch(name):
        return NETWORK
    if _HEX.fullmatch(name):
        return f"{{:0{len(name)}x}}"
    runs = list(_RUN.finditer(name)) if not set("{}") & set(name) else []
    if not runs or len(runs[-1][0]) > _LONGEST_RUN:
        return ""
    begin, end = runs[-1].span()
    zero = "0" if name[begin] == "0" else ""
    return f"{name[:begin]}{{:{zero}{end - begin}d}}{name[end:]}"


def pattern_of_all(name: str) -> str:
    """The pattern in which all digits of a name with several numbers count; empty if it has not several.

    Dates and times of day that nothing else reads are no names: theirs would be of no day.
    """
    runs = [] if _TIME.search(name) else _RUN.findall(name)
    several = 2 <= len(runs) <= _MOST_FIELDS and not set("{}") & set(name)
    return _RUN.sub(lambda run: f"{{:0{len(run[0])}d}}", name) if several else ""


def common_pattern(rows: Mapping[str, float], least: float) -> str | None:
    """The pattern that most names have; None if fewer have one.

    Args:
        rows: of each pattern, as `pattern_of_last` or `pattern_of_all` gives it.
        least: so many rows have to have it.
    """
    around: dict[str, dict[tuple[str, str], float]] = {}
    for pattern, count in rows.items():
        fields = list(_FIELD.finditer(pattern))
        counted = len(fields) == 1 and fields[0][3] == "d" and pattern != UUIDS and pattern != EMAILS
        key = _FIELD.sub("{}", pattern) if counted else pattern
        widths = (fields[0][1], fields[0][2]) if counted else ("", "")
        around.setdefault(key, {})[widths] = around.get(key, {}).get(widths, 0.0) + count
    if not around:
        return None
    best = max(around, key=lambda key: sum(around[key].values()))
    together = sum(around[best].values())
    if together < least:
        return None
    if "{}" not in best:
        return best
    lengths: dict[str, float] = {}
    for (_, width), count in around[best].items():
        lengths[width] = lengths.get(width, 0.0) + count
    width = max(lengths, key=lambda one: lengths[one])
    padded = any(zero for zero, _ in around[best]) or lengths[width] >= _OF_ONE_LENGTH * together
    return best.replace("{}", f"{{:0{width}d}}" if padded else "{:d}")
