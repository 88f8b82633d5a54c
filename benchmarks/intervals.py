"""Whether intervals hold: shares of 95 % intervals that contain the real value, over many releases.

Each table is released again and again with other noise (delta 1e-9, trusted, bins chosen by the release),
and each release answers the same questions: means of all numbers and of groups, shares of a value in groups
of at least 2 % of the records, coefficients of linear and logistic regressions. Truth is what statsmodels and
pandas find in the real table; the intervals are of the table. For "generated" and "pay" each seed makes a new
table from a known generator, and truth is the generator's: the intervals are of the population. "pay" has
columns of 75 and 501 values, of which few are common.

For each kind of question: the share of questions that got an interval; the share of intervals that contain
the truth; their median width, as a multiple of the interval that the real table gives about the population;
and how many would contain the truth if they were computed from the synthetic rows as if these were real.

Run: python benchmarks/intervals.py adult --data FOLDER --releases FOLDER [--seeds 200] [--epsilon 1]

FOLDER holds adult, nltcs or titanic, with NAME.csv.gz and domain.json. Releases are kept in the other folder,
one for each seed, and used again by the next run.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

import dpmosaic
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.analysis.estimators.estimates import Estimates
from dpmosaic.curator.analysis.estimators.means import mean, proportion
from dpmosaic.curator.analysis.estimators.regression import linear, logistic
from dpmosaic.curator.analysis.published import Published
from dpmosaic.party.sources.source import open_source
from dpmosaic.simulations.evaluation.values.values import Values

DOMAINS = Path(__file__).parent / "domains"
Z = 1.959964
LEAST_GROUP = 0.02
"""Groups of at least this share of the records are asked for."""


@dataclass(frozen=True)
class Questions:
    """The questions about one table.

    Attributes:
        means: columns of numbers.
        groups: columns of numbers, and the columns that make groups.
        shares: a column, one of its values, and the columns that make groups.
        linear: response and regressors.
        logistic: response, the value that counts as one, and regressors.
    """

    means: Sequence[str] = ()
    groups: Sequence[tuple[str, Sequence[str]]] = ()
    shares: Sequence[tuple[str, Any, Sequence[str]]] = ()
    linear: Sequence[tuple[str, Sequence[str]]] = ()
    logistic: Sequence[tuple[str, Any, Sequence[str]]] = ()


QUESTIONS = {
    "adult": Questions(
        ["age", "education-num", "hours-per-week", "capital-gain", "capital-loss"],
        [("hours-per-week", ["sex", "occupation"]), ("capital-gain", ["sex", "income"])],
        [
            ("income", ">50K", ["sex", "education", "race", "marital-status", "workclass", "occupation"]),
            ("sex", "Male", ["occupation", "workclass", "relationship", "education"]),
            ("race", "Black", ["sex", "workclass", "marital-status", "occupation"]),
        ],
        [
            ("hours-per-week", ["age", "education-num", "sex"]),
            ("education-num", ["age", "race", "sex"]),
            ("age", ["education-num", "marital-status"]),
        ],
        [
            ("income", ">50K", ["age", "education-num", "hours-per-week", "sex"]),
            ("income", ">50K", ["age", "marital-status", "education-num"]),
        ],
    ),
    "nltcs": Questions(
        [],
        [],
        [
            ("telephoning", 1, ["eating", "bathing", "cooking", "traveling"]),
            ("eating", 1, ["dressing", "laundry", "using toilet"]),
            ("traveling", 1, ["managing money", "grocery shopping", "heavy house work"]),
        ],
        [
            ("telephoning", ["eating", "bathing", "traveling"]),
            ("laundry", ["cooking", "dressing", "traveling"]),
        ],
        [
            ("telephoning", 1, ["eating", "bathing", "traveling"]),
            ("managing money", 1, ["taking medicine", "cooking", "dressing"]),
        ],
    ),
    "titanic": Questions(
        ["Age", "Fare", "SibSp", "Parch"],
        [("Fare", ["Sex", "Pclass"]), ("Age", ["Survived"])],
        [("Survived", 1, ["Sex", "Pclass", "Embarked"]), ("Sex", "male", ["Pclass", "Embarked"])],
        [("Fare", ["Sex", "Age"]), ("Age", ["Sex", "Pclass"])],
        [("Survived", 1, ["Sex", "Pclass"]), ("Survived", 1, ["Sex", "Age"])],
    ),
    "generated": Questions(
        ["age", "income", "hours"],
        [("income", ["sex", "education"]), ("hours", ["region"])],
        [("owner", "yes", ["sex", "education", "region"]), ("sex", "M", ["education", "region"])],
        [("hours", ["age", "education", "sex"])],
        [("owner", "yes", ["age", "education", "sex"])],
    ),
    "pay": Questions(
        ["age", "salary", "hours"],
        [("salary", ["kind", "sex", "office"]), ("hours", ["kind", "office"])],
        [("kind", "salaried", ["sex", "office", "grade"])],
        [("salary", ["age", "sex"]), ("hours", ["kind", "sex"])],
        [("sex", "F", ["age", "kind"]), ("union", "yes", ["age", "kind", "sex"])],
    ),
}

LEVELS = ("primary", "secondary", "college", "university", "doctorate")
GENERATED = {
    "age": {"type": "numeric", "min": 18, "max": 90, "integer": True, "bins": "auto"},
    "income": {"type": "numeric", "min": 0, "max": 400000, "scale": "symlog", "bins": "auto"},
    "hours": {"type": "numeric", "min": 0, "max": 80, "integer": True, "bins": "auto"},
    "education": list(LEVELS),
    "sex": ["F", "M"],
    "region": ["N", "E", "S", "W"],
    "owner": ["no", "yes"],
}
PAY = {
    "age": {"type": "numeric", "min": 16, "max": 90, "integer": True, "bins": 75},
    "salary": {"type": "numeric", "min": 0, "max": 500, "integer": True, "bins": 501},
    "hours": {"type": "numeric", "min": 0, "max": 80, "integer": True, "bins": 81},
    "kind": ["salaried", "hourly", "on call"],
    "sex": ["F", "M"],
    "office": list("abcdefgh"),
    "grade": 6,
    "union": ["no", "yes"],
}
GENERATED_SEED = 10_000


def main() -> None:
    """Prints the figures of one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=QUESTIONS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--releases", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    found = measured(asked.table, asked.data, asked.releases, asked.seeds, asked.epsilon)
    show(asked.table, asked.seeds, asked.epsilon, found)


