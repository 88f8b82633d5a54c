import json

import duckdb
import numpy as np
import pytest

from dpmosaic.common.data.binning.scale import Scale
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.drafting import inference
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.party.drafting.numbers import round_bounds
from dpmosaic.party.sources.source import open_source

pytestmark = pytest.mark.slow


def written(tmp_path, cells, separator=","):
    path = tmp_path / "rows.csv"
    body = "\n".join(f'0{separator}"{cell}"' for cell in cells)
    path.write_text(f"row{separator}x\n{body}\n", encoding="utf-8")
    return path


def draft(tmp_path, *cells, blanks=(), separator=","):
    """The drafted entry of one column of these cells, without its mark; the rows can be encoded with it."""
    path = written(tmp_path, cells, separator)
    drafted = draft_file(path, blanks)
    assert open_source(path).read(drafted.domain).record_count == len(cells)
    assert Domain.from_json(json.loads(json.dumps(drafted.to_json()))) == drafted.domain
    entry = dict(drafted.entries["x"])
    assert entry.pop("reviewed", False) is False
    return entry


def listed(*categories, **more):
    return {"type": "categorical", "categories": list(categories)} | more


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        (["b", "a", "b"], listed("a", "b")),
        (["10+ years", "9 years", "< 1 year"], listed("9 years", "10+ years", "< 1 year")),
        (["b", "", "a"], listed("", "a", "b")),
        (["2", "0", "1"], {"type": "codes", "n": 3}),
        (["0"], {"type": "codes", "n": 1}),
        (["0", "1", ""], listed("", 0, 1, ordered=True)),
        (["3", "1", "10"], listed(1, 3, 10, ordered=True)),
        (["2.50", "-1"], listed(-1, 2.5, ordered=True)),
        (["1", "1.0"], listed(1, ordered=True)),
        (["007", "7"], listed("007", "7")),
        (["", ""], listed("")),
        (["123456789012345678901", "1"], listed("1", "123456789012345678901")),
    ],
)
def test_few_different_values_become_categories(tmp_path, cells, entry):
    drafted = draft(tmp_path, *cells)
    assert drafted == entry
    found, expected = drafted.get("categories", []), entry.get("categories", [])
    assert [type(category) for category in found] == [type(category) for category in expected]


def test_na_is_a_missing_value_among_numbers_and_a_country_among_countries(tmp_path):
    assert draft(tmp_path, "NA", "1") == listed("", 1, ordered=True, missing=["NA"])
    assert draft(tmp_path, "NA", "DE", "ZA") == listed("DE", "NA", "ZA")
    assert any("often stands for a missing" in remark for remark in remarks_on(tmp_path, ["NA", "DE", "ZA"]))
    assert draft(tmp_path, "NA", "DE", "ZA", blanks=["NA"]) == listed("", "DE", "ZA", missing=["NA"])
    drafted = draft(tmp_path, *range(60), "NA", "?")
    assert (drafted["type"], drafted["missing"], drafted["nullable"]) == ("numeric", ["?", "NA"], True)


def numeric(least, largest, **more):
    entry = {"type": "numeric", "min": least, "max": largest, "bins": "auto", "nullable": False}
    return entry | {"integer": True} | more


def test_bounds_of_numbers_are_round_and_bins_are_left_to_the_release(tmp_path):
    assert draft(tmp_path, *range(7, 3000, 3), *range(7, 3000, 3)) == numeric(0, 3000)
    assert draft(tmp_path, *(n / 8 for n in range(60))) == numeric(0, 8, integer=False, multiple_of=0.125)


@pytest.mark.parametrize(("least", "largest"), [(1, 31), (0, 23), (-5, 54), (18, 89), (1, 366)])
def test_bounds_of_whole_numbers_of_which_most_occur_add_no_value(tmp_path, least, largest):
    cells = [*range(least, largest + 1, 1 if largest < 60 else 2), least, largest, least]
    assert draft(tmp_path, *cells, "") == numeric(least, largest, nullable=True)


