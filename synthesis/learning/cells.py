"""The cells of a raw table: as texts, shapes, numbers and times, counted by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ...common.errors import DataError
from ...common.forms.date_formats import day_in, has_offset, month_in
from ...common.forms.day_names import DAY_NAMES
from ...common.forms.month_names import NAMES
from ...common.forms.notation import APOSTROPHES, BLANKS, FLAGS, Notation
from ...common.forms.spelling import spelling_of
from ...common.forms.zone_names import ZONE_NAME_SQL, ZONE_NAMES
from ...party.sources.cells import ZONED, in_utc
from ...party.sources.source import Queried
from ...party.sources.sql import quote
from .forms.date_forms import time_sql
from .forms.forms import FORMS, LONGEST_WORD, place_of, shape_sql
from .kind import Numbers, Times

_HELD = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|VARCHAR|ENUM.*|DATE|TIME|INTERVAL|TIMESTAMP(_S|_MS|_NS)?"
    f'|{ZONED}|"NULL"'
)
"""DuckDB's types whose cells are read, that of columns without any value too; which types a file declares is
public."""


_RANGE = (
    "CASE WHEN {0} BETWEEN 1 AND 12 THEN 0 WHEN {0} BETWEEN 13 AND 25 THEN 1 "
    "WHEN {0} BETWEEN 26 AND 31 THEN 2 ELSE 3 END"
)
"""Numbers that are a month or a day, two ranges of other days, and those that are neither."""

_NUMBER_FIRST = rf"^([^0-9]*[0-9](?:[0-9.,]|[{APOSTROPHES}{BLANKS}][0-9]{{3}})*)(.*)$"
"""A number with what is before it, and what is behind."""

_NO_OFFSET = 24 * 60
"""In place of the distance from UTC of a cell that has none, in minutes."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a raw table, by column.

    Attributes:
        source: the rows.
        connection: DuckDB with the rows as `file`.
        texts: name -> SQL expression of a cell's text without blanks around it; NULL where there is none.
        written: name -> SQL expression of the text of a cell as it stands.
        timezones: name -> time zone of columns of instants.
        timed: columns whose type is one of dates or timestamps.
        listed: name -> categories of columns that the table's file describes.
        order: column by which rows are in order; empty for none.
    """

    source: Queried
    connection: duckdb.DuckDBPyConnection
    texts: Mapping[str, str]
    written: Mapping[str, str]
    timezones: Mapping[str, str]
    timed: frozenset[str]
    listed: Mapping[str, Sequence[str]]
    order: str = ""

    @classmethod
    def of(
        cls,
        source: Queried,
        timezones: Mapping[str, str],
        listed: Mapping[str, Sequence[str]] | None = None,
        order: str = "",
    ) -> Cells:
        """Opens a raw table.

        Args:
            source: the rows.
            timezones: of the columns of instants that declare one.
            listed: categories of columns that the table's file describes; public.
            order: column by which rows are in order; empty for none.

        Raises:
            DataError: the table cannot be read, or a column has a type that no release holds.
        """
        connection = source.connect()
        kinds = [str(kind) for kind in source.query(connection, "DESCRIBE file")["column_type"]]
        texts, written, zones, timed = {}, {}, {}, set()
        for place, (name, kind) in enumerate(zip(source.columns(), kinds, strict=True)):
            if not _HELD.fullmatch(kind):
                raise DataError(
                    f"column {name!r}: expected booleans, numbers, text, dates, times or timestamps, got "
                    f"{kind.partition('(')[0].lower()}; convert it, such as a duration to seconds, or drop it"
                )
            cell = f"c{place}"
            if kind == ZONED:
                cell, zones[name] = in_utc(cell), timezones.get(name, "UTC")
            elif kind.startswith("TIMESTAMP"):
                cell = f"try_cast({cell} AS TIMESTAMP)"
            if kind.startswith(("DATE", "TIMESTAMP")):
                timed.add(name)
            written[name] = f"{cell}::VARCHAR"
            texts[name] = f"nullif(trim({written[name]}), '')"
        return cls(source, connection, texts, written, zones, frozenset(timed), listed or {}, order)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.texts)

    def records(self) -> int:
        """The number of rows; private."""
        return int(self._query("SELECT count(*) AS n FROM file")["n"][0])

    def forms(self, name: str) -> NDArray[np.int64]:
        """The number of cells of each form; private.

        Returns:
            Shape (FORMS,).
        """
        text, written = self.texts[name], self.written[name]
        # A word with blanks around it is another text.
        shape = f"CASE WHEN padded AND NOT regexp_matches(t, '[0-9]') THEN '~' ELSE {shape_sql('t')} END"
        found = self._query(
            f"SELECT {shape} AS shape, sum(n) AS n FROM (SELECT {text} AS t, {text} <> {written} AS padded, "
            "count(*) AS n FROM file GROUP BY 1, 2) GROUP BY 1"
        )
        places = np.array([place_of(shape) for shape in found["shape"].tolist()], dtype=np.intp)
        return np.bincount(places, found["n"].astype(np.float64), len(FORMS)).astype(np.int64)

    def numbers_of_dates(self, name: str) -> NDArray[np.int64]:
        """The cells by the first and the third number of a date of digits; private.

        Returns:
            Shape (18,): for each of the four ranges of `_RANGE` of the first those of the third; then those
            whose second number is above 12, and those without three numbers.
        """
        text = f"regexp_replace({self.texts[name]}, '^([0-9][0-9])([0-9][0-9])([0-9]+)$', '\\1-\\2-\\3')"
        numbers = f"regexp_extract({text}, '^([0-9]+)[/-]([0-9]+)[/-]([0-9]+)', {{}})"
        first, second, third = (f"try_cast({numbers.format(group)} AS INTEGER)" for group in (1, 2, 3))
        place = f"4 * {_RANGE.format(first)} + {_RANGE.format(third)}"
        found = self._query(
            f"SELECT CASE WHEN {first} IS NULL THEN 17 WHEN {second} > 12 THEN 16 ELSE {place} END AS p, "
            "count(*) AS n FROM file GROUP BY 1"
        )
        return np.bincount(found["p"], found["n"], 18).astype(np.int64)

    def month_names(self, name: str) -> NDArray[np.int64]:
        """How many cells have each of `NAMES`, of several the last in the cell, then none; private."""
        return self._names(name, month_in, len(NAMES))

    def day_names(self, name: str) -> NDArray[np.int64]:
        """How many cells have each of `DAY_NAMES`, of several the first in the cell, then none; private."""
        return self._names(name, day_in, len(DAY_NAMES))

    def _names(self, name: str, place_in: Callable[[str], int], places: int) -> NDArray[np.int64]:
        words = f"regexp_replace({self.texts[name]}, '[0-9]+', ' ', 'g')"
        return self._count_places(words, place_in, places)

    def _count_places(self, text: str, place_in: Callable[[str], int], places: int) -> NDArray[np.int64]:
        """How many rows have a text of each place, then of none; a missing text is the empty one."""
        found = self._query(f"SELECT {text} AS t, count(*) AS n FROM file GROUP BY 1")
        counts = np.zeros(places + 1, dtype=np.int64)
        for one, rows in zip(np.ma.filled(found["t"], "").tolist(), found["n"].tolist(), strict=True):
            counts[place_in(one)] += rows
        return counts

    def units(self, name: str) -> tuple[list[tuple[str, str]], NDArray[np.int64]]:
        """What is around the numbers of a column, in order, and the rows of each; private."""
        # A unit such as kg/m2 keeps its digits.
        number, rest = (
            f"regexp_extract({self.texts[name]}, {quote(_NUMBER_FIRST)}, {group})" for group in (1, 2)
        )
        shape = f"translate({number}, '123456789', '999999999') || {rest}"
        found = self._query(
            f"SELECT {shape} AS t, count(*) AS n FROM file WHERE length({shape}) <= {LONGEST_WORD} GROUP BY 1"
        )
        rows: dict[tuple[str, str], int] = {}
        for text, count in zip(found["t"].tolist(), found["n"].tolist(), strict=True):
            spelled = spelling_of(text)
            if spelled is not None and spelled.before + spelled.after:
                around = spelled.before, spelled.after
                rows[around] = rows.get(around, 0) + count
        return sorted(rows), np.array([rows[around] for around in sorted(rows)], dtype=np.int64)

    def offsets(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distances from UTC that end the cells of a column, in minutes, and their rows; private."""
        offset = quote("([-+])([0-9][0-9])(?::?([0-9][0-9]))?( [0-9]{4}|\\])?$")
        sign, hours, minutes = (
            f"regexp_extract({_with_offset(self.texts[name])}, {offset}, {group})" for group in (1, 2, 3)
        )
        found = self._query(
            f"SELECT (try_cast({hours} AS INTEGER) * 60 + coalesce(try_cast({minutes} AS INTEGER), 0)) * "
            f"CASE {sign} WHEN '-' THEN -1 ELSE 1 END AS m, count(*) AS n FROM file GROUP BY 1"
        )
        return np.ma.filled(found["m"].astype(np.int64), _NO_OFFSET), found["n"].astype(np.int64)

    def fraction_digits(self, name: str) -> NDArray[np.int64]:
        """The number of cells by the digits of a fraction of a second, none to nine, shape (10,); private."""
        fraction = quote("[:.][0-9]{2}[:.][0-9]{2}[.,]([0-9]{1,9})")
        digits = f"length(regexp_extract({self.texts[name]}, {fraction}, 1))"
        found = self._query(f"SELECT coalesce({digits}, 0) AS d, count(*) AS n FROM file GROUP BY 1")
        return np.bincount(found["d"], found["n"], 10).astype(np.int64)

    def zone_names(self, name: str) -> NDArray[np.int64]:
        """How many cells have each of `ZONE_NAMES` behind a time, then none; private."""
        zone = f"regexp_extract({self.texts[name]}, {quote(ZONE_NAME_SQL)}, 1)"
        places = {known: place for place, known in enumerate(ZONE_NAMES)}
        none = len(ZONE_NAMES)
        return self._count_places(zone, lambda text: places.get(text, none), none)

    def numbers(self, name: str, kind: Numbers) -> NDArray[np.float64]:
        """The numbers of a column, shape (N,); NaN where a cell is none; private."""
        found = self._query(f"SELECT {_number_sql(self.texts[name], kind.notation)} AS x FROM file")["x"]
        numbers = np.ma.filled(found.astype(np.float64), np.nan)
        numbers[~np.isfinite(numbers)] = np.nan
        return numbers

    def times(self, name: str, kind: Times) -> NDArray[np.datetime64]:
        """The times of a column, shape (N,), datetime64[us]; NaT where a cell is none; private.

        Times of day and durations are counted from 1970 on, as a `Clock` counts them.
        """
        found = self._query(f"SELECT ({_time_sql(self.texts[name], kind)})::TIMESTAMP AS x FROM file")["x"]
        return np.ma.filled(found.astype("datetime64[us]"), np.datetime64("NaT"))

    def values(self, name: str) -> tuple[list[str], NDArray[np.int64]]:
        """The different texts of a column as they stand, sorted, and the rows of each; private."""
        found = self._query(
            f"SELECT {self.written[name]} AS t, count(*) AS n FROM file WHERE {self.texts[name]} IS NOT NULL "
            "GROUP BY 1 ORDER BY 1"
        )
        return np.ma.getdata(found["t"]).tolist(), found["n"].astype(np.int64)

    def texts_beside(self, name: str, kind: Numbers | Times) -> tuple[list[str], NDArray[np.int64]]:
        """The different texts of a column that are no values of a kind, sorted, and their rows; private."""
        text = self.texts[name]
        value = _number_sql(text, kind.notation) if isinstance(kind, Numbers) else _time_sql(text, kind)
        found = self._query(
            f"SELECT {self.written[name]} AS t, count(*) AS n FROM file WHERE {text} IS NOT NULL "
            f"AND ({value}) IS NULL GROUP BY 1 ORDER BY 1"
        )
        return np.ma.getdata(found["t"]).tolist(), found["n"].astype(np.int64)

    def different(self, name: str) -> int:
        """The number of different texts of a column; private."""
        return int(self._query(f"SELECT count(DISTINCT {self.texts[name]}) AS n FROM file")["n"][0])

    def close(self) -> None:
        """Closes the database."""
        self.connection.close()

    def _query(self, sql: str) -> dict[str, NDArray[Any]]:
        return self.source.query(self.connection, sql)