@dataclass
class Found:
    """The answers to one kind of question: one entry for each question and release."""

    held: list[bool] = field(default_factory=list)
    given: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    naive: list[bool] = field(default_factory=list)


def measured(name: str, data: Path | None, releases: Path, seeds: int, epsilon: float) -> Mapping[str, Found]:
    """The answers of all releases."""
    found: dict[str, Found] = defaultdict(Found)
    made = {
        "generated": (20_000, Domain.from_json(GENERATED), generated),
        "pay": (8_000, Domain.from_json(PAY), pay),
    }.get(name)
    questions, of = QUESTIONS[name], "population" if made else "table"
    truth: Mapping[str, Mapping[str, tuple[float, float]]] = {}
    for seed in range(seeds):
        if made:
            rows, domain, generator = made
            raw = generator(rows, GENERATED_SEED + seed)
            if not seed:
                truth = truths(questions, frame_of(domain, generator(4_000_000, 1)), rows)
        elif not seed:
            assert data is not None, "--data: expected the folder of the public tables"
            domain, raw = read(name, data)
            truth = truths(questions, frame_of(domain, raw), None)
        published = released(domain, raw, releases / f"{name}-{epsilon:g}" / str(seed), seed, epsilon)
        for kind, key, estimates in asked(questions, published, of):
            for place, coefficient in enumerate(estimates.names):
                if coefficient in truth[key]:
                    note(found[kind], estimates, place, *truth[key][coefficient])
        print(f"\r{name}: release {seed + 1} of {seeds}", end="", flush=True)
    print()
    return found


def note(found: Found, estimates: Estimates, place: int, truth: float, error: float) -> None:
    """Adds one answer; `error` is the standard error that the real table gives."""
    low, high = estimates.low[place], estimates.high[place]
    given = bool(np.isfinite(low))
    found.given.append(given)
    if given:
        found.held.append(bool(low <= truth <= high))
        found.widths.append((high - low) / (2 * Z * error))
    naive = Z * estimates.errors.sampling[place]
    found.naive.append(bool(abs(estimates.released[place] - truth) <= naive))


