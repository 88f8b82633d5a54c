"""A table of codes, one small unsigned array per attribute, and its exact marginals."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..later import np
from .attributes.texts import TextColumn, has_open_categories
from .counting import COUNTED_AT_ONCE, CountPairs, Counts, Kept, count_cells, pairs_counted, two_different
from .domain import Clique, Domain
from .gaps import readable, with_times
from .grouping import Groups, grouped, grouped_shape
from .values import RawColumn, column_named, refuse_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Table:
    """Records as codes.

    Attributes:
        domain: meaning of the codes.
        columns: one array of shape (N,) per attribute, in domain order, of the smallest unsigned type that
            holds its codes.
        texts: of open categories, by name: the text of each row, in which labels are looked for.
        weights: shape (N,), int64: in how many parts of a person each row counts (`PrivacyUnit.parts`); None
            if each row counts as one.
    """

    domain: Domain
    columns: tuple[NDArray[np.unsignedinteger[Any]], ...]
    texts: Mapping[str, TextColumn] = field(default_factory=dict)
    weights: NDArray[np.int64] | None = field(default=None, kw_only=True)
    _kept: Kept = field(default_factory=Kept, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.domain):
            raise DataError(
                f"expected {len(self.domain)} columns, one per attribute, found {len(self.columns)}; "
                "give every attribute its column"
            )
        for attribute, column in zip(self.domain.attributes, self.columns, strict=True):
            if column.shape != self.columns[0].shape or column.ndim != 1:
                raise DataError(
                    f"column {attribute.name!r}: its number of rows differs from that of column "
                    f"{self.domain.names[0]!r}; fix the table"
                )
            if column.dtype != code_dtype(attribute.size):
                raise TypeError(
                    f"column {attribute.name!r}: expected {code_dtype(attribute.size)}, found {column.dtype}"
                )
            _check_codes(attribute.name, column, attribute.size)

    @classmethod
    def from_codes(cls, domain: Domain, codes: NDArray[Any] | Mapping[str, RawColumn]) -> Table:
        """A table of given codes.

        Args:
            domain: meaning of the codes.
            codes: whole numbers: shape (N, d) in domain order, or attribute name -> shape (N,).

        Raises:
            DataError: a column is missing, of another length, not of integers, or holds a code out of range.
        """
        if isinstance(codes, Mapping):
            columns = [np.asarray(column_named(codes, name)) for name in domain]
        else:
            if codes.ndim != 2 or codes.shape[1] != len(domain):
                raise DataError(
                    f"expected codes of shape (records, {len(domain)}); give one column per attribute"
                )
            columns = list(codes.T)
        return cls(
            domain,
            tuple(_narrow_codes(a.name, c, a.size) for a, c in zip(domain.attributes, columns, strict=True)),
        )

    @classmethod
    def concatenate(cls, tables: Sequence[Table]) -> Table:
        """The rows of all tables, one after the other.

        Raises:
            DataError: the tables have different domains.
        """
        if not tables:
            raise ValueError("concatenate needs at least one table")
        domain = tables[0].domain
        if any(table.domain != domain for table in tables):
            raise DataError(
                "tables of different domains cannot be joined row by row; encode them with one domain"
            )
        texts = {name: TextColumn.concatenate([t.texts[name] for t in tables]) for name in tables[0].texts}
        columns = zip(*(t.columns for t in tables), strict=True)
        weights = [t.weights for t in tables if t.weights is not None]
        held = np.concatenate(weights) if weights else None
        return cls(domain, tuple(map(np.concatenate, columns)), texts, weights=held)

    @property
    def record_count(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    @property
    def total(self) -> int:
        """The number of rows, or the sum of their weights."""
        return self.record_count if self.weights is None else int(self.weights.sum())

    def column(self, name: str) -> NDArray[np.unsignedinteger[Any]]:
        """The codes of one attribute, shape (N,)."""
        return self.columns[self.domain.position(name)]

    def project(self, attributes: Iterable[str]) -> Table:
        """Only these attributes, in domain order, without copying; kept counts are shared."""
        domain = self.domain.project(attributes)
        texts = {name: column for name, column in self.texts.items() if name in domain.names}
        return self._of_same_rows(domain, tuple(self.column(name) for name in domain), texts)

    def rows(self, start: int, stop: int) -> Table:
        """Rows start to stop - 1, without copying; of all rows, kept counts are shared."""
        if start == 0 and stop >= self.record_count:
            return self._of_same_rows(self.domain, self.columns, self.texts)
        texts = {name: column.take(slice(start, stop)) for name, column in self.texts.items()}
        columns = tuple(column[start:stop] for column in self.columns)
        return Table(self.domain, columns, texts, weights=self._weights_of(slice(start, stop)))

    def _of_same_rows(
        self,
        domain: Domain,
        columns: tuple[NDArray[np.unsignedinteger[Any]], ...],
        texts: Mapping[str, TextColumn],
    ) -> Table:
        table = Table(domain, columns, texts, weights=self.weights)
        object.__setattr__(table, "_kept", self._kept)
        return table

    def take(self, indices: NDArray[np.integer[Any]], attributes: Iterable[str] | None = None) -> Table:
        """The rows at these indices, in this order, of all attributes or of these; nothing else is read."""
        domain = self.domain if attributes is None else self.domain.project(attributes)
        texts = {name: column.take(indices) for name, column in self.texts.items() if name in domain.names}
        columns = tuple(self.column(name)[indices] for name in domain)
        return Table(domain, columns, texts, weights=self._weights_of(indices))

    def _weights_of(self, rows: slice | NDArray[np.integer[Any]]) -> NDArray[np.int64] | None:
        return None if self.weights is None else self.weights[rows]

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Exact counts of every combination of codes or groups of codes, or sums of weights.

        Args:
            clique: the attributes; the empty clique counts all records.
            groups: groups of the codes of each attribute.

        Returns:
            Shape (n_r,), in row-major order of the clique as given.
        """
        names = tuple(clique)
        if not any(groups) and (kept := self._kept.kept_counts(names)) is not None:
            return kept.copy()
        counts = np.zeros(math.prod(grouped_shape(self.domain.shape(names), groups)), dtype=np.int64)
        for start in range(0, self.record_count, COUNTED_AT_ONCE):
            cells = self.cell_codes(names, start, start + COUNTED_AT_ONCE, groups)
            counts += count_cells(cells, len(counts), self._weights_of(slice(start, start + COUNTED_AT_ONCE)))
        return counts

    def marginals(
        self,
        cliques: Iterable[Clique],
        groups: Sequence[Groups] = (),
        *,
        pairs: CountPairs = pairs_counted,
    ) -> list[NDArray[np.int64]]:
        """Several marginals, as by `marginal`, but not to be written to.

        Pairs of codes are counted together, and kept for later calls as far as there is room.

        Args:
            cliques: the attributes of each.
            groups: groups of the codes of each clique's attributes; empty if there are none.
            pairs: counts pairs.
        """
        asked = list(cliques)
        if any(groups):
            return [self.marginal(clique, of) for clique, of in zip(asked, groups, strict=True)]
        return self._kept.counts_of(asked, partial(self._count, pairs))

    def _count(self, pairs: CountPairs, cliques: Sequence[Clique]) -> dict[Clique, Counts]:
        columns = dict(zip(self.domain.names, self.columns, strict=True))
        sizes = dict(zip(self.domain.names, self.domain.sizes, strict=True))
        if self.weights is not None:
            pairs = partial(pairs_counted, weights=self.weights)
        found = pairs(columns, sizes, list(filter(two_different, cliques)))
        return found | {clique: self.marginal(clique) for clique in cliques if clique not in found}

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """The cell of the clique's marginal that each of the rows start to stop - 1 counts in; int64.

        Args:
            clique: the attributes.
            start: first row.
            stop: row after the last.
            groups: groups of the codes of each attribute, of whose marginal the cells are.
        """
        cells = np.zeros(max(0, min(stop, self.record_count) - start), dtype=np.int64)
        for place, name in enumerate(clique):
            labels = groups[place] if groups else ()
            codes, size = grouped(self.column(name)[start:stop], self.domain[name].size, labels)
            cells *= size
            cells += codes
        return cells

    def digest(self) -> str:
        """SHA-256 (hex) of the domain's digest, the number of rows, codes and texts, column by column."""
        digest = hashlib.sha256(f"{self.domain.digest()} {self.record_count} ".encode("ascii"))
        for column in self.columns:
            digest.update(np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("<")).data)
        for name in sorted(self.texts):
            digest.update(self.texts[name].digest())
        if self.weights is not None:
            digest.update(self.weights.astype("<i8").data)
        return digest.hexdigest()


