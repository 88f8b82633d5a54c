import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.report.distributions import COLUMNS_HEIGHT, COLUMNS_WIDTH, MOST_BARS, distribution


def column(attribute, codes):
    return Table.from_codes(Domain((attribute,)), np.array(codes)[:, None])


def test_few_values_have_one_row_each_with_its_share():
    kind = CategoricalAttribute("kind", ("", "x", "y"))
    shown = distribution("kind", column(kind, [0, 1, 1, 1]), column(kind, [2, 2]))
    assert [(row.label, row.synthetic, row.real) for row in shown.rows] == [
        ("(missing)", 0.25, 0.0),
        ("x", 0.75, 0.0),
        ("y", 0.0, 1.0),
    ]
    assert {row.scale for row in shown.rows} == {1.0}
    assert shown.columns is None


def test_the_most_frequent_of_many_values_have_rows_and_the_others_share_one():
    town = CategoricalAttribute("town", tuple(f"t{place}" for place in range(30)))
    codes = np.repeat(np.arange(30), np.arange(30))
    shown = distribution("town", column(town, codes), column(town, [0, 29]))
    assert [row.label for row in shown.rows] == [f"t{29 - place}" for place in range(MOST_BARS)] + [
        "21 others"
    ]
    assert sum(row.synthetic for row in shown.rows) == pytest.approx(1)
    assert [shown.rows[0].real, shown.rows[-1].real] == [0.5, 0.5]


def test_a_release_shows_only_synthetic_shares():
    code = CodedAttribute("code", 3)
    shown = distribution("code", column(code, [0, 1, 1, 2]), None)
    assert [row.real for row in shown.rows] == [None] * 3
    numbers = distribution("n", column(NumericAttribute("n", 0, 9, 10), [1, 2]), None)
    assert numbers.columns.real is None


def test_columns_of_numbers_are_proportional_to_shares_and_fill_the_chart():
    age = NumericAttribute("age", 0, 40, 4, nullable=True, integer=False)
    shown = distribution("age", column(age, [0, 1, 1, 3, 4]), column(age, [4, 4, 0, 0]))
    assert shown.missing == (0.2, 0.5)
    assert [text for _, text in shown.columns.ticks] == ["0", "10", "20", "30", "40"]
    assert [place for place, _ in shown.columns.ticks] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    heights = [height for *_, height in shown.columns.synthetic]
    assert heights == pytest.approx(
        [0.2 / 0.5 * COLUMNS_HEIGHT, 0.4 / 0.5 * COLUMNS_HEIGHT, 0, 0.2 / 0.5 * COLUMNS_HEIGHT]
    )
    assert [y + height for _, y, _, height in shown.columns.synthetic] == pytest.approx([COLUMNS_HEIGHT] * 4)
    assert shown.columns.real.startswith(
        f"M0 {COLUMNS_HEIGHT:.2f}L0.00 0.00H{COLUMNS_WIDTH / 4:.2f}L{COLUMNS_WIDTH / 4:.2f} {COLUMNS_HEIGHT}"
    )


def test_numbers_of_few_values_have_a_row_each():
    flag = NumericAttribute("flag", 0, 0, 1, nullable=True, integer=True, atoms=(1.0,))
    shown = distribution("flag", column(flag, [0, 0, 1, 2]), None)
    assert shown.kind == "2 values"
    assert [(row.label, row.synthetic) for row in shown.rows] == [("0", 0.5), ("1", 0.25)]
    assert shown.columns is None
    assert shown.missing == (0.25, None)


def test_dates_are_columns_between_their_bounds_with_a_row_for_each_atom():
    form = {"type": "date", "min": "2020-01-01", "max": "2023-12-31", "granularity": "year", "nullable": True}
    day = Domain.from_json({"day": form | {"atoms": ["9999-12-31"]}})["day"]
    shown = distribution("day", column(day, [0, 1, 1, 4]), column(day, [5, 3]))
    assert shown.kind == "dates in 4 bins, 1 by themselves"
    assert [text for _, text in shown.columns.ticks] == ["2020", "2022", "2024"]
    assert [(row.label, row.synthetic, row.real) for row in shown.rows] == [("9999-01-01", 0.25, 0.0)]
    assert shown.missing == (0.0, 0.5)


