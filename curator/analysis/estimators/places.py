"""Where functions of a record are evaluated: at the rows of a release, and where it has none.

A release has rows where noise happened to be positive, and none where it was negative. A sum that is
corrected at its rows alone would take up the positive noise only, and be too large where a column has many
values that hardly any record has. So rows of no weight stand at the cells of measured interactions that no
row of the release has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.table import Table
from ...pgm.structure.zeros import zeros_of
from ...results.evidence import Evidence
from ...results.frames import typed_frame
from ..conditions import Condition, Where
from ..published import Published, evidence_of

_WEIGHTLESS_ROWS = 1 << 16
"""Rows of no weight, at most; more cells than that are represented by a random sample."""


class Rows(Protocol):
    """Rows with their codes and values."""

    @property
    def domain(self) -> Domain:
        """Domain of the columns."""
        ...

    @property
    def rows(self) -> Table:
        """The rows, coded."""
        ...

    @property
    def frame(self) -> pd.DataFrame:
        """The rows, with values that can be computed with."""
        ...


@dataclass(frozen=True, eq=False)
class Places:
    """Some columns at the rows of a release, and then at cells that it lacks.

    Attributes:
        domain: domain of the release.
        evidence: its noisy measurements.
        records: number of records of the real table, as the release knows it.
        rows: the rows, coded.
        frame: the rows, with values.
        own: shape (rows,): whether a row is one of the release's, which come first.
    """

    domain: Domain
    evidence: Evidence
    records: float
    rows: Table
    frame: pd.DataFrame
    own: NDArray[np.bool_]

    @classmethod
    def of(
        cls, published: Published, columns: Iterable[str], where: Where | None = None, everywhere: bool = True
    ) -> Places:
        """The places of functions of these columns and of a condition.

        Args:
            published: the release.
            columns: on which the functions depend; a difference of dates is none.
            where: which rows count, see `mean`.
            everywhere: whether functions can be evaluated where the release has no row.

        Raises:
            DataError: the release has no noisy measurements, or a column, or a value of the condition, does
                not exist.
        """
        domain, named = published.domain, tuple(columns)
        for name in named:
            domain.position(name)
        clique = domain.canonical(dict.fromkeys((*named, *Condition.of(domain, where).clique)))
        evidence = evidence_of(published)
        rows, frame = published.rows, published.frame
        count = rows.record_count
        lacking = _lacking(rows, evidence, clique) if everywhere else None
        if lacking is not None:
            rng = np.random.default_rng(0)
            values = typed_frame(lacking, published.columns, rng)
            rows = Table.concatenate([rows, lacking])
            frame = pd.concat([frame, values], ignore_index=True)
        own = np.arange(rows.record_count) < count
        return cls(domain, evidence, float(published.records), rows, frame, own)


def _lacking(rows: Table, evidence: Evidence, clique: Clique) -> Table | None:
    """Rows at cells that none of these rows has; other columns are those of rows drawn at random."""
    domain, rng = rows.domain, np.random.default_rng(0)
    found = []
    for one, cells in _empty_cells(rows, evidence, clique):
        others = rows.take(rng.integers(rows.record_count, size=len(cells)))
        drawn = np.column_stack([others.column(name) for name in domain.names]).astype(np.int64)
        drawn[:, [domain.position(name) for name in one]] = np.stack(
            np.unravel_index(cells, domain.shape(one)), axis=1
        )
        found.append(drawn)
    if not found:
        return None
    everywhere = np.concatenate(found)
    if len(everywhere) > _WEIGHTLESS_ROWS:
        everywhere = everywhere[rng.choice(len(everywhere), _WEIGHTLESS_ROWS, replace=False)]
    kept = np.ones(len(everywhere), dtype=np.bool_)
    for one, mask in zeros_of(domain).masks:
        kept &= mask[tuple(everywhere[:, domain.position(name)] for name in one)]
    return Table.from_codes(domain, everywhere[kept]) if kept.any() else None


def _empty_cells(
    rows: Table, evidence: Evidence, clique: Clique
) -> Iterator[tuple[Clique, NDArray[np.int64]]]:
    """The cells of each measured interaction of a clique that no row has."""
    held = set(clique)
    for view in evidence.views:
        if not held.issuperset(view.clique):
            continue
        counts, shape = rows.marginal(view.clique, view.groups), view.shape(rows.domain)
        cells = np.flatnonzero(counts == 0)
        if not cells.size:
            continue
        # Of a group stands the code that most rows have.
        places = list(np.unravel_index(cells, shape))
        for place, (name, labels) in enumerate(zip(view.clique, view.groups, strict=False)):
            if labels:
                common = np.argsort(rows.marginal((name,)), kind="stable")
                stands = np.empty(max(labels) + 1, dtype=np.int64)
                stands[np.asarray(labels)[common]] = common
                places[place] = stands[places[place]]
        yield view.clique, np.ravel_multi_index(places, rows.domain.shape(view.clique))