def test_rounding_is_found_from_the_values(tmp_path):
    assert draft(tmp_path, *(n / 10 for n in range(1, 90))) == numeric(0, 9, integer=False, decimals=1)
    assert draft(tmp_path, *range(75, 4000, 25)) == numeric(0, 4000, multiple_of=25)
    assert draft(tmp_path, *(n / 4 for n in range(3, 90))) == numeric(0, 30, integer=False, multiple_of=0.25)
    assert "decimals" not in draft(tmp_path, *(n / 7 for n in range(1, 90)))


def test_numbers_that_are_rounded_by_their_size_say_so(tmp_path):
    rng = np.random.default_rng(1)
    potassium, glucose = rng.normal(4.2, 0.4, 600).round(1), rng.normal(110, 20, 600).round()
    entry = draft(tmp_path, *(f"{number:g}" for number in [*potassium, *glucose]))
    assert (entry["decimals"], entry["format"]) == (1, "{:g}")
    assert [(one["from"], one["units"], one["shares"]) for one in entry["rounded"]] == [
        (0, [], []),
        (30, [1], [1]),
    ]
    incomes = np.where(
        rng.random(900) < 0.6, 500 * rng.gamma(9, 7, 900).round(), rng.gamma(9, 3500, 900).round()
    )
    (one,) = draft(tmp_path, *incomes.astype(int))["rounded"]
    # A share of 900 rows has a deviation of .016; half of the multiples of 500 are those of 1000 by chance.
    assert one["units"] == [500]
    assert one["shares"] == pytest.approx([0.6], abs=0.07)


def test_whole_numbers_have_no_point_beside_fractions_if_they_had_none(tmp_path):
    halves = [f"{n / 2:g}" for n in range(1, 150)]
    assert draft(tmp_path, *halves)["format"] == "{:g}"
    assert "format" not in draft(tmp_path, *halves, "7.0")
    assert "format" not in draft(tmp_path, *(str(n / 2) for n in range(1, 150)))
    assert "format" not in draft(tmp_path, *range(1, 150))


def test_integers_past_what_a_float_holds_are_drafted_as_real(tmp_path):
    assert draft(tmp_path, *range(60), 2**60)["integer"] is False


def test_values_with_a_mass_of_their_own_are_atoms(tmp_path):
    rng = np.random.default_rng(1)
    drawn = np.round(np.exp(rng.normal(8, 1, 1500))).astype(int)
    entry = draft(tmp_path, *[0] * 600, *drawn, *[99999] * 40)
    assert entry["atoms"] == [0, 99999]
    assert entry["scale"] == "log"
    assert draft(tmp_path, *[-1] * 100, *rng.integers(18, 80, 900))["atoms"] == [-1]
    assert "atoms" not in draft(tmp_path, *rng.integers(0, 80, 900))
    entry = draft(tmp_path, *[18] * 100, *rng.integers(18, 80, 900))
    assert (entry["min"], entry["max"], entry["atoms"]) == (18, 79, [18])


def test_the_scale_follows_the_skewness(tmp_path):
    rng = np.random.default_rng(2)
    assert "scale" not in draft(tmp_path, *np.round(rng.normal(50, 10, 1000), 1))
    assert "scale" not in draft(tmp_path, *rng.integers(0, 10_000, 1000))
    heavy = np.round(np.exp(rng.normal(5, 2, 1000)), 2)
    assert draft(tmp_path, *heavy)["scale"] == "log"
    assert draft(tmp_path, *np.concatenate([heavy, -heavy]))["scale"] == "symlog"


def test_one_value_far_outside_leaves_the_bounds_near_the_others(tmp_path):
    rng = np.random.default_rng(3)
    path = written(tmp_path, [*rng.integers(13, 90, 2000), 999_999_999])
    drafted = draft_file(path)
    assert drafted.entries["x"]["max"] <= 200
    assert any(name == "x" and "far from all others" in remark for name, remark in drafted.remarks)


