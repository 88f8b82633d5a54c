"""Rows that break no rule of their domain, whatever model they were drawn from; post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.rules.determines import Determines
from ...common.data.rules.inside import agreeing
from ...common.data.rules.rule import Rule, components
from ...common.data.rules.satisfying import example
from ...common.data.table import Table, code_dtype
from ..mechanisms.parts.fitted import FittedModel
from .likely_map import likely_map, measured_likelihoods, modelled_likelihoods

_ROW_REDRAWS = 10
"""Times that rows which break a rule are drawn anew."""

_CHOICES = 4096
"""Most combinations of codes among which the nearest is looked for."""

Mask = NDArray[np.bool_]


class Source(Protocol):
    """What rows are drawn from."""

    def generate(self, rows: int, rng: np.random.Generator) -> Table:
        """So many rows, in random order."""
        ...


def obedient(rows: Table, fitted: FittedModel, rng: np.random.Generator) -> Table:
    """The rows, changed where they break a rule.

    1. Columns that follow from others are set: a determined value, a missing one, a total outside the sum of
       its parts. A dependency without a map gets the most likely one (`likely_map`).
    2. Rows that still break a rule are drawn anew, up to ten times. So the others are distributed as in the
       model, given the rules.
    3. What is left gets, in the columns of the broken rules, the codes of the most similar row that breaks
       none.

    Args:
        rows: drawn from the model.
        fitted: the released distribution and its measurements.
        rng: source of randomness; its seed determines the result.
    """
    return obeying(rows, with_maps(rows.domain, fitted, rows), fitted.model, rng)


def obeying(rows: Table, rules: Sequence[Rule], source: Source, rng: np.random.Generator) -> Table:
    """The rows, changed where they break one of these rules, which have maps; see `obedient`.

    Args:
        rows: drawn from the source.
        rules: all rules of the domain.
        source: rows are drawn anew from it.
        rng: source of randomness.
    """
    if not rules:
        return rows
    rows = with_dependents(rows, rules)
    for _ in range(_ROW_REDRAWS):
        bad = np.flatnonzero(breaking(rows, rules))
        if not len(bad):
            return rows
        fresh = with_dependents(source.generate(len(bad), rng), rules)
        good = np.flatnonzero(~breaking(fresh, rules))
        rows = _replace_rows(rows, bad[: len(good)], fresh.take(good), rows.domain.names)
    for together in components(rules):
        rows = _nearest(rows, together, rng)
    return rows


def with_maps(domain: Domain, fitted: FittedModel | None, rows: Table) -> tuple[Rule, ...]:
    """The rules of a domain; dependencies without a map get the most likely one, by rows alone if need be."""
    return tuple(
        _with_likely_map(rule, domain, fitted, rows)
        if isinstance(rule, Determines) and rule.pairs is None
        else rule
        for rule in domain.rules
    )


def _with_likely_map(rule: Determines, domain: Domain, fitted: FittedModel | None, rows: Table) -> Determines:
    clique = domain.canonical(rule.columns)
    found = None if fitted is None else fitted.model.marginals_within_limits([clique])[0]
    counts = (rows.marginal(clique) if found is None else found).reshape(domain.shape(clique))
    counts = counts.astype(np.float64) if clique == rule.columns else counts.T.astype(np.float64)
    records, wanted = counts.sum(axis=1), counts.sum(axis=0)
    measurements = () if fitted is None else fitted.measurements
    measured = measured_likelihoods(measurements, domain, rule.columns, records)
    likelihoods = modelled_likelihoods(counts) if measured is None else measured
    excluded = _excluded_cells(rule, domain)
    return rule.with_map(domain, likely_map(np.where(excluded, -np.inf, likelihoods), records, wanted))


def _excluded_cells(rule: Determines, domain: Domain) -> Mask:
    """The cells of a dependency's columns that other rules exclude, except where they leave no value."""
    places = np.ix_(*(np.arange(domain[name].size) for name in rule.columns))
    codes = dict(zip(rule.columns, places, strict=True))
    found = np.zeros(domain.shape(rule.columns), dtype=np.bool_)
    for other in domain.rules:
        if set(other.columns) <= set(rule.columns):
            found |= other.forbids(domain, codes)
    return found & ~found.all(axis=1, keepdims=True)


def with_dependents(rows: Table, rules: Sequence[Rule]) -> Table:
    """The rows with the columns that follow from others set."""
    codes = agreeing(rows.domain, rules, dict(zip(rows.domain.names, rows.columns, strict=True)))
    for rule in rules:
        for name, found in rule.dependent(rows.domain, codes).items():
            codes[name] = found.astype(code_dtype(rows.domain[name].size))
    return Table(rows.domain, tuple(codes[name] for name in rows.domain))


def breaking(rows: Table, rules: Sequence[Rule]) -> Mask:
    """Whether each row breaks a rule."""
    codes = dict(zip(rows.domain.names, rows.columns, strict=True))
    found = np.zeros(rows.record_count, dtype=np.bool_)
    for rule in rules:
        found |= rule.forbids(rows.domain, codes)
    return found


def _replace_rows(rows: Table, places: NDArray[np.int64], others: Table, names: Clique) -> Table:
    """The rows with those at these places replaced in some columns."""
    columns = []
    for name, column, other in zip(rows.domain, rows.columns, others.columns, strict=True):
        if name in names:
            column = column.copy()
            column[places] = other
        columns.append(column)
    return Table(rows.domain, tuple(columns))


def _nearest(rows: Table, rules: Sequence[Rule], rng: np.random.Generator) -> Table:
    """Rows that break one of these rules get the codes of the most similar row in the rules' columns."""
    bad = breaking(rows, rules)
    if not bad.any():
        return rows
    names = rows.domain.canonical({name for rule in rules for name in rule.columns})
    good = np.flatnonzero(~bad)
    pool = rows.take(rng.permutation(good)[:_CHOICES])
    if not len(good):
        # All rows get the same codes, so they obey a dependency whatever its map.
        found = example(rows.domain) or dict.fromkeys(rows.domain, 0)
        pool = Table.from_codes(rows.domain, {name: np.array([code]) for name, code in found.items()})
    choices = np.unique(np.column_stack([pool.column(name) for name in names]).astype(np.int64), axis=0)
    places = np.flatnonzero(bad)
    codes = np.column_stack([rows.column(name)[places] for name in names]).astype(np.int64)
    chosen = [choices[(choices != row).sum(axis=1).argmin()] for row in codes]
    others = rows.take(places)
    columns = dict(zip(names, np.array(chosen).T, strict=True))
    others = Table.from_codes(rows.domain, {n: columns.get(n, others.column(n)) for n in rows.domain})
    return _replace_rows(rows, places, others, names)