def test_booleans_have_a_row_each():
    flag = Domain.from_json({"flag": {"type": "boolean", "nullable": True}})["flag"]
    shown = distribution("flag", column(flag, [0, 1, 1, 2]), None)
    assert [(row.label, row.synthetic) for row in shown.rows] == [
        ("false", 0.25),
        ("true", 0.5),
        ("(missing)", 0.25),
    ]


def test_merges_many_bins_without_losing_any():
    fine = NumericAttribute("fine", 0, 999, 1000)
    shown = distribution("fine", column(fine, np.arange(1000)), None)
    heights = np.array([height for *_, height in shown.columns.synthetic])
    assert len(heights) == 63
    assert heights == pytest.approx(COLUMNS_HEIGHT)
    widths = np.array([width for _, _, width, _ in shown.columns.synthetic])
    assert widths.sum() == pytest.approx(COLUMNS_WIDTH)


def area(columns):
    """The part of the drawn area that each column takes."""
    areas = np.array([width * height for _, _, width, height in columns.synthetic])
    return areas / areas.sum()


def test_columns_are_as_wide_as_their_bins_and_their_areas_are_as_the_shares():
    paid = NumericAttribute("paid", 0, 100, 3, edges=(0.0, 10.0, 50.0, 100.0))
    shown = distribution("paid", column(paid, [0, 1, 1, 2]), None).columns
    assert [x for x, *_ in shown.synthetic] == pytest.approx([0, COLUMNS_WIDTH / 10, COLUMNS_WIDTH / 2])
    assert area(shown) == pytest.approx([0.25, 0.5, 0.25])


def test_numbers_that_crowd_at_one_end_are_on_a_logarithmic_axis_with_powers_of_ten():
    rng = np.random.default_rng(1)
    costs = np.exp(6 + 1.5 * rng.standard_normal(4000))
    edges = tuple(np.quantile(costs, np.linspace(0, 1, 41)).tolist())
    cost = NumericAttribute("cost", edges[0], edges[-1], 40, edges=edges)
    shown = distribution("cost", column(cost, np.clip(np.searchsorted(edges, costs) - 1, 0, 39)), None)
    assert shown.kind.endswith("on a logarithmic axis")
    ticks = [float(text.replace(",", "")) for _, text in shown.columns.ticks]
    assert np.diff(np.log10(ticks)) == pytest.approx(1)
    # A log-normal cost is a bell: bins of equal shares are low at both ends and high in the middle.
    heights = [height for *_, height in shown.columns.synthetic]
    assert max(heights) > 4 * max(heights[0], heights[-1])
    assert heights.index(max(heights)) in range(len(heights) // 4, 3 * len(heights) // 4)


def test_many_codes_are_columns():
    shown = distribution("c", column(CodedAttribute("c", 40), [0, 39]), None)
    assert ([text for _, text in shown.columns.ticks], shown.missing) == (["0", "10", "20", "30", "40"], None)


def test_atoms_have_rows_of_their_own_beside_the_columns_of_the_bins():
    gain = NumericAttribute("gain", 1, 100, 2, integer=True, atoms=(0.0, 99_999.0))
    shown = distribution("gain", column(gain, [0, 0, 1, 3]), column(gain, [0, 2, 2, 3]))
    assert [(row.label, row.synthetic, row.real) for row in shown.rows] == [
        ("0", 0.5, 0.25),
        ("99999", 0.25, 0.25),
    ]
    assert len(shown.columns.synthetic) == 2
    assert (shown.columns.axis.low, shown.columns.axis.high) == (1, 101)
    assert shown.kind == "numbers in 2 bins, 2 by themselves"


def test_numbers_that_are_all_atoms_have_no_columns():
    code = NumericAttribute("code", 1, 1, 1, integer=True, atoms=(1.0,))
    shown = distribution("code", column(code, [0, 0]), None)
    assert (shown.columns, [row.synthetic for row in shown.rows]) == (None, [1.0])


def test_a_bin_beside_an_atom_ends_at_the_atom():
    rain = NumericAttribute("rain", -10, 60, 2, atoms=(-10.0, 0.0, 60.0))
    shown = distribution("rain", column(rain, [0, 1, 2]), None)
    assert (shown.columns.axis.low, shown.columns.axis.high) == (-10, 60)
    rain = NumericAttribute("rain", 0, 60, 2, atoms=(0.0,))
    assert distribution("rain", column(rain, [0, 1]), None).columns.axis.low == 0