@pytest.mark.parametrize(
    ("cells", "notation", "largest"),
    [
        ([f"{n % 79}%" for n in range(300)], "{}%", 78),
        ([f"{n / 2}%" for n in range(1, 150)], "{:.1f}%", 80),
        ([f"${n * 37.1:,.2f}" for n in range(1, 150)], "${:,.2f}", 6000),
        ([f"{n / 4:.2f}" for n in range(1, 150)], "{:.2f}", 40),
        ([f"${n * 37:,}" for n in range(1, 150)], "${:,}", 6000),
        ([f"{n * 37:,}" for n in range(1, 150)], "{:,}", 6000),
        ([f"{n * 3},5" for n in range(1, 150)], "{,}", 500),
    ],
)
def test_numbers_are_found_in_other_notations(tmp_path, cells, notation, largest):
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["format"], entry["max"]) == ("numeric", notation, largest)


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        (["true", "false"], {"true": ["true"], "false": ["false"]}),
        (["TRUE", "FALSE"], {"true": ["TRUE"], "false": ["FALSE"]}),
        (["Y", "N", "Y"], {"true": ["Y"], "false": ["N"]}),
        (["J", "N"], {"true": ["J"], "false": ["N"]}),
        (["yes", "no", ""], {"true": ["yes"], "false": ["no"], "nullable": True}),
    ],
)
def test_two_words_for_true_and_false_are_booleans(tmp_path, cells, entry):
    assert draft(tmp_path, *cells) == {"type": "boolean", "nullable": False} | entry


class Lettered(int):
    """A number that can be written in letters, as `{:a}`."""

    def __format__(self, form):
        letters = str.maketrans("0123456789", "qwertzuiop")
        return str(int(self) * 7919 % 99991).translate(letters) if form == "a" else format(int(self), form)


@pytest.mark.parametrize(
    ("cell", "pattern"),
    [
        ("P-{:06d}", "P-{:06d}"),
        ("{:d}", "{:d}"),
        ("person{:d}", "person{:d}"),
        ("{0:04d}-{0:02d}-ab", "{:04d}-{:02d}-ab"),
        ("{0:a}", "x-{:06d}"),
    ],
)
def test_identifiers_get_a_pattern_for_new_ones(tmp_path, cell, pattern):
    entry = draft(tmp_path, *(cell.format(Lettered(n)) for n in range(1, 80)))
    assert entry == {"type": "identifier", "pattern": pattern}


def test_free_text_is_left_out_with_a_remark(tmp_path):
    cells = [f"Seen on day {n}, with pains and in a bad state; sent home" for n in range(200)]
    drafted = draft_file(written(tmp_path, cells))
    assert drafted.entries["x"] == {"type": "text", "drop": True}
    assert ("x", "free text, which no release can hold; it is left out") in drafted.remarks


def test_many_categories_are_left_to_the_release(tmp_path):
    entry = draft(tmp_path, *(f"job {n % 60}" for n in range(600)))
    assert entry == listed("other", other="other", open=True)


def test_no_value_of_text_columns_stands_in_a_remark_or_an_open_entry(tmp_path):
    cells = [f"secret{n % 700} word and word" for n in range(1000)]
    drafted = draft_file(written(tmp_path, cells))
    assert "secret" not in json.dumps(drafted.to_json()) + json.dumps(drafted.remarks)


def test_parquet_types_guide_the_draft(tmp_path):
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i % 2 = 0 AS flag, i * 7 AS whole, "
            "CASE WHEN i % 7 = 0 THEN 'nan'::DOUBLE ELSE i / 8 END AS real, (i / 10)::FLOAT AS small, "
            "DATE '2020-01-01' + (i % 3)::INT AS day, ((i % 4) / 4)::DECIMAL(4, 2) AS price "
            f"FROM range(80) AS t(i)) TO '{path}'"
        )
    drafted = draft_file(path)
    assert {name: entry["type"] for name, entry in drafted.entries.items()} == {
        "flag": "boolean",
        "whole": "numeric",
        "real": "numeric",
        "small": "numeric",
        "day": "date",
        "price": "categorical",
    }
    assert drafted.entries["real"]["nullable"]
    assert drafted.entries["small"]["decimals"] == 1
    assert drafted.entries["price"]["categories"] == [0, 0.25, 0.5, 0.75]
    assert open_source(path).read(drafted.domain).record_count == 80


@pytest.mark.parametrize(
    ("cells", "true", "false"),
    [
        (["Yes", "yes", "yes", "NO"], ["yes", "Yes"], ["NO"]),
        (["TRUE", "False"], ["TRUE"], ["False"]),
        (["Y", "n", " "], ["Y"], ["n"]),
    ],
)
def test_booleans_are_found_in_any_case(tmp_path, cells, true, false):
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["true"], entry["false"]) == ("boolean", true, false)


