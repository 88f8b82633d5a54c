"""The columns of a regression: numbers as they are, categories as indicators against the most common one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.errors import DataError
from ..conditions import Where
from ..published import Published
from .formula import Term, is_number, numbers_at, read_formula
from .places import Places
from .selection import is_numeric, levels_of, numbers_of, rows_at, rows_where, rows_with

Array = NDArray[np.float64]

INTERCEPT = "intercept"

MOST_COEFFICIENTS = 40
"""Largest number of coefficients; the sums over pairs of them have to be estimated too."""


@dataclass(frozen=True, eq=False)
class Design:
    """A regression's rows, and places where the release has none. What is left out has zeros everywhere.

    Attributes:
        names: of the coefficients, the intercept first.
        terms: of each coefficient the term of the formula; several belong to a category.
        places: where the columns are known.
        regressors: shape (places, p).
        response: shape (places,).
        used: whether a place counts, shape (places,).
        columns: of the table, on which it depends.
        separated: categories whose rows are left out, since all of them have the same response.
    """

    names: tuple[str, ...]
    terms: tuple[str, ...]
    places: Places
    regressors: Array
    response: Array
    used: NDArray[np.bool_]
    columns: tuple[str, ...]
    separated: tuple[str, ...] = ()

    def with_two_values(self) -> Design:
        """This design for a logistic regression, without separated categories.

        Raises:
            DataError: the response has other values than 0 and 1.
        """
        if not np.isin(self.response, (0, 1)).all():
            raise DataError(
                "expected a response of two values, got more; say which value is positive, or use linear"
            )
        return self.without_separated()

    def without_separated(self) -> Design:
        """This design without categories whose rows all have the same response, and without those rows."""
        used, separated = self.used.copy(), set[str]()
        for name, column in zip(self.names, self.regressors.T, strict=True):
            there = used & (column != 0)
            rows = there & self.places.own
            if np.isin(column, (0, 1)).all() and not there.all() and np.ptp(self.response[rows]) == 0:
                used &= ~there
                separated.add(name)
        kept = [name not in separated for name in self.names]
        return replace(
            self,
            names=tuple(name for name in self.names if name not in separated),
            terms=tuple(term for term, stays in zip(self.terms, kept, strict=True) if stays),
            regressors=self.regressors[:, kept] * used[:, None],
            response=self.response * used,
            used=used,
            separated=tuple(name for name in self.names if name in separated),
        )

    @classmethod
    def of(
        cls,
        published: Published,
        y: str,
        x: Sequence[str] | None,
        positive: Any,
        where: Where | None,
        also: tuple[str, ...] = (),
    ) -> Design:
        """The design of a regression.

        Args:
            published: the release.
            y: the response, or a formula such as "income ~ age + education"; see `formula`.
            x: the terms that explain it; None with a formula.
            positive: the value of the response that counts as one; `...` for numbers, true and false, or the
                second of two categories.
            where: which rows count.
            also: further columns, on which functions at its places depend.

        Raises:
            DataError: the formula cannot be read, a column does not fit, or there are too many coefficients.
        """
        response, regressors = read_formula(y, x, published.domain.names)
        columns = tuple(dict.fromkeys(term.column for term in (response, *regressors)))
        places = Places.of(published, (*columns, *also), where)
        selected = rows_where(places, where)
        values = _response(published, places, response, positive, selected.rows)
        used = selected.rows & ~np.isnan(values)
        for name in columns[1:]:
            used &= ~places.frame[name].isna().to_numpy()
        names, terms, found = [INTERCEPT], [INTERCEPT], [np.ones(len(values))]
        for term in regressors:
            name = term.name
            if is_number(places, term):
                names.append(name)
                terms.append(name)
                found.append(np.nan_to_num(numbers_at(places, term, used)))
                continue
            for level in _contrasts(published, term.column, used[places.own]):
                names.append(f"{name}={level}")
                terms.append(name)
                found.append(rows_at(places, term.column, level).astype(np.float64))
            if len(names) > MOST_COEFFICIENTS:
                raise DataError(
                    f"expected at most {MOST_COEFFICIENTS} coefficients, got more with column {name!r}; "
                    "leave out columns with many categories"
                )
        if (used & places.own).sum() <= len(names):
            raise DataError(
                "where: expected more rows of the release than coefficients, got fewer; relax the condition"
            )
        return cls(
            tuple(names),
            tuple(terms),
            places,
            np.column_stack(found) * used[:, None],
            np.nan_to_num(values) * used,
            used,
            (*columns, *also, *selected.columns),
        )


def _response(
    published: Published, places: Places, term: Term, positive: Any, rows: NDArray[np.bool_]
) -> Array:
    name = term.column
    if term.function == "log":
        return numbers_at(places, term, rows)
    if positive is ...:
        levels = [] if is_numeric(published, name) else levels_of(published, name)
        if not levels or pd.api.types.is_bool_dtype(published.frame[name].dtype):
            return numbers_of(places, name)
        if len(levels) != 2:
            raise DataError(
                f"column {name!r}: expected numbers or two categories, got {len(levels)} categories; say "
                "which one is positive"
            )
        positive = levels[1]
    found = rows_with(places, name, positive).astype(np.float64)
    found[places.frame[name].isna().to_numpy()] = np.nan
    return found


def _contrasts(published: Published, name: str, used: NDArray[np.bool_]) -> list[Any]:
    """The values of a column that get a coefficient: all that occur, but for the most common."""
    counts = published.frame[name][used].value_counts()
    levels = [level for level in levels_of(published, name) if counts.get(level, 0) > 0]
    if len(levels) < 2:
        raise DataError(f"column {name!r}: expected two or more values among the rows, got one; leave it out")
    reference = max(levels, key=lambda level: int(counts[level]))
    return [level for level in levels if level != reference]
