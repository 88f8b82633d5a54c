"""Texts beside numbers and dates: answers against DuckDB on the rows, and rows under conditions."""

import re

import duckdb
import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.steps import check_order
from dpmosaic.common.errors import DataError
from dpmosaic.curator.dossier.subject import column_of

ROWS = 4000
ENTRIES = {
    "sex": ["F", "M"],
    "level": {
        "type": "numeric",
        "min": 0,
        "max": 9,
        "bins": 10,
        "texts": ["<1", "n. d."],
        "nullable": True,
        "integer": True,
    },
    "end": {
        "type": "date",
        "min": "2020-01-01",
        "max": "2020-12-31",
        "granularity": "month",
        "bins": 12,
        "texts": ["ongoing", "unknown"],
    },
}


def rows():
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], ROWS)
    level = np.minimum(rng.poisson(np.where(sex == "F", 3, 5)), 9).astype(str).astype(object)
    level[rng.random(ROWS) < 0.3] = "n. d."
    level[rng.random(ROWS) < np.where(sex == "F", 0.3, 0.1)] = "<1"
    level[rng.random(ROWS) < 0.05] = None
    end = np.char.add("2020-", np.char.zfill(rng.integers(1, 13, ROWS).astype(str), 2)).astype(object) + "-01"
    end[rng.random(ROWS) < np.where(sex == "F", 0.4, 0.1)] = "ongoing"
    end[rng.random(ROWS) < 0.1] = "unknown"
    return pd.DataFrame({"sex": sex, "level": level, "end": end})


@pytest.fixture(scope="module")
def release():
    return dpmosaic.synthesize(
        rows(), domain=ENTRIES, epsilon=1e4, delta=1e-3, adjacency="replace-one", seed=1
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(level), COUNT(*) FROM release",
        "SELECT sex, COUNT(*) FROM release WHERE level = '<1' GROUP BY sex",
        "SELECT COUNT(*) FROM release WHERE level IS NULL",
        "SELECT COUNT(*) FROM release WHERE level <> 'n. d.'",
        "SELECT COUNT(*) FROM release WHERE level IN ('<1', '3')",
        "SELECT sex, AVG(TRY_CAST(level AS DOUBLE)) FROM release GROUP BY sex",
        "SELECT MEDIAN(TRY_CAST(level AS DOUBLE)) FROM release",
        "SELECT COUNT(*) FROM release WHERE TRY_CAST(level AS DOUBLE) < 3",
        "SELECT COUNT(*) FROM release WHERE NOT TRY_CAST(level AS DOUBLE) < 3",
        "SELECT level, COUNT(*) FROM release GROUP BY level",
        "SELECT sex, COUNT(*) FROM release WHERE \"end\" = 'ongoing' GROUP BY sex",
        "SELECT COUNT(*) FROM release WHERE TRY_CAST(\"end\" AS DATE) < DATE '2020-04-01'",
        'SELECT COUNT(*) FROM release WHERE MONTH(TRY_CAST("end" AS DATE)) = 5',
    ],
)
def test_a_text_is_a_value_and_no_number_where_noise_is_small(release, query):
    connection = duckdb.connect()
    connection.register("release", rows())
    expected = sorted(connection.sql(query).fetchall(), key=_as_texts)
    found = release.query(re.sub(r"TRY_CAST\((\S+) AS \w+\)", r"\1", query))
    cells = [tuple(getattr(cell, "value", cell) for cell in line) for line in found.cells()]
    for line, other in zip(sorted(cells, key=_as_texts), expected, strict=True):
        for one, true in zip(line, other, strict=True):
            assert (
                one == pytest.approx(true, abs=0.5, rel=2e-3)
                if isinstance(one, float)
                else str(one) == str(true)
            )


def _as_texts(line):
    return list(map(str, line))


def test_a_text_that_is_not_listed_is_refused_with_those_that_are(release):
    with pytest.raises(DataError, match=r"expected a number or one of '<1', 'n\. d\.'"):
        release.query("SELECT COUNT(*) FROM release WHERE level = '<2'")
    with pytest.raises(DataError, match=r"expected a number or one of '<1', 'n\. d\.'"):
        release.generate(5, where={"level": "<2"})


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("<1", {"<1"}),
        (None, {None}),
        (["n. d.", (7, 9)], {"n. d.", "7", "8", "9"}),
        ((None, None), {*map(str, range(10)), "<1", "n. d."}),
    ],
)
def test_rows_under_a_condition_have_its_texts_and_numbers(release, condition, held):
    values = release.generate(2000, where={"level": condition}, seed=2)["level"]
    assert {None if pd.isna(value) else value for value in values} == held


def test_rows_under_a_condition_on_dates_have_its_texts_and_dates(release):
    values = release.generate(500, where={"end": ["ongoing", ("2020-03-01", "2020-04-30")]}, seed=2)["end"]
    assert set(values.str[:7]) == {"ongoing", "2020-03", "2020-04"}


def test_a_rule_cannot_speak_of_texts():
    rule = {"impossible": {"sex": ["F"], "level": [3]}}
    with pytest.raises(DataError, match="lists texts beside its numbers"):
        Domain.from_json({"attributes": ENTRIES, "rules": [rule]})


def test_no_column_comes_after_one_with_texts_nor_says_their_order():
    later = {"type": "date", "after": {"end": {"min": 0, "max": 9, "bins": 10}}}
    with pytest.raises(DataError, match="without texts"):
        Domain.from_json({"end": ENTRIES["end"], "paid": later})
    with pytest.raises(DataError, match="texts among them"):
        check_order(Domain.from_json(ENTRIES)["end"])


@pytest.mark.parametrize("texts", [["3"], ["<1", "<1"], [""], ["x"], ["nan"], [3]])
def test_texts_are_no_numbers_and_listed_once(texts):
    with pytest.raises(DataError, match=r"texts|expected"):
        Domain.from_json({"level": ENTRIES["level"] | {"texts": texts, "missing": ["x"]}})


def test_other_programs_are_told_of_a_column_of_text():
    domain = Domain.from_json(ENTRIES)
    assert [column_of(domain[name]).kind for name in ("level", "end")] == ["text", "text"]