def remarks_on(tmp_path, cells):
    return [remark for name, remark in draft_file(written(tmp_path, cells)).remarks if name == "x"]


def test_blanks_among_numbers_are_missing_values(tmp_path):
    cells = [*(n / 4 for n in range(400)), *[" "] * 11]
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["missing"], entry["nullable"]) == ("numeric", [" "], True)
    assert any("11 of 411 rows" in remark for remark in remarks_on(tmp_path, cells))


@pytest.mark.parametrize("numbers", [[n % 90 for n in range(300)], [n / 7 for n in range(300)]])
def test_texts_of_many_rows_among_numbers_are_listed_beside_them(tmp_path, numbers):
    cells = ["FALSE"] * 600 + ["<5"] * 100 + ["see Mr Smith"] + numbers
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["texts"]) == ("numeric", ["<5", "FALSE"])
    assert (entry["unreadable"], entry["nullable"]) == ("missing", True)
    assert any("700 of 1001 rows" in remark for remark in remarks_on(tmp_path, cells))
    assert "Smith" not in json.dumps(entry) + json.dumps(remarks_on(tmp_path, cells))


def test_a_text_among_dates_of_digits_is_listed(tmp_path):
    cells = ["unknown"] * 100 + [20200101 + n % 28 + 100 * (n % 12) for n in range(400)]
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["texts"], entry["nullable"]) == ("date", ["unknown"], False)


def test_a_text_of_few_rows_among_numbers_is_missing_and_stands_in_no_entry(tmp_path):
    cells = ["see Mr Smith", *(n / 4 for n in range(400))]
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["unreadable"], entry["nullable"]) == ("numeric", "missing", True)
    assert "Smith" not in json.dumps(entry) + json.dumps(remarks_on(tmp_path, cells))
    assert any("1 of 401 rows" in remark for remark in remarks_on(tmp_path, cells))


def test_few_commas_between_thousands_are_read_and_not_missing(tmp_path):
    entry = draft(tmp_path, *range(0, 900, 3), *(f"{n:,}" for n in range(1001, 1011)), 3)
    assert (entry["format"], entry["nullable"]) == ("{:,}", False)


@pytest.mark.parametrize(
    ("cell", "notation"),
    [
        ("{} years", "{} years"),
        ("{}kg", "{}kg"),
        ("{} °C", "{} °C"),
        ("{}.50 €", "{:.2f} €"),
        ("CHF {}", "CHF {}"),
    ],
)
def test_numbers_with_units_are_numbers(tmp_path, cell, notation):
    entry = draft(tmp_path, *(cell.format(n % 70) for n in range(200)))
    assert (entry["type"], entry["format"]) == ("numeric", notation)


@pytest.mark.parametrize(
    ("cell", "other", "notation", "bounds"),
    [
        ("({})", "{}", "{:(}", (-399, 399)),
        ("(1,{})", "{}", "{:(,}", (-1399, 399)),
        ("1'{}", "{}", "{:'}", (200, 1399)),
        ("1\u2019{}.5", "{}", "{:\u2019}", (200, 1399)),
        ("1 {}", "2 000 {}", "{: }", (1200, 2000399)),
        ("1\u202f{},5", "{},25", "{\u202f,}", (200, 1399)),
        ("CHF 1'{}.50", "CHF {}.50", "CHF {:'.2f}", (200, 1399)),
        ("7.001.{}", "{}", "{.,}", (200, 7001399)),
        ("€ 1.{},50", "€ {},50", "€ {.,.2f}", (200, 1399)),
        ("1.{},50-", "{},50", "{-.,.2f}", (-1399, 1000)),
        ("{}-", "{}", "{:-}", (-399, 399)),
        ("\u2212{}", "{}", "{:\u2212}", (-399, 399)),
        ("+{}", "-{}", "{:+}", (-399, 399)),
        ("1,{}円", "{}円", "{:,}円", (200, 1399)),
        ("1.{}", "{}", "{.,}", (200, 1399)),
        ("R$ 1.{}", "R$ {}", "R$ {.,}", (200, 1399)),
        ("$1,{} USD", "${} USD", "${:,} USD", (200, 1399)),
        ("1\u2009{}.5", "{}", "{:\u2009}", (200, 1399)),
    ],
)
def test_numbers_with_marks_between_thousands_or_in_parentheses_are_numbers(
    tmp_path, cell, other, notation, bounds
):
    """Others of the column are too small for a mark, or positive."""
    cells = [one.format(n) for n in range(200, 400) for one in (cell, other)]
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["format"], entry["nullable"]) == ("numeric", notation, False)
    low, high = bounds
    assert low - 2000 <= entry["min"] <= low
    assert high <= entry["max"] <= high * 2


