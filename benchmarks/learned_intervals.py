"""Whether intervals hold without a domain: shares of 95 % intervals that contain the real table's number.

Five tables are released again and again with other noise (epsilon 1, no domain, as a new user does), and each
release answers the same queries: numbers of records, shares, sums, means and quantiles, of all rows and of
groups. Truth is what DuckDB finds in the real table. "visits" and "sensors" are generated, with a long tail,
rare texts, missing values and dates; "people" is the generator of `intervals.py`.

For each kind of question: how many numbers were asked for, the share that got an interval, and the share of
these intervals that contain the truth. Numbers whose intervals fail most often are named.

Run: python benchmarks/learned_intervals.py --releases FOLDER [--seeds 40] [--tables fair ...]

Releases are kept in the folder, one for each table and seed, and used again by the next run.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import statsmodels.api as sm
from intervals import generated

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.published import Published
from dpmosaic.curator.analysis.queries.answer import Answer
from dpmosaic.curator.analysis.queries.answering import answer

ROWS = 6_000

LEAST_GROUP = 0.02
"""Groups of at least this share of the records are asked for."""

SHOWN = 12

Question = tuple[str, str, str]
"""Kind, aggregate, and what stands after the table's name."""


def people() -> pd.DataFrame:
    """The generator of `intervals.py`."""
    return pd.DataFrame(generated(ROWS, 1))


def visits() -> pd.DataFrame:
    """Hospital visits: a long tail of costs, rare texts, dates, and missing values."""
    rng = np.random.default_rng(2)
    wards = np.array(["surgery", "medicine", "children", "eyes", *(f"W{k:03d}" for k in range(400))], object)
    shares = np.array([0.4, 0.3, 0.15, 0.1, *[0.05 / 400] * 400])
    ward = rng.choice(len(wards), ROWS, p=shares / shares.sum())
    stay = rng.poisson(2 + 3 * (ward < 2)) + rng.geometric(0.4, ROWS) - 1
    cost = np.round(np.exp(6.5 + 0.15 * stay + rng.normal(0, 1.0, ROWS)), 2)
    cost[rng.random(ROWS) < 0.06] = np.nan
    admitted = np.datetime64("2022-01-01") + rng.integers(0, 730, ROWS).astype("timedelta64[D]")
    smokes = np.where(rng.random(ROWS) < 0.3, "yes", "no").astype(object)
    smokes[rng.random(ROWS) < 0.1] = None
    return pd.DataFrame(
        {"ward": wards[ward], "stay": stay, "cost": cost, "admitted": admitted, "smokes": smokes}
    )


def sensors() -> pd.DataFrame:
    """Readings of sensors: decimals, a rare flag, few columns."""
    rng = np.random.default_rng(3)
    site = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    celsius = np.round(rng.normal(12 + 4 * site, 6), 1)
    alarm = (rng.random(ROWS) < np.where(celsius > 25, 0.3, 0.01)).astype(int)
    return pd.DataFrame(
        {"site": np.array(["north", "south", "roof"], object)[site], "celsius": celsius, "alarm": alarm}
    )


TABLES: Mapping[str, Callable[[], pd.DataFrame]] = {
    "fair": lambda: sm.datasets.fair.load_pandas().data,
    "randhie": lambda: sm.datasets.randhie.load_pandas().data,
    "people": people,
    "visits": visits,
    "sensors": sensors,
}

NUMBERS: Mapping[str, Sequence[str]] = {
    "fair": ["age", "yrs_married", "children", "educ", "affairs"],
    "randhie": ["mdvis", "disea", "lpi", "physlm", "hlthg"],
    "people": ["age", "income", "hours"],
    "visits": ["stay", "cost"],
    "sensors": ["celsius", "alarm"],
}

GROUPS: Mapping[str, Sequence[str]] = {
    "fair": ["religious", "rate_marriage"],
    "randhie": ["hlthp", "idp"],
    "people": ["sex", "education"],
    "visits": ["ward", "smokes"],
    "sensors": ["site", "alarm"],
}

CONDITIONS: Mapping[str, Sequence[str]] = {
    "fair": [
        "age > 30",
        "affairs > 0",
        "affairs > 20",
        "children = 0",
        "yrs_married <= 6",
        "educ IN (12, 14)",
    ],
    "randhie": ["mdvis = 0", "mdvis > 30", "hlthg = 1", "lpi > 5", "disea >= 20"],
    "people": ["age > 60", "income > 100000", "owner = 'yes'", "hours < 30", "region IN ('N', 'E')"],
    "visits": [
        "cost > 10000",
        "cost IS NULL",
        "stay > 8",
        "ward = 'eyes'",
        "ward <> 'surgery'",
        "ward = 'W007'",
        "admitted < '2022-07-01'",
        "smokes = 'yes'",
        "smokes IS NULL",
    ],
    "sensors": ["celsius > 30", "alarm = 1", "site = 'roof'", "celsius BETWEEN 10 AND 20"],
}


