import json

import duckdb
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.inference import NOT_PRIVATE, infer_domain
from dpmosaic.party.sources.source import open_source


def draft(tmp_path, *cells):
    """The drafted attribute of one column of these cells."""
    path = tmp_path / "rows.csv"
    body = "\n".join(f'0,"{cell}"' for cell in cells)
    path.write_text(f"row,x\n{body}\n", encoding="utf-8")
    domain = infer_domain(path)
    assert open_source(path).read(domain).record_count == len(cells)
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    return domain["x"].to_json()


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["b", "a", "b"], ["a", "b"]),
        (["10+ years", "9 years", "< 1 year"], ["9 years", "10+ years", "< 1 year"]),
        (["b", "", "a"], ["", "a", "b"]),
        (["2", "0", "1"], 3),
        (["0"], 1),
        (["0", "1", ""], ["", 0, 1]),
        (["3", "1", "10"], [1, 3, 10]),
        (["2.50", "-1"], [-1.0, 2.5]),
        (["1", "1.0"], [1]),
        (["007", "7"], ["007", "7"]),
        (["NA", "1"], ["1", "NA"]),
        (["inf", "1"], ["1", "inf"]),
        (["", ""], [""]),
        (["123456789012345678901", "1"], ["1", "123456789012345678901"]),
    ],
)
def test_few_different_values_become_categories(tmp_path, cells, form):
    drafted = draft(tmp_path, *cells)
    assert drafted == form
    assert not isinstance(form, list) or [type(c) for c in drafted] == [type(c) for c in form]


def numeric(least, largest, bins, nullable, integer):
    return {
        "type": "numeric",
        "min": least,
        "max": largest,
        "bins": bins,
        "nullable": nullable,
        "integer": integer,
    }


def test_many_integers_get_a_bin_each_up_to_a_hundred(tmp_path):
    assert draft(tmp_path, *range(-5, 55)) == numeric(-5, 54, 60, False, True)
    assert draft(tmp_path, *range(0, 3000, 3)) == numeric(0, 2997, 100, False, True)


def test_many_numbers_with_fractions_get_a_hundred_real_bins(tmp_path):
    assert draft(tmp_path, *(n / 4 for n in range(1, 90))) == numeric(0.25, 22.25, 100, False, False)
    assert draft(tmp_path, *range(60), ".5", "+61", "1e2") == numeric(0, 100, 100, False, False)


def test_a_missing_number_makes_the_attribute_nullable(tmp_path):
    assert draft(tmp_path, *range(60), "") == numeric(0, 59, 60, True, True)


def test_integers_past_what_a_float_holds_are_drafted_as_real(tmp_path):
    assert draft(tmp_path, *range(60), 2**60)["integer"] is False


def test_one_text_among_many_numbers_makes_categories(tmp_path):
    drafted = draft(tmp_path, *range(60), "unknown")
    assert drafted == [*(str(n) for n in range(60)), "unknown"]


@pytest.mark.parametrize("pattern", ["person {}", "{:06}"])
def test_identifiers_are_refused_without_a_value(tmp_path, pattern):
    with pytest.raises(DataError, match=r"^column 'x' holds more than 1000 different texts") as refusal:
        draft(tmp_path, *(pattern.format(n) for n in range(1001)))
    assert "person" not in str(refusal.value)
    assert len(draft(tmp_path, *(pattern.format(n) for n in range(1000)))) == 1000


def test_parquet_types_guide_the_draft(tmp_path):
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i % 2 = 0 AS flag, i AS whole, "
            "CASE WHEN i % 7 = 0 THEN 'nan'::DOUBLE ELSE i / 8 END AS real, "
            "DATE '2020-01-01' + (i % 3)::INT AS day, ((i % 4) / 4)::DECIMAL(4, 2) AS price "
            f"FROM range(80) AS t(i)) TO '{path}'"
        )
    domain = infer_domain(path)
    assert domain.to_json() == {
        "flag": [False, True],
        "whole": numeric(0, 79, 80, False, True),
        "real": numeric(0.125, 9.875, 100, True, False),
        "day": ["2020-01-01", "2020-01-02", "2020-01-03"],
        "price": [0, 0.25, 0.5, 0.75],
    }
    assert open_source(path).read(domain).record_count == 80


def test_a_file_without_rows_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.csv has no rows"):
        infer_domain(path)


def test_the_draft_says_that_it_is_not_private():
    assert "private rows" in NOT_PRIVATE