@pytest.mark.parametrize("other", ["{}.333", "0.{}", "{}.4"])
def test_points_before_three_digits_divide_no_thousands_beside_fractions(tmp_path, other):
    cells = [one.format(n) for n in range(200, 400) for one in ("{}", other)]
    entry = draft(tmp_path, *cells)
    assert entry["max"] <= 400
    assert entry["format"] == "{:g}"


@pytest.mark.parametrize("cell", ["\u2013{}"])
def test_numbers_that_no_entry_can_state_are_left_out_with_a_remark(tmp_path, cell):
    cells = [cell.format(n) for n in range(200, 400)]
    assert draft(tmp_path, *cells) == {"type": "text", "drop": True}
    assert any("write them" in remark or "are written" in remark for remark in remarks_on(tmp_path, cells))


@pytest.mark.parametrize(
    "cells",
    [
        [300_000 + n for n in range(3000)],
        [5000 + 3 * n for n in range(600)],
        [2**60 + 997 * n * n for n in range(60)],
        [f"user{n % 30}@mail.example" for n in range(100)],
    ],
)
def test_keys_and_addresses_are_identifiers(tmp_path, cells):
    rng = np.random.default_rng(4)
    assert draft(tmp_path, *rng.permutation(np.array(cells, dtype=object)))["type"] == "identifier"


def test_measurements_that_all_differ_are_numbers(tmp_path):
    # Of 200 numbers among 180,000, a tenth of a pair is equal by chance.
    salaries = np.random.default_rng(4).permutation(np.arange(20_000, 200_000))[:200]
    assert draft(tmp_path, *salaries)["type"] == "numeric"


def test_amounts_that_all_differ_are_no_keys(tmp_path):
    assert draft(tmp_path, *(f"{40_000 + 37 * n}.00" for n in range(900)))["type"] == "numeric"


def test_years_that_all_differ_are_no_keys(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("year,x\n" + "".join(f"{1900 + n},{n % 3}\n" for n in range(100)))
    assert draft_file(path).entries["year"]["type"] == "numeric"


def test_codes_that_often_differ_are_open_categories(tmp_path):
    cells = [f"I{n % 99:02d}.{n % 7}" for n in range(400)]
    entry = draft(tmp_path, *cells, *cells[:100])
    assert (entry["type"], entry["open"]) == ("categorical", True)


def test_digits_with_zeros_in_front_that_often_differ_are_numbers_with_these_zeros(tmp_path):
    cells = [f"{n:05d}" for n in range(0, 1200, 2)]
    entry = draft(tmp_path, *cells, *cells[:100])
    assert (entry["type"], entry["format"]) == ("numeric", "{:05}")


def test_ranges_are_ordered_categories(tmp_path):
    assert draft(tmp_path, "10-19", "0-9", "80+", "0-9") == listed("0-9", "10-19", "80+", ordered=True)
    assert "ordered" not in draft(tmp_path, "7", "A1", "A2")


def test_texts_of_a_small_table_that_nearly_all_differ_are_not_listed(tmp_path):
    entry = draft(tmp_path, *(f"Mr. Number {n}" for n in range(40)))
    assert entry == {"type": "text", "drop": True}


def test_numbers_of_a_small_table_that_nearly_all_differ_are_not_listed(tmp_path):
    assert draft(tmp_path, *(n * 1.37 for n in range(15)))["type"] == "numeric"


def test_a_constant_is_kept_with_a_remark(tmp_path):
    assert draft(tmp_path, *[2013] * 30) == listed(2013, ordered=True)
    assert remarks_on(tmp_path, [2013] * 30) == [
        "it has one value only: leave it out, or keep it if that value is public"
    ]


def test_columns_that_determine_each_other_are_named(tmp_path):
    path = tmp_path / "rows.csv"
    rows = "".join(f"{n % 7},{'abcdefg'[n % 7]},{n % 5}\n" for n in range(210))
    path.write_text("code,label,other\n" + rows)
    drafted = draft_file(path)
    assert [(name, remark) for name, remark in drafted.remarks if "determine each other" in remark] == [
        ("label", "it and 'code' determine each other: one of them can be dropped")
    ]


def test_lists_and_bytes_of_a_parquet_file_are_left_out(tmp_path):
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT i % 2 AS k, [i, 2] AS lists, {{'a': i}} AS parts, 'x'::BLOB AS bytes "
            f"FROM range(80) AS t(i)) TO '{path}'"
        )
    drafted = draft_file(path)
    assert [drafted.entries[name]["type"] for name in ("lists", "parts", "bytes")] == ["text"] * 3
    assert len([remark for _, remark in drafted.remarks if "no release can hold" in remark]) == 3