def code_dtype(size: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds the codes 0 to size - 1."""
    return np.min_scalar_type(size - 1)


def encode_table(domain: Domain, columns: Mapping[str, RawColumn]) -> Table:
    """Encodes raw columns; columns that the domain does not name are ignored.

    Raises:
        DataError: a column is missing or of another length, or a value has no code.
    """
    encoded, texts = [], {}
    for attribute in domain.attributes:
        cells = readable(domain, columns, attribute.name)
        encoded.append(attribute.encode(cells).astype(code_dtype(attribute.size)))
        if has_open_categories(attribute):
            texts[attribute.name] = TextColumn.read(attribute.name, cells)
    return Table(domain, tuple(encoded), texts)


def check_rows(records: int, name: str = "the table") -> None:
    """Refuses a table without rows, where their number is public.

    Args:
        records: the number.
        name: what a message calls the table.

    Raises:
        DataError: there are none.
    """
    if not records:
        raise DataError(f"{name} has no rows; an empty table has nothing to release")


def decode_table(
    table: Table, rng: np.random.Generator, counts: Mapping[str, NDArray[np.int64]] | None = None
) -> dict[str, NDArray[Any]]:
    """Raw columns whose encoding is this table; numbers are drawn from their bins, as rules allow.

    Totals are the sums of their parts, which may be outside the total's bin.

    Args:
        table: the codes.
        rng: draws numbers inside bins.
        counts: rows of each code, for every attribute, by which numbers are spread within bins; those of the
            table if None.
    """
    from .rules.values import after_times, drawn_together

    codes = dict(zip(table.domain.names, table.columns, strict=True))
    spread = code_counts(table) if counts is None else counts

    def draw(name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        return table.domain[name].decode(codes[name][rows], rng, spread[name])

    values = {name: table.domain[name].decode(column, rng, spread[name]) for name, column in codes.items()}
    drawn = drawn_together(table.domain, codes, values, draw, spread, rng)
    return after_times(table.domain, with_times(table.domain, drawn))


def code_counts(table: Table) -> dict[str, NDArray[np.int64]]:
    """Rows of each code, for every attribute."""
    return {name: table.marginal((name,)) for name in table.domain}


def _narrow_codes(name: str, codes: NDArray[Any], size: int) -> NDArray[np.unsignedinteger[Any]]:
    if codes.dtype.kind not in "iub":
        raise DataError(
            f"column {name!r}: expected integer codes, found {codes.dtype}; encode the table first"
        )
    _check_codes(name, codes, size)
    return codes.astype(code_dtype(size))


def _check_codes(name: str, codes: NDArray[Any], size: int) -> None:
    if codes.size and (codes.max() >= size or codes.min() < 0):
        refuse_rows(
            name,
            (codes < 0) | (codes >= size),
            f"expected a code from 0 to {size - 1}; fix the table or the domain",
        )


def check_comparable(real: Table, synthetic: Table) -> None:
    """Refuses tables that cannot be compared.

    Raises:
        DataError: the tables have different domains, or one has no record.
    """
    if real.domain != synthetic.domain:
        raise DataError("the two tables have different domains; encode both with the same one")
    if not (real.record_count and synthetic.record_count):
        raise DataError("an empty table cannot be compared; give both tables records")