def _time_sql(text: str, kind: Times) -> str:
    """The SQL expression of the time in a text of a format, NULL if there is none."""
    zoned = has_offset(kind.format)
    text = _with_offset(text) if zoned else text
    each = (time_sql(text, form, kind.months, kind.days) for form in (kind.format, *kind.also))
    read = f"coalesce({', '.join(each)})"
    read = in_utc(read) if zoned else read
    return f"CASE WHEN isfinite(({read})::TIMESTAMP) THEN {read} END"


def _with_offset(text: str) -> str:
    """The SQL expression of a text in which a Z at the end is a distance from UTC as others are."""
    return f"regexp_replace({text}, 'Z$', '+00:00')"


def _number_sql(text: str, notation: str) -> str:
    """The SQL expression of the number in a text of a notation, NULL if there is none."""
    known, sign = Notation(notation), "''"
    if known.sign == "(":
        inside = f"starts_with({text}, '(') AND ends_with({text}, ')')"
        sign = f"CASE WHEN {inside} THEN '-' ELSE '' END"
        text = f"CASE WHEN {inside} THEN trim({text}[2:-2]) ELSE {text} END"
    for word, minus in zip(known.sign_words, ("", "-"), strict=False):
        text = f"regexp_replace({text}, {quote(f'^(.*?) ?{re.escape(word.strip())}$')}, '{minus}\\1')"
    if known.has_flags:
        flags = "|".join(map(re.escape, FLAGS))
        text = f"regexp_replace({text}, {quote(f'^(.*[0-9.,])( ?({flags}))$')}, '\\1')"
    for part in known.around[: 1 if known.sign_words or known.has_flags else 2]:
        if part.strip():
            text = f"trim(replace({text}, {quote(part.strip())}, ''))"
    if known.around[0].endswith(tuple(BLANKS)):
        text = f"regexp_replace({text}, '^-[{BLANKS}]+', '-')"
    if known.sign == ")":
        text = f"regexp_replace({text}, '^[(](.*)[)]$', '-\\1')"
    elif known.sign == "-":
        text = f"regexp_replace({text}, '^(.*)-$', '-\\1')"
    elif known.sign == "\u2212":
        text = f"replace({text}, '\u2212', '-')"
    for mark in known.marks:
        text = f"replace({text}, {quote(mark)}, '')"
    if known.decimal_comma:
        text = f"replace({text}, ',', '.')"
    for power, letter in enumerate(known.magnitudes):
        text = f"regexp_replace({text}, '([0-9.]){letter}$', '\\1e{3 * power}')" if letter else text
    return f"CASE WHEN NOT contains({text}, '_') THEN try_cast({sign} || {text} AS DOUBLE) END"