def test_every_entry_that_was_read_from_rows_is_marked(tmp_path):
    drafted = draft_file(written(tmp_path, ["b", "a"]))
    assert drafted.domain.unreviewed == ("row", "x")


def test_a_file_without_rows_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.csv has no rows"):
        draft_file(path)


def test_a_file_of_identifiers_alone_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id\n" + "".join(f"{n}\n" for n in range(100)), encoding="utf-8")
    with pytest.raises(DataError, match="no column that a release can hold"):
        draft_file(path)


@pytest.mark.parametrize(
    ("least", "largest", "scale", "bounds"),
    [
        (17, 90, Scale.LINEAR, (10, 90)),
        (-0.03, 0.94, Scale.LINEAR, (-0.1, 1.0)),
        (114, 41310, Scale.LOG, (100, 50000)),
        (0.0047, 512.33, Scale.LOG, (0.004, 600)),
        (100, 100000, Scale.LOG, (100, 100000)),
        (-7, 3000, Scale.SYMLOG, (-7, 3000)),
        (0, 0.37, Scale.SYMLOG, (0, 0.4)),
    ],
)
def test_bounds_have_few_digits(least, largest, scale, bounds):
    assert round_bounds(least, largest, scale) == bounds


@pytest.mark.parametrize(
    ("least", "largest", "bounds"), [(2, 2359, (0, 2400)), (0, 360, (0, 360)), (1613, 5140, (1600, 5200))]
)
def test_bounds_of_whole_numbers_are_within_a_tenth_of_their_range(least, largest, bounds):
    assert round_bounds(least, largest, Scale.LINEAR, whole=True) == bounds


@pytest.mark.parametrize(
    ("name", "cells", "left_out"),
    [
        ("patient_no", [f"P{n % 90:06d}" for n in range(300)], True),
        ("PatientID", [str(1000 + n % 90) for n in range(300)], True),
        ("id", [str(1000 + 7 * (n % 90)) for n in range(300)], True),
        ("surname", [("Smith", "Jones", "Brown")[n % 3] for n in range(300)], True),
        ("Nachname", [f"Name{n % 90}" for n in range(300)], True),
        ("person_id", [str(n % 4) for n in range(300)], False),
        ("Student ID", [f"S-{n % 90:05d}" for n in range(300)], True),
        ("customer_id", [f"C{n % 90:05d}" for n in range(300)], True),
        ("ward_no", [f"W{n % 90:03d}" for n in range(300)], False),
        ("drug_name", [f"drug{n % 90}" for n in range(300)], False),
    ],
)
def test_columns_that_are_named_after_people_are_left_out_even_if_values_repeat(
    tmp_path, name, cells, left_out
):
    path = tmp_path / "rows.csv"
    path.write_text(f"age,{name}\n" + "".join(f"{n % 60},{cell}\n" for n, cell in enumerate(cells)))
    drafted = draft_file(path)
    assert (drafted.entries[name] == {"type": "text", "drop": True}) == left_out
    assert open_source(path).read(drafted.domain).record_count == 300


