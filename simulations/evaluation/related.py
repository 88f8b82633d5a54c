"""How far synthetic related tables are from the real ones, row by row: not for publication."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import mean

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.related.rows import last_of_series
from ...common.errors import DataError

COMPARED_GROUPS = 10
"""Numbers are compared in so many groups of equal mass, categories as the most frequent and all others."""

Tables = Mapping[str, pd.DataFrame]
Relations = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class PairDistance:
    """How far the rows of a table are from the real ones in two columns.

    Attributes:
        one: a column of the table.
        other: another one, one of a table above (`table.column`), or one of the row before
            (`previous column`).
        total_variation: half the L1 distance of the shares of rows, in 0..1.
        independent: that of independent columns, each as in the real table.
    """

    one: str
    other: str
    total_variation: float
    independent: float


@dataclass(frozen=True)
class ChildEvaluation:
    """A table whose rows belong to those of another one.

    Attributes:
        rows: numbers of rows of the real table and of the synthetic one.
        orphans: share of synthetic rows that belong to no row of the parent.
        numbers: Kolmogorov distance of the number of rows of a parent.
        within: pairs of the table's own columns.
        across: pairs of an own column and one of a table above.
        before: pairs of an own column and one of the row before, of rows that have one. The order's column
            stands for what lies between them; empty if rows have no order.
        gaps: total variation distance of what lies between a row and the one before; None without a column of
            the order, as the next one.
        spans: Kolmogorov distance of what lies between the first row of a parent and the last one.
    """

    rows: tuple[int, int]
    orphans: float
    numbers: float
    within: tuple[PairDistance, ...]
    across: tuple[PairDistance, ...]
    before: tuple[PairDistance, ...]
    gaps: float | None
    spans: float | None

    @property
    def transitions(self) -> tuple[PairDistance, ...]:
        """The pairs of a column and the same one of the row before."""
        return tuple(pair for pair in self.before if pair.other == _previous(pair.one))


def mean_distance(pairs: Iterable[PairDistance]) -> float:
    """Mean total variation distance of pairs; not a number if there are none."""
    found = [pair.total_variation for pair in pairs]
    return mean(found) if found else float("nan")


def mean_independent(pairs: Iterable[PairDistance]) -> float:
    """That of independent columns."""
    found = [pair.independent for pair in pairs]
    return mean(found) if found else float("nan")


def evaluate(
    real: Tables,
    synthetic: Tables,
    relations: Relations,
    order: Mapping[str, str | bool] | None = None,
    series: Mapping[str, str] | None = None,
) -> dict[str, ChildEvaluation]:
    """Compares related tables with the real ones: not for publication, since it reads the real rows.

    Every row counts once, so that people count by their numbers of rows.

    Args:
        real: the tables that were released, by name.
        synthetic: a release's tables.
        relations: as of `dpmosaic.synthesize`.
        order: as of `dpmosaic.synthesize`.
        series: see there.

    Returns:
        For each table that belongs to another one, its distances.

    Raises:
        DataError: a table is missing.
    """
    if lacking := [name for name in real if name not in synthetic]:
        raise DataError(f"expected the table {lacking[0]!r} among the synthetic ones, found none; add it")
    order, series = order or {}, series or {}
    keys = {}
    for stated in relations.values():
        ((foreign, other),) = stated.items()
        name, _, key = other.partition(".") if other not in real else (other, "", "")
        keys[name] = key or foreign
    found = {}
    for child, stated in relations.items():
        ((foreign, _),) = stated.items()
        first, second = (
            _View.of(tables, child, relations, keys, order.get(child)) for tables in (real, synthetic)
        )
        hidden = {foreign, keys.get(child, "")}
        found[child] = _compare(first, second, hidden, order.get(child), series.get(child))
    return found


def pairs_within(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[PairDistance, ...]:
    """How far the rows of a table are from the real ones, in all pairs of its columns."""
    groups = {str(name): _group_cells(real[name], synthetic[name]) for name in real.columns}
    return tuple(_distance(a, b, groups[a], groups[b]) for a, b in itertools.combinations(groups, 2))


@dataclass(frozen=True, eq=False)
class _View:
    """Rows of a table with what is above them, in order.

    Attributes:
        own: the table's columns.
        above: columns of the tables above, `table.column`.
        parent: number of the parent of each row, shape (N,).
        numbers: number of rows of each row of the parent table.
        orphans: share of rows of the table that are left out, because they have no parent.
    """

    own: pd.DataFrame
    above: pd.DataFrame
    parent: NDArray[np.int64]
    numbers: NDArray[np.int64]
    orphans: float
    _groups: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tables: Tables,
        child: str,
        relations: Relations,
        keys: Mapping[str, str],
        order: str | bool | None,
    ) -> _View:
        """The rows of one table."""
        rows = tables[child]
        places = _places(tables, child, relations, keys)
        held = np.flatnonzero(places >= 0)
        sorting = [rows[order].to_numpy()[held], places[held]] if isinstance(order, str) else [places[held]]
        held = held[np.lexsort(sorting)]
        parent = places[held]
        above: dict[str, NDArray[np.object_]] = {}
        name, at = child, held
        while name in relations:
            at = _places(tables, name, relations, keys)[at]
            ((_, other),) = relations[name].items()
            name = other if other in tables else other.partition(".")[0]
            hidden = {keys.get(name), *relations.get(name, ())}
            for column in tables[name].columns:
                if column not in hidden:
                    above[f"{name}.{column}"] = tables[name][column].to_numpy()[at]
        size = len(tables[_parent(tables, child, relations)])
        return cls(
            rows.iloc[held].reset_index(drop=True),
            pd.DataFrame(above),
            parent,
            np.bincount(parent, minlength=size).astype(np.int64),
            (len(rows) - len(held)) / max(len(rows), 1),
        )

    def last(self, series: str | None) -> NDArray[np.int64]:
        """Place of the row before of each row, or of the last one of its series; -1 for none."""
        codes = np.zeros(len(self.parent)) if series is None else pd.factorize(self.own[series])[0] + 1
        return last_of_series(self.parent, codes.astype(np.int64))

    @property
    def later(self) -> NDArray[np.intp]:
        """Places of the rows that have a row before."""
        return np.flatnonzero(self.parent[1:] == self.parent[:-1]) + 1


def _compare(
    real: _View, synthetic: _View, hidden: set[str], order: str | bool | None, series: str | None
) -> ChildEvaluation:
    columns = [name for name in real.own.columns if name not in hidden]
    own = {name: _group_cells(real.own[name], synthetic.own[name]) for name in columns}
    above = {name: _group_cells(real.above[name], synthetic.above[name]) for name in real.above.columns}
    within = pairs_within(real.own[columns], synthetic.own[columns])
    across = [_distance(a, b, own[a], above[b]) for a in columns for b in above]
    before: list[PairDistance] = []
    gaps = spans = None
    if order is not None:
        views = real, synthetic
        now, previous = dict(own), [name for name in own if name != order]
        if isinstance(order, str):
            between = _group_cells(*(pd.Series(_between(view, order)) for view in views))
            gaps = _total_variation(*between)
            spans = _kolmogorov(_spans(real, order), _spans(synthetic, order))
            now[order] = _at_places(between, views)
        in_order = [view.last(None) for view in views]
        in_series = in_order if series is None else [view.last(series) for view in views]
        for a, b in itertools.product(now, previous):
            last = in_order if b == series else in_series
            at = [np.flatnonzero(one >= 0) for one in last]
            places = [one[some] for one, some in zip(last, at, strict=True)]
            before.append(_distance(a, _previous(b), _take(now[a], at), _take(own[b], places)))
    return ChildEvaluation(
        (len(real.own), len(synthetic.own)),
        synthetic.orphans,
        _kolmogorov(real.numbers, synthetic.numbers),
        within,
        tuple(across),
        tuple(before),
        gaps,
        spans,
    )


_Both = tuple[NDArray[np.int64], NDArray[np.int64]]


def _group_cells(real: pd.Series, synthetic: pd.Series) -> _Both:
    """The groups of the cells of both tables; missing cells are the last one."""
    if _is_ordered(real):
        known = _numbers(real.dropna())
        values = np.unique(known)
        if len(values) <= COMPARED_GROUPS:
            # A value between two is that of its neighbour.
            edges = (values[1:] + values[:-1]) / 2
        else:
            edges = np.unique(
                np.quantile(known, np.arange(1, COMPARED_GROUPS) / COMPARED_GROUPS, method="inverted_cdf")
            )
        group: Callable[[pd.Series], NDArray[np.int64]] = lambda cells: np.searchsorted(  # noqa: E731
            edges, _numbers(cells), "left"
        )
        return _with_missing(real, group), _with_missing(synthetic, group)
    frequent = real.astype(str).value_counts().index
    kept = frequent[: COMPARED_GROUPS if len(frequent) <= COMPARED_GROUPS else COMPARED_GROUPS - 1]

    def group_of_name(cells: pd.Series) -> NDArray[np.int64]:
        found = pd.Index(kept).get_indexer(pd.Index(cells.astype(str)))
        return np.where(found < 0, len(kept), found)

    return _with_missing(real, group_of_name), _with_missing(synthetic, group_of_name)


def _is_ordered(cells: pd.Series) -> bool:
    kind = cells.dtype
    return not pd.api.types.is_bool_dtype(kind) and (
        pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind)
    )


def _numbers(cells: pd.Series) -> NDArray[np.float64]:
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        cells = pd.Series(cells.to_numpy("datetime64[s]").astype(np.int64))
    numbers: NDArray[np.float64] = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64)
    return numbers


def _with_missing(cells: pd.Series, group: Callable[[pd.Series], NDArray[np.int64]]) -> NDArray[np.int64]:
    found = np.full(len(cells), COMPARED_GROUPS + 1, dtype=np.int64)
    known = cells.notna().to_numpy()
    found[known] = group(cells[known])
    return found


def _distance(one: str, other: str, first: _Both, second: _Both) -> PairDistance:
    width = COMPARED_GROUPS + 2
    cells = [a * width + b for a, b in zip(first, second, strict=True)]
    shares = _shares(cells[0], width * width).reshape(width, width)
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    synthetic = _shares(cells[1], width * width).reshape(width, width)
    return PairDistance(
        one, other, float(np.abs(shares - synthetic).sum() / 2), float(np.abs(shares - apart).sum() / 2)
    )


def _total_variation(real: NDArray[np.int64], synthetic: NDArray[np.int64]) -> float:
    return float(
        np.abs(_shares(real, COMPARED_GROUPS + 2) - _shares(synthetic, COMPARED_GROUPS + 2)).sum() / 2
    )


def _shares(cells: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.bincount(cells, minlength=size) / max(len(cells), 1)
    return shares


def _kolmogorov(real: NDArray[np.generic], synthetic: NDArray[np.generic]) -> float:
    if not len(real) or not len(synthetic):
        return float(len(real) != len(synthetic))
    at = np.unique(np.concatenate([real, synthetic]))
    one, other = (np.searchsorted(np.sort(values), at, "right") / len(values) for values in (real, synthetic))
    return float(np.abs(one - other).max())


def _take(codes: _Both, places: Iterable[NDArray[np.intp]]) -> _Both:
    real, synthetic = (held[at] for held, at in zip(codes, places, strict=True))
    return real, synthetic


def _between(view: _View, order: str) -> NDArray[np.float64]:
    values = _numbers(view.own[order])
    return values[view.later] - values[view.later - 1]


def _at_places(codes: _Both, views: tuple[_View, _View]) -> _Both:
    """Codes of rows that have a row before, each at the place of its row."""
    found = [np.zeros(len(view.parent), dtype=np.int64) for view in views]
    for one, held, view in zip(found, codes, views, strict=True):
        one[view.later] = held
    return found[0], found[1]


def _spans(view: _View, order: str) -> NDArray[np.float64]:
    values = _numbers(view.own[order])
    first = np.flatnonzero(np.append(True, view.parent[1:] != view.parent[:-1])[: len(values)])
    last = np.append(first[1:], len(values))[: len(first)] - 1
    spans: NDArray[np.float64] = values[last] - values[first]
    return spans


def _previous(column: str) -> str:
    return f"previous {column}"


def _parent(tables: Tables, child: str, relations: Relations) -> str:
    ((_, other),) = relations[child].items()
    return other if other in tables else other.partition(".")[0]


def _places(tables: Tables, child: str, relations: Relations, keys: Mapping[str, str]) -> NDArray[np.int64]:
    """For each row its row of the parent table; -1 for an orphan."""
    ((foreign, _),) = relations[child].items()
    parent = _parent(tables, child, relations)
    index = pd.Index(tables[parent][keys[parent]])
    places: NDArray[np.int64] = index.get_indexer(pd.Index(tables[child][foreign])).astype(np.int64)
    return places