def asked(questions: Questions, published: Published, of: str) -> Iterator[tuple[str, str, Estimates]]:
    """The kind of each question, its name, and its answer."""
    for column in questions.means:
        yield "means", f"mean {column}", mean(published, column, of=of)
    for column, groups in questions.groups:
        for by in groups:
            yield "groups", f"mean {column} {by}", mean(published, column, by=by, of=of)
    for column, value, groups in questions.shares:
        for by in groups:
            yield "shares", f"share {column} {by}", proportion(published, column, value, by=by, of=of)
    for y, x in questions.linear:
        yield "linear", f"linear {y} {x}", linear(published, y, x, of=of)
    for y, value, x in questions.logistic:
        yield "logistic", f"logistic {y} {x}", logistic(published, y, x, positive=value, of=of)


def released(domain: Domain, raw: Mapping[str, Any], folder: Path, seed: int, epsilon: float) -> Published:
    """A release, made if the folder does not hold it."""
    if not (folder / "certificate.json").is_file():
        made = dpmosaic.synthesize(pd.DataFrame(raw), epsilon=epsilon, domain=domain, seed=seed)
        made.save(folder)
    return Published.load(folder)


def show(name: str, seeds: int, epsilon: float, found: Mapping[str, Found]) -> None:
    """Prints the figures of each kind of question."""
    print(f"{name}: {seeds} releases at epsilon {epsilon:g}")
    for kind, one in found.items():
        print(
            f"  {kind:9} {len(one.given):6} questions, {np.mean(one.given):6.1%} with an interval: "
            f"{np.mean(one.held):6.1%} hold; median width {np.median(one.widths):5.2f} of the real table's; "
            f"of the rows as if real {np.mean(one.naive):6.1%}"
        )


def truths(
    questions: Questions, frame: pd.DataFrame, records: int | None
) -> Mapping[str, Mapping[str, tuple[float, float]]]:
    """For each question and name of an estimate the real value, and its standard error by sampling.

    Args:
        questions: about the table.
        frame: the real table.
        records: number of records of which a standard error is wanted; None for those of the frame.
    """
    shrink = 1.0 if records is None else (len(frame) / records) ** 0.5
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for column in questions.means:
        known = frame[column].dropna()
        found[f"mean {column}"] = {column: (known.mean(), shrink * known.sem())}
    for column, groups in questions.groups:
        for by in groups:
            found[f"mean {column} {by}"] = {
                f"{by}={group}": (rows[column].mean(), shrink * rows[column].sem())
                for group, rows in frame.groupby(by, observed=True)
                if len(rows) >= LEAST_GROUP * len(frame)
            }
    for column, value, groups in questions.shares:
        for by in groups:
            shares = {}
            for group, rows in frame.groupby(by, observed=True):
                if len(rows) >= LEAST_GROUP * len(frame):
                    share = float((rows[column] == value).mean())
                    error = shrink * max(share * (1 - share), 1 / len(rows)) ** 0.5 / len(rows) ** 0.5
                    shares[f"{by}={group}"] = (share, error)
            found[f"share {column} {by}"] = shares
    for y, x in questions.linear:
        found[f"linear {y} {x}"] = fitted(frame, frame[y], x, sm.OLS, shrink, cov_type="HC0")
    for y, value, x in questions.logistic:
        found[f"logistic {y} {x}"] = fitted(frame, frame[y] == value, x, sm.Logit, shrink, disp=0)
    return found


def fitted(
    frame: pd.DataFrame, response: Any, x: Sequence[str], model: Callable[..., Any], shrink: float, **how: Any
) -> dict[str, tuple[float, float]]:
    """The coefficients of a regression and their standard errors, as statsmodels finds them."""
    columns = {}
    for name in x:
        if pd.api.types.is_float_dtype(frame[name]):
            columns[name] = frame[name]
            continue
        counts = frame[name].value_counts()
        for level in counts.index[1:]:
            columns[f"{name}={level}"] = frame[name] == level
    design = sm.add_constant(pd.DataFrame(columns).astype(float))
    known = ~(design.isna().any(axis=1) | pd.isna(response))
    result = model(response[known].astype(float), design[known]).fit(**how)
    return {name: (float(result.params[name]), shrink * float(result.bse[name])) for name in columns}


