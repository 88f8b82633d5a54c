"""Whether intervals hold: shares of 95 % intervals that contain the real table's number, by table and kind.

Each table of `interval_tables.py` is released with other noise for each seed (delta 1e-9, trusted, bins
chosen by the release), and each release answers the same questions: means of all numbers, of groups,
differences of two groups, shares, linear and logistic regressions, and correlations. Which columns they are
about is drawn once for a table. Truth is what pandas and statsmodels find in the real table.

For each table and kind: the share of intervals that contain the truth, the share of questions that got one,
the median width as a multiple of the interval that the real table gives about the population, and the root
mean square of errors in units of their stated standard errors, which is 1 where these are right.

Run: python benchmarks/interval_coverage.py --releases FOLDER [--tables pay ...] [--seeds 3] [--epsilon 1 .3]

Releases are kept in the folder and used again by the next run. --answers FILE writes all answers as CSV.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from interval_tables import TABLES, table_of
from intervals import LEAST_GROUP, Z, fitted, frame_of, released

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.estimators.correlation import correlation
from dpmosaic.curator.analysis.estimators.estimates import Estimates
from dpmosaic.curator.analysis.estimators.means import difference, mean, proportion
from dpmosaic.curator.analysis.estimators.regression import linear, logistic
from dpmosaic.curator.analysis.published import Published

MOST_LEVELS = 12
"""A category of more values makes no groups, and is not a regressor."""

ASKED = {"groups": 6, "differences": 6, "shares": 8, "linear": 5, "logistic": 5, "correlations": 6}
"""Questions of each kind about a table, at most; a question about groups has a number for each."""

KINDS = ("means", *ASKED)


@dataclass(frozen=True)
class Question:
    """One question, with the real table's answers.

    Attributes:
        kind: one of `KINDS`.
        arguments: of the function that answers it, after the release.
        truth: name of an estimate -> the real table's number, and its standard error by sampling.
    """

    kind: str
    arguments: tuple[Any, ...]
    truth: Mapping[str, tuple[float, float]]

    def answer(self, published: Published) -> Estimates:
        """The release's answer."""
        first, *others = self.arguments
        if self.kind in ("means", "groups"):
            return mean(published, first, by=others[0] if others else None, of="table")
        if self.kind == "differences":
            return difference(published, first, others[0], of="table")
        if self.kind == "shares":
            return proportion(published, first, others[0], by=others[1], of="table")
        if self.kind == "correlations":
            return correlation(published, first, others[0], of="table")
        if self.kind == "linear":
            return linear(published, first, others[0], of="table")
        return logistic(published, first, others[1], positive=others[0], of="table")


