"""A party's rows where they live: an engine counts them, and codes are on disk if a release reads rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.texts import has_open_categories, unlisted_texts
from ...common.data.coding import Coding
from ...common.data.counting import Counts, Group, Kept, pairs_of_joints, two_different
from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Grouping, Groups, grouped_shape
from .codes import Codes
from .connection import Connection, allow_always
from .engines.engine import Check, Engine
from .engines.names import code_of, text_of
from .people import NOBODY, People
from .pieces import pieces_of_codes
from .spool import RowsInRanges, Spool, spooled_rows
from .trees import code_of_number, code_of_text, whole

Result = TypeVar("Result")


@dataclass
class _Asked:
    """What a release asked for.

    Attributes:
        marginals: how many.
        copy: where they are counted since they are many; deleted with the last release that counts in it.
    """

    marginals: int = 0
    copy: Spool | None = None


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows of which an engine gives exact marginals; only counts leave it, unless single rows are asked for.

    Attributes:
        connection: the codes of all columns, in the engine.
        domain: meaning of the codes that are counted: some columns, perhaps with codes that a release chose.
        coding: codes that a release chose; None for those of the engine.
        check: raises if nobody waits for an answer any more.
    """

    connection: Connection
    domain: Domain
    coding: Coding | None = None
    check: Check = allow_always
    _kept: Kept = field(default_factory=Kept)
    _labels: dict[str, tuple[list[str], NDArray[np.int64]]] = field(default_factory=dict)
    _asked: _Asked = field(default_factory=_Asked)

    @classmethod
    def from_engine(
        cls,
        connect: Callable[[], Engine],
        domain: Domain,
        timeout_s: float,
        folder: Path | None = None,
        people: People = NOBODY,
    ) -> CountedRows:
        """All columns of a domain; see `Connection`."""
        return cls(Connection(connect, domain, timeout_s, folder, people), domain)

    @property
    def record_count(self) -> int:
        """The number of rows."""
        return self.connection.record_count

    def digest(self) -> str:
        """See `Codes.digest`."""
        return self.connection.digest

    def project(self, attributes: Iterable[str]) -> CountedRows:
        """Only these attributes, in domain order."""
        return replace(self, domain=self.domain.project(attributes))

    def with_coding(self, coding: Coding) -> CountedRows:
        """These rows with the codes that a release chose; see `Coding.table`."""
        return replace(self, domain=coding.domain(self.domain), coding=coding, _kept=Kept())

    def with_check(self, check: Check) -> CountedRows:
        """These rows for a release that may end while the engine counts."""
        return replace(self, check=check, _asked=_Asked())

    def check_ready(self) -> None:
        """Returns if the engine can be asked.

        Raises:
            DataError: see `Connection.ask`.
        """
        self._ask(lambda codes: codes.engine.check_alive())

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Exact counts, shape (n_r,); see `Table.marginal`."""
        self._asked.marginals += 1
        return self._marginal(tuple(clique), groups)

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """Several marginals, not to be written to; see `Table.marginals`."""
        asked = list(cliques)
        self._asked.marginals += len(asked)
        if any(groups):
            return [self._marginal(clique, of) for clique, of in zip(asked, groups, strict=True)]
        return self._kept.counts_of(asked, self._count_cliques)

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """The cell of each of the rows start to stop - 1; see `Table.cell_codes`.

        The codes of all rows are written to disk first, and are there as long as these rows.

        Raises:
            DataError: the source does not say in which order they come; or see `Connection.ask`.
        """
        return self._spooled_rows.cell_codes(clique, start, stop, groups)

    def unlisted_texts(
        self, name: str, used: NDArray[np.bool_] | None = None
    ) -> tuple[list[str], NDArray[np.int64]]:
        """Texts of open categories that could become labels, and their rows; see `texts.unlisted_texts`.

        Args:
            name: of the attribute.
            used: the rows that count, shape (rows,); None for all.
        """
        attribute = self.connection.domain[name]
        assert has_open_categories(attribute), "the terms were checked"
        if used is None:
            return unlisted_texts(attribute, *self._texts(name))
        return unlisted_texts(attribute, *self._ask(lambda codes: codes.texts_of(name, used)))

    @cached_property
    def _spooled_rows(self) -> RowsInRanges:
        return spooled_rows(self.connection.shared_spool(self.check), self.domain.names, self.coding)

    def close(self) -> None:
        """Ends the connection to the engine."""
        self.connection.close()

    def _marginal(self, names: Clique, groups: Groups = ()) -> Counts:
        cells = math.prod(grouped_shape(self.domain.shape(names), groups))
        cell = self.cell(names, self.domain, groups)
        if self._asked.copy is None and self.connection.copies(self._asked.marginals):
            self._asked.copy = self.connection.shared_spool(self.check)
        if self._asked.copy is not None:
            return self._asked.copy.counting.counts(cell, cells, self.check, self.connection.timeout_s)
        return self._ask(lambda codes: codes.counts(cell, cells))

    def _count_cliques(self, cliques: Sequence[Clique]) -> dict[Clique, Counts]:
        pairs = list(filter(two_different, cliques))
        sizes = dict(zip(self.domain.names, self.domain.sizes, strict=True))

        def joint(passes: Sequence[tuple[Group, ...]]) -> list[Counts]:
            names = [tuple(name for group in both for name in group) for both in passes]
            return [self._marginal(clique) for clique in names]

        found = pairs_of_joints(joint, self.record_count, sizes, pairs)
        return found | {clique: self._marginal(clique) for clique in cliques if clique not in found}

    def cell(self, names: Clique, domain: Domain, groups: Groups) -> exp.Expr:
        """The number of the cell of each row, from columns of codes.

        Args:
            names: the attributes.
            domain: sizes of the codes: those of these rows, or larger ones.
            groups: groups of codes.
        """
        cell: exp.Expr = whole(0)
        for place, name in enumerate(names):
            labels = groups[place] if groups else ()
            size = max(labels) + 1 if labels else domain[name].size
            code = exp.cast(self._code(name, labels), "bigint")
            cell = (
                code
                if not place
                else exp.Add(this=exp.Mul(this=exp.paren(cell), expression=whole(size)), expression=code)
            )
        return cell

    def _code(self, name: str, labels: Grouping) -> exp.Expr:
        """The code of each row, or its group."""
        kept = self.connection.domain
        attribute, column = kept[name], exp.column(code_of(kept.position(name)))
        chosen = self.domain[name]
        to = np.arange(chosen.size) if not labels else np.asarray(labels)
        if self.coding is not None and name in self.coding.labels:
            assert isinstance(chosen, CategoricalAttribute), "labels belong to categories"
            assert chosen.other is not None, "open categories have one"
            texts, _ = self._texts(name)
            codes = dict(zip(texts, chosen.encode(np.array(texts, dtype=object)).tolist(), strict=True))
            other = chosen.categories.index(chosen.other)
            listed = {text: int(to[code]) for text, code in codes.items() if code != other}
            return code_of_text(exp.column(text_of(column.name)), listed, whole(to[other]))
        if self.coding is not None and name in self.coding.runs:
            to = to[self.coding.codes(attribute)]
        elif not labels:
            return column
        return code_of_number(column, pieces_of_codes(to), lambda start: whole(int(start)))

    def _texts(self, name: str) -> tuple[list[str], NDArray[np.int64]]:
        if name not in self._labels:
            self._labels[name] = self._ask(lambda codes: codes.texts(name))
        return self._labels[name]

    def _ask(self, question: Callable[[Codes], Result]) -> Result:
        return self.connection.ask(question, self.check)