@pytest.mark.parametrize("rows_each", [1, 4])
def test_what_all_rows_of_a_key_say_the_same_is_told(tmp_path, rows_each):
    """Sex and year of birth are of the person; ward is of the visit, and town is too rare to tell."""
    rng, people = np.random.default_rng(1), 120
    whose = np.repeat(np.arange(people), rows_each)
    cells = {
        "patient_id": whose + 5000,
        "born": rng.integers(1930, 2010, people)[whose],
        "sex": np.array(["f", "m"])[rng.integers(0, 2, people)][whose],
        "ward": np.array(["a", "b", "c"])[rng.integers(0, 3, len(whose))],
        "town": np.where(whose == 3, "far", "near"),
    }
    lines = [",".join(cells), *(",".join(map(str, row)) for row in zip(*cells.values(), strict=True))]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    remarks = [text for name, text in draft_file(tmp_path / "visits.csv").remarks if "per_person" in text]
    told = "all its rows say the same in 'born', 'sex': with it as the key, name these by per_person"
    assert remarks == ([told] if rows_each > 1 else [])


@pytest.mark.parametrize("text", ["inf", "-inf", "Infinity", "INF"])
def test_infinite_numbers_are_missing_values(tmp_path, text):
    entry = draft(tmp_path, *(str(n / 8) for n in range(400)), *[text] * 40)
    assert (entry["type"], entry["missing"], entry["nullable"]) == ("numeric", [text], True)


def test_a_column_whose_entry_no_domain_holds_is_left_out_with_a_remark(tmp_path, monkeypatch):
    monkeypatch.setattr(
        inference,
        "draft_boolean",
        lambda profile: {"type": "boolean", "true": ["a"], "false": ["a"]} if profile.name == "x" else None,
    )
    drafted = draft_file(written(tmp_path, ["a", "b"] * 30))
    assert drafted.entries["x"] == {"type": "text", "drop": True}
    assert "x" in [name for name, remark in drafted.remarks if "describe it" in remark]


def test_keys_that_pandas_wrote_beside_missing_ones_are_whole_numbers(tmp_path):
    assert draft(tmp_path, *(f"{n}.0" for n in range(1, 200))) == {"type": "identifier", "pattern": "{:d}"}
    assert draft(tmp_path, *(f"{n / 2}" for n in range(1, 200)))["type"] == "numeric"


@pytest.mark.parametrize("form", ["{:.3e}", "{:.2E}", "{:.0e}"])
def test_numbers_with_exponents_are_drafted_as_they_are_written(tmp_path, form):
    numbers = np.random.default_rng(6).lognormal(14, 3, 300).tolist()
    entry = draft(tmp_path, *map(form.format, numbers))
    assert (entry["type"], entry["format"], entry["integer"]) == ("numeric", form, False)


def test_few_numbers_of_which_some_are_whole_are_listed_as_they_are_written(tmp_path):
    assert draft(tmp_path, "40", "38.5", "20", "19.25")["categories"] == [19.25, 20, 38.5, 40]
    assert draft(tmp_path, "40.0", "38.5", "20.0", "19.25")["categories"] == [19.25, 20.0, 38.5, 40.0]


def test_a_unit_of_few_rows_is_no_reason_to_leave_out_that_of_all_others(tmp_path):
    cells = [f"{10 + number / 10:.1f} kmpl" for number in range(100)] * 30
    cells += [f"{10 + number / 100:.2f} km/kg" for number in range(25)]
    entry = draft(tmp_path, *cells)
    assert (entry["type"], entry["format"], entry["unreadable"]) == ("numeric", "{:.1f} kmpl", "missing")


@pytest.mark.parametrize("form", ["{1}{0:,.2f}", "{0:.2f} {2}", "{2} {0:.2f}"])
def test_amounts_of_several_currencies_are_no_keys_and_left_out_with_a_remark(tmp_path, form):
    kinds = (("€", "EUR"), ("$", "USD"), ("£", "GBP"))
    cells = [form.format(7.13 * number, *kinds[number % 3]) for number in range(300)]
    assert draft(tmp_path, *cells) == {"type": "text", "drop": True}
    assert any("several currencies" in remark for remark in remarks_on(tmp_path, cells))


def test_keys_with_a_code_of_a_currency_in_them_are_keys(tmp_path):
    cells = [f"{'EURO' if number % 2 else 'CADENZA'}-{number:05d}" for number in range(300)]
    assert draft(tmp_path, *cells)["type"] == "identifier"