def questions(name: str) -> Iterator[Question]:
    """The questions about a table, in the language of queries."""
    groups = [f"GROUP BY {by}" for by in GROUPS[name]]
    yield "count", "COUNT(*)", ""
    yield from (("count by group", "COUNT(*)", by) for by in groups)
    for condition in CONDITIONS[name]:
        yield "count where", "COUNT(*)", f"WHERE {condition}"
        yield "share", f"SHARE({condition})", ""
        yield from (("share by group", f"SHARE({condition})", by) for by in groups)
    for column in NUMBERS[name]:
        yield "mean", f"AVG({column})", ""
        yield from (("mean by group", f"AVG({column})", by) for by in groups)
        yield "sum", f"SUM({column})", ""
        yield "median", f"MEDIAN({column})", ""
        yield "quantile", f"QUANTILE({column}, 0.9)", ""
        yield "median by group", f"MEDIAN({column})", groups[0]


def truth(frame: pd.DataFrame, question: Question) -> dict[str, float]:
    """The real numbers by group; the empty name without groups."""
    _, aggregate, rest = question
    inner = aggregate.partition("(")[2][:-1]
    sql = {
        "SHARE": f"avg(({inner})::DOUBLE)",
        "MEDIAN": f"quantile_disc({inner}, 0.5)",
        "QUANTILE": f"quantile_disc({inner})",
    }.get(aggregate.partition("(")[0], aggregate)
    by = rest.removeprefix("GROUP BY ") if rest.startswith("GROUP") else "''"
    rows = duckdb.sql(
        f"SELECT {by} AS g, ({sql})::DOUBLE AS x, count(*) AS n FROM frame {rest or 'GROUP BY ALL'}"
        if rest.startswith("GROUP") or not rest
        else f"SELECT '' AS g, ({sql})::DOUBLE AS x, count(*) AS n FROM frame {rest}"
    ).fetchall()
    least = LEAST_GROUP * len(frame) if rest.startswith("GROUP") else 0
    return {_key(g): x for g, x, n in rows if n >= least and x is not None}


def _key(value: Any) -> str:
    if value is None:
        return "missing"
    if value in ("no", "yes", False, True):
        return "1" if value in ("yes", True) else "0"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def released(frame: pd.DataFrame, folder: Path, seed: int) -> Published:
    """A release, made if the folder does not hold it."""
    if not (folder / "certificate.json").is_file():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = dpmosaic.synthesize(frame, epsilon=1.0, seed=seed)
        made.save(folder)
    return Published.load(folder)


def answered(published: Published, question: Question) -> Answer | None:
    """The answer; None if the release refuses the question."""
    _, aggregate, rest = question
    by = rest.removeprefix("GROUP BY ") + ", " if rest.startswith("GROUP") else ""
    try:
        return answer(published, f"SELECT {by}{aggregate} AS x FROM release {rest}")
    except DataError:
        return None


def measured(name: str, releases: Path, seeds: int, found: dict[str, Counter[str]]) -> Counter[str]:
    """Counts the answers of all releases of a table, and which numbers failed how often."""
    frame = TABLES[name]()
    asked = list(questions(name))
    truths = [truth(frame, question) for question in asked]
    failed: Counter[str] = Counter()
    # One seed has the same noise of the number of records in every table.
    start = 1_000 * list(TABLES).index(name)
    for seed in range(start, start + seeds):
        published = released(frame, releases / name / str(seed), seed)
        for question, real in zip(asked, truths, strict=True):
            reply = answered(published, question)
            rows = (
                {} if reply is None else {_key(r.key[0] if r.key else ""): r.estimates[0] for r in reply.rows}
            )
            for group, number in real.items():
                one = rows.get(group)
                given = one is not None and one.low == one.low
                slack = 1e-9 * (1 + abs(number))
                held = given and one.low - slack <= number <= one.high + slack
                found[question[0]].update(asked=1, given=given, held=held)
                if not held:
                    why = "missed" if given else "refused" if reply is None else "none"
                    failed[f"{name}: {question[1]} {question[2]} {group}: {why}"] += 1
        print(f"\r{name}: release {seed - start + 1} of {seeds}", end="", flush=True)
    print()
    return failed


def main() -> None:
    """Prints the figures of all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--releases", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--shown", type=int, default=SHOWN)
    given = parser.parse_args()
    found: dict[str, Counter[str]] = defaultdict(Counter)
    failed: Counter[str] = Counter()
    for name in given.tables:
        failed += measured(name, given.releases, given.seeds, found)
    for kind, one in found.items():
        print(
            f"{kind:16} {one['asked']:6} numbers, {one['given'] / one['asked']:6.1%} with an interval: "
            f"{one['held'] / max(1, one['given']):6.1%} hold"
        )
    whole = sum(found.values(), Counter[str]())
    print(f"all: {whole['held'] / max(1, whole['given']):.1%} of {whole['given']} intervals hold")
    for what, times in failed.most_common(given.shown):
        print(f"  {times:4} of {given.seeds}  {what}")


if __name__ == "__main__":
    main()