def read(name: str, data: Path) -> tuple[Domain, dict[str, Any]]:
    """The domain of a public table, and its columns."""
    described = DOMAINS / f"{name}.json"
    domain = Domain.load(described if described.is_file() else data / name / "domain.json")
    source = open_source(data / name / f"{name}.csv.gz")
    return domain, dict(zip(domain, source.cells(domain), strict=True))


def frame_of(domain: Domain, raw: Mapping[str, Any]) -> pd.DataFrame:
    """Numbers after the domain's policies, and categories as they are; blank ones are missing."""
    numbers = Values.of(domain, [raw[name] for name in domain]).numbers
    columns = {}
    for name in domain:
        if isinstance(domain[name], NumericAttribute):
            columns[name] = numbers[name]
        else:
            first = domain[name].decode(np.array([0]), np.random.default_rng(0))[0]
            whole = isinstance(first, int | np.integer)
            columns[name] = (
                pd.to_numeric(raw[name]).astype(np.int64).astype(object)
                if whole
                else pd.Series(raw[name]).replace({"": None})
            )
    return pd.DataFrame(columns)


def generated(rows: int, seed: int) -> dict[str, Any]:
    """A table from the known generator."""
    rng = np.random.default_rng(seed)
    sex, education = rng.integers(0, 2, rows), rng.choice(5, rows, p=[0.1, 0.35, 0.25, 0.25, 0.05])
    region = rng.choice(4, rows, p=[0.2, 0.3, 0.3, 0.2])
    young = rng.random(rows) < 0.6
    age = np.clip(np.round(np.where(young, rng.normal(38, 10, rows), rng.normal(60, 12, rows))), 18, 90)
    hours = 28 + 2.0 * education + 4.0 * sex - 0.1 * (age - 40) + rng.normal(0, 7, rows)
    income = np.exp(9.2 + 0.25 * education + 0.15 * sex + 0.01 * (age - 40) + rng.normal(0, 0.5, rows))
    odds = np.exp(-0.4 + 0.05 * (age - 45) + 0.3 * (education - 2) - 0.5 * sex)
    owner = rng.random(rows) < odds / (1 + odds)
    return {
        "age": age,
        "income": np.round(np.clip(income, 0, 400_000)),
        "hours": np.clip(np.round(hours), 0, 80),
        "education": np.array(LEVELS, dtype=object)[education],
        "sex": np.array(["F", "M"], dtype=object)[sex],
        "region": np.array(list("NESW"), dtype=object)[region],
        "owner": np.array(["no", "yes"], dtype=object)[owner.astype(int)],
    }


def pay(rows: int, seed: int) -> dict[str, Any]:
    """A table of pay from a known generator: who is paid by the hour has no salary."""
    rng = np.random.default_rng(seed)
    kind, sex = rng.choice(3, rows, p=[0.7, 0.25, 0.05]), rng.integers(0, 2, rows)
    office = rng.choice(8, rows, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    age = np.clip(np.round(16 + rng.gamma(4, 6, rows)), 16, 90)
    grade = np.clip((age - 16) // 8 + rng.integers(-1, 2, rows), 0, 5).astype(np.int64)
    salary = np.round(30 * np.exp(0.012 * (age - 40) + 0.1 * sex + 0.05 * office + rng.normal(0, 0.3, rows)))
    hours = np.where(kind == 0, 40, np.round(rng.gamma(6, 4, rows) + 4 * sex))
    odds = np.exp(-1 + 0.02 * (age - 40) + 0.8 * (kind == 1) - 0.3 * sex)
    return {
        "age": age,
        "salary": np.where(kind == 0, np.clip(salary, 0, 500), 0.0),
        "hours": np.clip(hours, 0, 80).astype(np.float64),
        "kind": np.array(PAY["kind"], dtype=object)[kind],
        "sex": np.array(["F", "M"], dtype=object)[sex],
        "office": np.array(list("abcdefgh"), dtype=object)[office],
        "grade": grade,
        "union": np.array(["no", "yes"], dtype=object)[(rng.random(rows) < odds / (1 + odds)).astype(int)],
    }


if __name__ == "__main__":
    main()
