"""What `interval_coverage.py` asks of a release of a table, with the real table's answers.

Which columns the questions of a kind are about is drawn once for a table, by its name. Truth is what pandas
and statsmodels find in the real table; a group has at least 2 % of the records.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from intervals import LEAST_GROUP, Z, fitted

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.analysis.estimators.correlation import correlation
from dpmosaic.curator.analysis.estimators.estimates import Estimates
from dpmosaic.curator.analysis.estimators.means import difference, mean, proportion
from dpmosaic.curator.analysis.estimators.regression import linear, logistic
from dpmosaic.curator.analysis.published import Published
from dpmosaic.curator.analysis.queries.answering import answer

MOST_LEVELS = 12
"""A category of more values is wide: it makes no groups of "groups" and "shares", and is not a regressor."""

MOST_WIDE = 200

ASKED = {
    "groups": 6,
    "differences": 6,
    "shares": 8,
    "linear": 5,
    "logistic": 5,
    "correlations": 6,
    "wide": 8,
    "medians": 6,
    "conditions": 12,
}
"""Questions of each kind about a table, at most; a question about groups has a number for each."""

KINDS = ("means", *ASKED)

Truth = Mapping[str, tuple[float, float]]
"""Name of an estimate -> the real table's number, and its standard error by sampling."""


@dataclass(frozen=True)
class Question:
    """One question, with the real table's answers.

    Attributes:
        kind: one of `KINDS`.
        arguments: of the function that answers it, after the release.
        truth: the real table's answers.
        ask: the function; None for SQL.
        named: its other arguments.
    """

    kind: str
    arguments: tuple[Any, ...]
    truth: Truth
    ask: Callable[..., Estimates] | None = None
    named: Mapping[str, Any] | None = None

    def answers(self, published: Published) -> Mapping[str, Mapping[str, float]]:
        """The release's answers by name, each with its interval and standard errors."""
        if self.ask is None:
            return dict(_of_query(published, self.arguments[0]))
        found = self.ask(published, *self.arguments, **self.named or {}, of="table")
        columns = found.frame[
            ["released", "estimate", "low", "high", "noise", "unexplained", "reach", "note"]
        ]
        return {str(name): row.to_dict() for name, row in columns.iterrows()}


def _of_query(published: Published, text: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    for row in answer(published, text).rows:
        one, half = row.estimates[0], (row.estimates[0].high - row.estimates[0].low) / 2
        errors = {"noise": half / Z, "unexplained": 0.0, "note": one.note}
        yield (
            "=".join(map(_text, row.key)),
            {"estimate": one.value, "low": one.low, "high": one.high, **errors},
        )


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float | np.number) else str(value)


@dataclass(frozen=True)
class _Columns:
    """The columns of a table, by what may be asked of them."""

    frame: pd.DataFrame
    numbers: Sequence[str]
    groups: Sequence[str]
    wide: Sequence[str]

    @classmethod
    def of(cls, domain: Domain, frame: pd.DataFrame) -> _Columns:
        levels = {one: frame[one].nunique() for one in domain}
        numbers = [one for one in domain if isinstance(domain[one], NumericAttribute) and levels[one] > 2]
        others = [one for one in domain if one not in numbers]
        return cls(
            frame,
            numbers,
            [one for one in others if 2 <= levels[one] <= MOST_LEVELS],
            [one for one in others if MOST_LEVELS < levels[one] <= MOST_WIDE],
        )


def questions_of(name: str, domain: Domain, frame: pd.DataFrame) -> list[Question]:
    """The questions about a table: all means, and others drawn by its name."""
    rng, columns = np.random.default_rng(list(name.encode())), _Columns.of(domain, frame)
    found = [Question("means", (one,), {one: _mean(frame[one])}, mean) for one in columns.numbers]
    found += _comparisons(rng, columns)
    found += _regressions(rng, columns)
    for kind in (_of_wide, _medians, _conditions):
        found += kind(np.random.default_rng(list(name.encode())), columns)
    return found


