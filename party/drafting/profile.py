"""What a column of private rows holds: its different texts and numbers, and how often each occurs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import duckdb
import numpy as np
from numpy.typing import NDArray

from ...common.data.values import NOT_AVAILABLE, number_or_nan
from ...common.errors import DataError
from ...common.forms.notation import LAKHS, PLAIN, Notation, tail_of
from ...common.forms.spelling import Spelling, by_points, has_dash, spelling_of, thousands_in
from ..sources.cells import ZONED, in_utc
from ..sources.source import Queried
from ..sources.sql import as_key, quote

_NUMBER = r"[-+]?(0|[1-9][0-9]*)?([.][0-9]*)?([eE][-+]?[0-9]+)?"
"""A number, without zeros in front: 007 is a code."""

_PLAIN_NUMBER = re.compile(_NUMBER)

_NO_DATE = re.compile(r"0{2,4}[-/.]0{2}[-/.]0{2,4}([ T]00:00(:00)?)?")
_INFINITE = re.compile("[-+]?inf(inity)?", re.IGNORECASE)

_NOTATION_SAMPLE = 10_000
"""Number of texts from which a notation is found."""

FLOATS = ("FLOAT", "DOUBLE")
"""DuckDB's types of numbers that may be infinite."""


@dataclass(frozen=True, eq=False)
class Profile:
    """One column of private rows; nothing of it leaves the owner's machine.

    Attributes:
        name: of the column.
        kind: DuckDB's type.
        rows: number of rows.
        texts: the different cells as texts, without missing values, in the order of their first rows.
        counts: number of rows of each text.
        numbers: the number in each text, NaN where there is none.
        notation: how numbers are written, as in a domain file: `{}`, or such as `{}%`, `${:,}`.
        blanks: texts that are taken as missing values, and occur.
        unread: number of rows of other texts that are left out of `texts`: what the column holds cannot be
            read from them.
        beside: texts that stand beside the numbers, and are left out of `texts`.
        beside_rows: number of rows of these.
    """

    name: str
    kind: str
    rows: int
    texts: NDArray[np.object_]
    counts: NDArray[np.int64]
    numbers: NDArray[np.float64]
    notation: str
    blanks: tuple[str, ...] = ()
    unread: int = 0
    beside: tuple[str, ...] = ()
    beside_rows: int = 0

    @property
    def value_count(self) -> int:
        """Number of rows with a value."""
        return int(self.counts.sum())

    @property
    def nullable(self) -> bool:
        """Whether a row has no value."""
        return self.value_count + self.beside_rows < self.rows

    @property
    def distinct(self) -> int:
        """Number of different values."""
        return len(self.texts)

    @cached_property
    def words(self) -> NDArray[np.object_]:
        """The texts that are no numbers."""
        return self.texts[np.isnan(self.numbers)]

    @cached_property
    def values(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The different numbers, increasing, and the number of rows of each."""
        known = ~np.isnan(self.numbers)
        values, place = np.unique(self.numbers[known], return_inverse=True)
        return values, np.bincount(place, self.counts[known], len(values)).astype(np.int64)

    @property
    def unique(self) -> bool:
        """Whether nearly every row has a value of its own."""
        return self.distinct >= 0.99 * self.value_count > 0

    def rows_of(self, texts: Collection[str]) -> int:
        """Number of rows that hold one of these texts."""
        return int(self.counts[self._among(texts)].sum())

    def without(self, blanks: Collection[str]) -> Profile:
        """The same column, in which these texts are missing values."""
        found = self._among(blanks)
        listed = tuple(sorted({*self.blanks, *self.texts[found]}))
        return replace(self._of(~found), blanks=listed)

    def without_padding(self) -> Profile:
        """The same column without blanks around texts that are more than these; itself if there are none."""
        stripped = [text.strip() or text for text in self.texts]
        if stripped == self.texts.tolist():
            return self
        places = {text: place for place, text in enumerate(dict.fromkeys(stripped))}
        at = [places[text] for text in stripped]
        counts = np.bincount(at, self.counts, len(places)).astype(np.int64)
        texts = np.array([*places], dtype=object)
        numbers = np.array(
            [number_or_nan(text if _PLAIN_NUMBER.fullmatch(text) else "") for text in places],
            dtype=np.float64,
        )
        numbers, notation = _numbers_and_notation(texts, counts, numbers)
        return replace(self, texts=texts, counts=counts, numbers=numbers, notation=notation)

    def with_zeros_in_front(self) -> Profile:
        """The same column of digits of one length, as numbers with zeros in front."""
        numbers = self.texts.astype(np.float64)
        return replace(self, numbers=numbers, notation=f"{{:0{len(self.texts[0])}}}")

    def without_odd(self, texts: Collection[str]) -> Profile:
        """The same column without these texts, which are not listed."""
        found = self._among(texts)
        return replace(self._of(~found), unread=self.unread + int(self.counts[found].sum()))

    def with_beside(self, texts: Collection[str]) -> Profile:
        """The same column of numbers, beside which these texts stand."""
        found = self._among(texts)
        listed = tuple(sorted(self.texts[found]))
        return replace(self._of(~found), beside=listed, beside_rows=int(self.counts[found].sum()))

    def _among(self, texts: Collection[str]) -> NDArray[np.bool_]:
        known = set(texts)
        return np.array([text in known for text in self.texts], dtype=np.bool_)

    def _of(self, kept: NDArray[np.bool_]) -> Profile:
        return replace(self, texts=self.texts[kept], counts=self.counts[kept], numbers=self.numbers[kept])


def is_absent(text: str) -> bool:
    """Whether a text stands for a missing value among numbers, dates or booleans."""
    known = text in NOT_AVAILABLE or text.isspace() or _NO_DATE.fullmatch(text) is not None
    return known or is_infinite(text)


def is_infinite(text: str) -> bool:
    """Whether a text is an infinite number, which stands for a missing value."""
    return _INFINITE.fullmatch(text) is not None


@dataclass(frozen=True)
class Rows:
    """The rows of a file in memory, for queries of many columns.

    Attributes:
        source: the file.
        connection: DuckDB, with the table `rows` of columns c0, c1, ..., in the file's order.
        places: the place of each column that it has, by name.
    """

    source: Queried
    connection: duckdb.DuckDBPyConnection
    places: Mapping[str, int]

    @classmethod
    def of(cls, source: Queried, only: Collection[str] = ()) -> Rows:
        """Reads all rows, of these columns if they are named; instants are in UTC.

        Raises:
            DataError: the file cannot be read, or has no columns or no rows.
        """
        if not source.columns():
            raise DataError(f"{source.name} has no columns; an empty table has nothing to draft from")
        connection = source.connect()
        kinds = source.query(connection, "DESCRIBE file")["column_type"]
        places = {name: k for k, name in enumerate(source.columns()) if not only or name in only}
        columns = {k: in_utc(f"c{k}") if kinds[k] == ZONED else f"c{k}" for k in places.values()}
        named = ", ".join(f"{column} AS c{place}" for place, column in columns.items())
        source.query(connection, f"CREATE TEMP TABLE rows AS SELECT {named} FROM file")
        rows = cls(source, connection, places)
        if not rows.count:
            raise DataError(
                f"{source.name} has no rows, and nothing to draft from; add some, or take it away"
            )
        return rows

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        return int(self.source.query(self.connection, "SELECT count(*) AS n FROM rows")["n"][0])

    def profiles(self, blanks: Collection[str]) -> Iterator[Profile]:
        """What each column holds, in the file's order.

        Args:
            blanks: texts that are missing values.
        """
        kinds = self.source.query(self.connection, "DESCRIBE file")["column_type"]
        for name, place in self.places.items():
            yield self._profile(name, place, str(kinds[place]), blanks)

    def sample(self, count: int, of: str = "") -> dict[str, NDArray[np.object_]]:
        """The cells of about so many rows as texts, by column; None where they are missing.

        Args:
            count: how many, if there are so many.
            of: column of which rows of one value are all taken, or none of them; empty for every n-th row.
        """
        step = max(1, -(-self.count // count))
        drawn = f"hash({as_key(f'c{self.places[of]}')})" if of else "rowid"
        return self._texts([*self.places], f"WHERE {drawn} % {step} = 0")

    def cells_of_keys(self, key: str, keys: NDArray[np.object_]) -> dict[str, NDArray[np.object_]]:
        """The cells of the row of each of these keys as `sample` gives them; None for a key of no row."""
        self.connection.register("keys", {"k": keys, "place": np.arange(len(keys))})
        rows = f"RIGHT JOIN keys ON {as_key(f'c{self.places[key]}')} = {as_key('keys.k')} ORDER BY place"
        return self._texts([name for name in self.places if name != key], rows)

    def _texts(self, names: Sequence[str], which: str) -> dict[str, NDArray[np.object_]]:
        cells = ", ".join(f"c{self.places[name]}::VARCHAR AS c{self.places[name]}" for name in names)
        found = self.source.query(self.connection, f"SELECT {cells} FROM rows {which}")
        return {name: np.array(found[f"c{self.places[name]}"].tolist(), dtype=object) for name in names}

    def _profile(self, name: str, place: int, kind: str, blanks: Collection[str]) -> Profile:
        absent = "nan" if kind in FLOATS else ""
        found = self.source.query(
            self.connection,
            f"SELECT cell, rows, CASE WHEN regexp_full_match(cell, '{_NUMBER}') "
            "AND isfinite(TRY_CAST(cell AS DOUBLE)) THEN TRY_CAST(cell AS DOUBLE) END AS number "
            f"FROM (SELECT c{place}::VARCHAR AS cell, count(*) AS rows FROM rows "
            f"WHERE nullif(c{place}::VARCHAR, {quote(absent)}) IS NOT NULL GROUP BY c{place} "
            "ORDER BY min(rowid))",
        )
        texts = np.ma.getdata(found["cell"]).astype(object)
        numbers = np.ma.filled(found["number"].astype(np.float64), np.nan)
        counts = found["rows"].astype(np.int64)
        read = _numbers_and_notation(texts, counts, numbers)
        return Profile(name, kind, self.count, texts, counts, *read).without(blanks)


def _numbers_and_notation(
    texts: NDArray[np.object_], counts: NDArray[np.int64], numbers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], str]:
    """The numbers in texts and how they are written, where nearly all other texts are in one notation."""
    points = by_points([text for text in texts[:_NOTATION_SAMPLE] if not is_absent(text)])
    odd = np.isnan(numbers) | np.array([points or text.startswith("+") for text in texts], dtype=np.bool_)
    rows = dict(zip(texts[odd].tolist(), counts[odd].tolist(), strict=True))
    others = [text for text in rows if not is_absent(text)]
    if not others:
        return numbers, PLAIN.pattern
    sample = others[:_NOTATION_SAMPLE]
    spelled = [spelling_of(text) for text in sample]
    beside = len(others) < len(texts)
    patterns = _by_magnitudes(spelled, beside) or _as_one(spelled, points, beside)
    found: Counter[str] = Counter()
    for text, pattern in zip(sample, patterns, strict=True):
        if pattern is not None:
            found[pattern] += rows[text]
    # Texts of many rows may stand beside numbers, but not many texts.
    if not found or patterns.count(None) > 0.1 * len(patterns):
        return numbers, PLAIN.pattern
    (written, times), *_ = found.most_common(1)
    if times < 0.9 * found.total():
        return numbers, PLAIN.pattern
    notation = Notation(written)
    # Marks are absent from small numbers; a sign or a unit that few numbers have is not how all are written.
    few = len(others) <= 0.05 * len(texts) and not (notation.has_flags or notation.sign_words)
    if few and (any(notation.around) or notation.sign == "+"):
        return numbers, PLAIN.pattern
    read = np.array([number_or_nan(notation.number_in(text)) for text in texts], dtype=np.float64)
    if np.isnan(read).sum() > np.isnan(numbers).sum():
        return numbers, PLAIN.pattern
    if has_dash(notation.around[1]) and np.any(read != np.floor(read), where=~np.isnan(read)):
        # A dash stands in place of the decimals that others have.
        return numbers, PLAIN.pattern
    return read, notation.pattern


def _by_magnitudes(found: Sequence[Spelling | None], beside: bool) -> list[str | None]:
    """The notation of each text of a column of thousands, millions and so on; none if it holds others."""
    known = [one for one in found if one is not None and one.after.strip()]
    letter = thousands_in([one.after for one in known], beside)
    if not letter:
        return []
    plain = all(not one.mark and not one.decimal_comma for one in known)
    return [None if one is None or not plain else f"{one.before}{{:{letter}}}" for one in found]


def _as_one(found: Sequence[Spelling | None], points: bool, beside: bool) -> list[str | None]:
    """The notation of each text of a column: some numbers are too small for a mark, or positive.

    A comma before three digits may be of either kind, and so may a point.
    """
    behind = {one.after for one in found if one is not None and one.after}
    tail = tail_of(behind, beside=beside or any(one is not None and not one.after for one in found))
    found = [one and replace(one, after=tail or one.after) for one in found]
    known = [one for one in found if one is not None]
    comma = points or any(one.decimal_comma for one in known)
    marks = Counter(one.mark for one in known if one.mark and not (comma and one.mark == ","))
    # Smaller numbers have the same commas anywhere.
    mark = LAKHS if LAKHS in marks else marks.most_common(1)[0][0] if marks else "." * points
    signs = Counter(one.sign for one in known if one.sign)
    sign = signs.most_common(1)[0][0] if signs else ""
    return [
        None if one is None else replace(one, mark=mark, decimal_comma=comma, sign=sign).pattern
        for one in found
    ]