def main() -> None:
    """Prints the figures of each table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--releases", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--answers", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found: list[pd.DataFrame] = []
    for name, epsilon in itertools.product(asked.tables, asked.epsilon):
        found.append(answered(name, epsilon, asked.seeds, asked.releases))
        print(f"{name}, epsilon {epsilon:g}, {asked.seeds} releases\n{figures(found[-1])}\n", flush=True)
        if asked.answers:
            pd.concat(found).to_csv(asked.answers, index=False)
    print(f"all\n{figures(pd.concat(found))}\n\n{markdown(found)}")


def answered(name: str, epsilon: float, seeds: int, releases: Path) -> pd.DataFrame:
    """The answers of all releases of a table, one row for each number."""
    domain, raw = table_of(name)
    questions, rows = questions_of(name, domain, frame_of(domain, raw)), list[dict[str, Any]]()
    for seed in range(seeds):
        published = released(domain, raw, releases / f"{name}-{epsilon:g}" / str(seed), seed, epsilon)
        label = {"table": name, "epsilon": epsilon, "seed": seed}
        rows += [label | row for question in questions for row in answers(question, published)]
    return with_figures(pd.DataFrame(rows))


def answers(question: Question, published: Published) -> Iterator[dict[str, Any]]:
    """One row for each number that is asked for."""
    try:
        estimates = question.answer(published)
    except DataError:
        estimates = None
    places = {} if estimates is None else {name: place for place, name in enumerate(estimates.names)}
    for name, (truth, sampling) in question.truth.items():
        place = places.get(name)
        row = {"kind": question.kind, "question": str(question.arguments), "name": name}
        row |= {"truth": truth, "sampling": sampling}
        if place is not None:
            row |= {"released": estimates.released[place], "estimate": estimates.estimate[place]}
            row |= {"low": estimates.low[place], "high": estimates.high[place]}
            row |= {
                key: errors[place] for key, errors in estimates.errors._asdict().items() if key != "sampling"
            }
            row |= {"reach": estimates.reach[place], "note": estimates.notes[place]}
        yield row


def with_figures(rows: pd.DataFrame) -> pd.DataFrame:
    """Answers with what is counted of them."""
    return rows.assign(
        given=np.isfinite(rows["low"]),
        held=(rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"]),
        width=(rows["high"] - rows["low"]) / (2 * Z * rows["sampling"]),
        z=(rows["estimate"] - rows["truth"]) / np.hypot(rows["noise"], rows["unexplained"]),
    )


def figures(rows: pd.DataFrame) -> str:
    """The figures of each kind of question, as text."""
    return "\n".join(f"  {kind:12} {_figures_of(rows[rows['kind'] == kind])}" for kind in KINDS)


def markdown(found: Sequence[pd.DataFrame]) -> str:
    """A table of all figures, by table and epsilon."""
    named = {f"{one.at[0, 'table']}, {one.at[0, 'epsilon']:g}": one for one in found} | {
        "all": pd.concat(found)
    }
    lines = [f"| hold, answered, width, errors | {' | '.join(KINDS)} |", f"|{'---|' * (len(KINDS) + 1)}"]
    for name, rows in named.items():
        lines.append(f"| {name} | {' | '.join(_figures_of(rows[rows['kind'] == kind]) for kind in KINDS)} |")
    return "\n".join(lines)


def _figures_of(rows: pd.DataFrame) -> str:
    """How many intervals hold, how many numbers have one, width, and errors in standard errors."""
    given = rows[rows["given"]]
    if not len(given):
        return "none" if len(rows) else ""
    error = float(np.sqrt((given["z"] ** 2).mean()))
    held, answered = given["held"].mean(), rows["given"].mean()
    return f"{held:.2f} of {len(given)}, {answered:.0%}, {given['width'].median():.1f}, {error:.2f}"


def questions_of(name: str, domain: Domain, frame: pd.DataFrame) -> list[Question]:
    """The questions about a table: all means, and others drawn by its name."""
    rng = np.random.default_rng(list(name.encode()))
    numbers = [
        one for one in domain if isinstance(domain[one], NumericAttribute) and frame[one].nunique() > 2
    ]
    groups = [one for one in domain if one not in numbers and 2 <= frame[one].nunique() <= MOST_LEVELS]
    found = [Question("means", (one,), {one: _mean(frame[one])}) for one in numbers]
    crossed = [*itertools.product(numbers, groups)]
    for one, by in _some(rng, crossed, "groups"):
        truth = {f"{by}={level}": _mean(rows[one]) for level, rows in _groups(frame, by)}
        found.append(Question("groups", (one, by), truth))
    for one, by in _some(rng, crossed, "differences"):
        first, second, *_ = frame[by].value_counts().index
        parts = [_mean(frame[one][frame[by] == level]) for level in (first, second)]
        truth = {
            f"{one}: {by}={first} - {by}={second}": (
                parts[0][0] - parts[1][0],
                float(np.hypot(*(p[1] for p in parts))),
            )
        }
        found.append(Question("differences", (one, (by, first, second)), truth))
    for one, by in _some(rng, [*itertools.permutations(groups, 2)], "shares"):
        value = frame[one].value_counts().index[int(rng.integers(2))]
        shares = {}
        for level, rows in _groups(frame, by):
            known = rows[one].dropna()
            share = float((known == value).mean())
            shares[f"{by}={level}"] = (
                share,
                max(share * (1 - share), 1 / len(known)) ** 0.5 / len(known) ** 0.5,
            )
        found.append(Question("shares", (one, value, by), shares))
    for one, other in _some(rng, [*itertools.combinations(numbers, 2)], "correlations"):
        known = frame[[one, other]].dropna()
        r = float(known.corr().iloc[0, 1])
        found.append(
            Question("correlations", (one, other), {f"{one}, {other}": (r, (1 - r**2) / len(known) ** 0.5)})
        )
    found += _regressions(rng, frame, numbers, groups)
    return found


def _regressions(
    rng: np.random.Generator, frame: pd.DataFrame, numbers: Sequence[str], groups: Sequence[str]
) -> Iterator[Question]:
    small = [one for one in groups if frame[one].nunique() <= MOST_LEVELS // 2]
    for kind, responses in (("linear", numbers), ("logistic", small)):
        asked = 0
        while responses and asked < ASKED[kind]:
            asked += 1
            y = str(rng.choice(responses))
            x = [str(one) for one in rng.permutation([one for one in (*numbers, *small) if one != y])]
            x = x[: int(rng.integers(2, 4))]
            if any(_follows(frame, one, other) for one, other in itertools.combinations(x, 2)):
                continue
            try:
                if kind == "linear":
                    truth = fitted(frame, frame[y], x, sm.OLS, 1.0, cov_type="HC0")
                    yield Question(kind, (y, x), truth)
                else:
                    value = frame[y].value_counts().index[-1 if frame[y].nunique() == 2 else 1]
                    response = (frame[y] == value).where(frame[y].notna())
                    yield Question(kind, (y, value, x), fitted(frame, response, x, sm.Logit, 1.0, disp=0))
            except (np.linalg.LinAlgError, sm.tools.sm_exceptions.PerfectSeparationError):
                continue


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
    """Groups of at least 2 % of the records."""
    for level, rows in frame.groupby(by, observed=True):
        if len(rows) >= LEAST_GROUP * len(frame):
            yield level, rows


def _mean(column: pd.Series) -> tuple[float, float]:
    known = column.dropna()
    return float(known.mean()), float(known.sem())


if __name__ == "__main__":
    main()