def _comparisons(rng: np.random.Generator, columns: _Columns) -> Iterator[Question]:
    frame, crossed = columns.frame, [*itertools.product(columns.numbers, columns.groups)]
    for one, by in _some(rng, crossed, "groups"):
        truth = {f"{by}={level}": _mean(rows[one]) for level, rows in _groups(frame, by)}
        yield Question("groups", (one,), truth, mean, {"by": by})
    for one, by in _some(rng, crossed, "differences"):
        first, second, *_ = frame[by].value_counts().index
        parts = [_mean(frame[one][frame[by] == level]) for level in (first, second)]
        apart = parts[0][0] - parts[1][0], float(np.hypot(*(p[1] for p in parts)))
        name = f"{one}: {by}={first} - {by}={second}"
        yield Question("differences", (one, (by, first, second)), {name: apart}, difference)
    for one, by in _some(rng, [*itertools.permutations(columns.groups, 2)], "shares"):
        value = frame[one].value_counts().index[int(rng.integers(2))]
        yield Question("shares", (one, value), _shares(frame, one, value, by), proportion, {"by": by})
    for one, other in _some(rng, [*itertools.combinations(columns.numbers, 2)], "correlations"):
        known = frame[[one, other]].dropna()
        r = float(known.corr().iloc[0, 1])
        truth = {f"{one}, {other}": (r, (1 - r**2) / len(known) ** 0.5)}
        yield Question("correlations", (one, other), truth, correlation)


