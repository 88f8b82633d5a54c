"""A CSV file as DuckDB reads it: the names of its columns, and every cell as the text that it is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...common.errors import DataError, MosaicWarning
from ...common.processes.private_folders import PrivateFolder
from .dialect import Dialect, find_dialect
from .encodings import UTF_8, is_utf8, write_as_utf8
from .headers import names_of
from .sql import quote, quoted_file


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, perhaps .gz.

    Attributes:
        path: the file.
        usual: separator of a file in which none is seen.
        header: whether its first line holds the names of the columns; see `headers.names_of`.
    """

    path: Path
    usual: str
    header: bool | None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; a first or a last one without a name is left out with a warning.

        Raises:
            DataError: the first line cannot be read or holds no names.
        """
        names = tuple(name for name in self._names if name)
        for place, what in ((1, "row numbers"), (len(self._names), "what ends each line")):
            if not self._names[place - 1]:
                warnings.warn(
                    f"{self.path.name}: column {place} has no name; it is taken for {what} and left out",
                    MosaicWarning,
                    stacklevel=2,
                )
        return names

    @property
    def select(self) -> str:
        """The SQL query of the columns, as texts, from left to right.

        Raises:
            DataError: as for `columns`, or there is no space for a copy.
        """
        named = str(self.header is not False or self._is_broken).lower()
        skipped = int(self._dialect.stated and not self._is_broken)
        kept = ", ".join(f"c{place}" for place, name in enumerate(self._names) if name)
        kinds = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(self._names)))
        return (
            f"SELECT {kept} FROM read_csv({quoted_file(self._readable)}, auto_detect=false, "
            f"header={named}, skip={skipped}, delim={quote(self._dialect.separator)}, "
            f"encoding='utf-8', quote='\"', escape='\"', nullstr='', strict_mode=true, columns={{{kinds}}})"
        )

    @property
    def in_words(self) -> str:
        """Such as "3 cells in UTF-8, separated by commas"."""
        return f"{len(self._names)} cells in {self._dialect.in_words}"

    @cached_property
    def _dialect(self) -> Dialect:
        return find_dialect(self.path, self.usual)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return names_of(self.path.name, self._dialect.first, header=self.header)

    @property
    def _is_broken(self) -> bool:
        """Whether the first line is of several: DuckDB would take the first break in it for a line's end."""
        return self._dialect.lines > 1

    @cached_property
    def _readable(self) -> Path:
        """The file, or a copy in UTF-8, which has a first line of its own instead of one that is broken."""
        found = self._dialect
        if found.encoding == UTF_8 and not self._is_broken and is_utf8(self.path):
            return self.path
        copy = self._folder.path / "utf8.csv"
        try:
            with copy.open("wb") as file:
                if self._is_broken:
                    places = map(str, range(len(self._names)))
                    file.write(f"{found.separator.join(places)}{found.end}".encode())
                    names = found.lines if self.header is not False else 0
                    write_as_utf8(self.path, file, found.stated + names)
                else:
                    write_as_utf8(self.path, file)
        except OSError:
            raise DataError(f"{self.path.name}: no space left for its cells in TMPDIR; free some") from None
        return copy

    @cached_property
    def _folder(self) -> PrivateFolder:
        """In TMPDIR; deleted with this object."""
        return PrivateFolder()