def _regressions(rng: np.random.Generator, columns: _Columns) -> Iterator[Question]:
    frame = columns.frame
    small = [one for one in columns.groups if frame[one].nunique() <= MOST_LEVELS // 2]
    for kind, responses in (("linear", columns.numbers), ("logistic", small)):
        asked = 0
        while responses and asked < ASKED[kind]:
            asked += 1
            y = str(rng.choice(responses))
            x = [str(one) for one in rng.permutation([one for one in (*columns.numbers, *small) if one != y])]
            x = x[: int(rng.integers(2, 4))]
            if any(_follows(frame, one, other) for one, other in itertools.combinations(x, 2)):
                continue
            try:
                if kind == "linear":
                    yield Question(
                        kind, (y, x), fitted(frame, frame[y], x, sm.OLS, 1.0, cov_type="HC0"), linear
                    )
                else:
                    value = frame[y].value_counts().index[-1 if frame[y].nunique() == 2 else 1]
                    response = (frame[y] == value).where(frame[y].notna())
                    truth = fitted(frame, response, x, sm.Logit, 1.0, disp=0)
                    yield Question(kind, (y, x), truth, logistic, {"positive": value})
            except (np.linalg.LinAlgError, sm.tools.sm_exceptions.PerfectSeparationError):
                continue


def _of_wide(rng: np.random.Generator, columns: _Columns) -> Iterator[Question]:
    """Shares of common values of wide categories, and means and shares in groups by them."""
    frame = columns.frame
    for one, by in _some(rng, [*itertools.product(columns.wide, columns.groups)], "wide"):
        value = frame[one].value_counts().index[int(rng.integers(5))]
        yield Question("wide", (one, value), _shares(frame, one, value, by), proportion, {"by": by})
    crossed = [*itertools.product([*columns.numbers, *columns.groups], columns.wide)]
    for one, by in _some(rng, crossed, "wide"):
        if one in columns.numbers:
            truth = {f"{by}={level}": _mean(rows[one]) for level, rows in _groups(frame, by)}
            yield Question("wide", (one,), truth, mean, {"by": by})
        else:
            value = frame[one].value_counts().index[0]
            yield Question("wide", (one, value), _shares(frame, one, value, by), proportion, {"by": by})


def _medians(rng: np.random.Generator, columns: _Columns) -> Iterator[Question]:
    """Medians and 90 % quantiles of numbers, of all records and of groups."""
    frame = columns.frame
    for one in columns.numbers:
        share = float(rng.choice([0.5, 0.9]))
        sql = f'SELECT QUANTILE("{one}", {share}) AS x FROM release'
        yield Question("medians", (sql,), {"": _quantile(frame[one], share)})
    for one, by in _some(rng, [*itertools.product(columns.numbers, columns.groups)], "medians"):
        sql = f'SELECT "{by}", MEDIAN("{one}") AS x FROM release GROUP BY "{by}"'
        truth = {_text(level): _quantile(rows[one], 0.5) for level, rows in _groups(frame, by)}
        yield Question("medians", (sql,), truth)


def _conditions(rng: np.random.Generator, columns: _Columns) -> Iterator[Question]:
    """Counts, shares and means of records that satisfy a condition on one or two columns."""
    frame, every = columns.frame, [*columns.numbers, *columns.groups, *columns.wide]
    for one, other in _some(rng, [*itertools.permutations(every, 2)], "conditions"):
        (first, holds), (second, also) = (_condition(rng, columns, name) for name in (one, other))
        both, n = holds & also, len(frame)
        count = float(both.sum())
        error = max(count * (1 - count / n), 1.0) ** 0.5
        sql = f"SELECT COUNT(*) AS x FROM release WHERE {first} AND {second}"
        yield Question("conditions", (sql,), {"": (count, error)})
        if also.sum() < LEAST_GROUP * n:
            continue
        sql = f"SELECT SHARE({first}) AS x FROM release WHERE {second}"
        known = also & frame[one].notna()
        yield Question("conditions", (sql,), {"": _share(holds[known])})
        if one in columns.numbers:
            sql = f'SELECT AVG("{one}") AS x FROM release WHERE {second}'
            yield Question("conditions", (sql,), {"": _mean(frame[one][also])})


def _condition(rng: np.random.Generator, columns: _Columns, name: str) -> tuple[str, pd.Series]:
    """A condition on a column as SQL, and which records satisfy it."""
    column = columns.frame[name]
    if name in columns.numbers:
        bound = float(f"{column.quantile(float(rng.uniform(0.2, 0.9))):.3g}")
        return f'"{name}" > {bound:.12g}', column > bound
    counts = column.value_counts()
    value = counts.index[int(rng.integers(min(len(counts), 4)))]
    written = str(value).replace("'", "''")
    sql = f"'{written}'" if isinstance(value, str) else written
    return f'"{name}" = {sql}', column == value


def _follows(frame: pd.DataFrame, one: str, other: str) -> bool:
    """Whether one column nearly follows from the other, so that a regression on both says nothing."""
    codes = [
        frame[name] if frame[name].dtype.kind == "f" else frame[name].astype("category").cat.codes
        for name in (one, other)
    ]
    return bool(abs(codes[0].corr(codes[1])) > 0.9)


def _some(rng: np.random.Generator, every: Sequence[Any], kind: str) -> list[Any]:
    chosen = rng.permutation(len(every))[: ASKED[kind]]
    return [every[place] for place in sorted(chosen)]


def _groups(frame: pd.DataFrame, by: str) -> Iterator[tuple[Any, pd.DataFrame]]:
    for level, rows in frame.groupby(by, observed=True):
        if len(rows) >= LEAST_GROUP * len(frame):
            yield level, rows


def _shares(frame: pd.DataFrame, one: str, value: Any, by: str) -> Truth:
    groups = _groups(frame, by)
    return {f"{by}={level}": _share(rows[one].dropna() == value) for level, rows in groups}


def _share(holds: pd.Series) -> tuple[float, float]:
    share, n = float(holds.mean()), len(holds)
    return share, float((max(share * (1 - share), 1 / n) / n) ** 0.5)


def _mean(column: pd.Series) -> tuple[float, float]:
    known = column.dropna()
    return float(known.mean()), float(known.sem())


def _quantile(column: pd.Series, share: float) -> tuple[float, float]:
    """The smallest value that has a share of the others below it, and half of Woodruff's interval over Z."""
    known = column.dropna()
    off = Z * (share * (1 - share) / len(known)) ** 0.5
    at = np.clip([share, share - off, share + off], 0, 1)
    value, low, high = map(float, np.quantile(known, at, method="inverted_cdf"))
    return value, (high - low) / (2 * Z)
