import csv
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dpmosaic.simulations.experiments.figure import (
    BOTTOM,
    FIGURE_HEIGHT,
    FIGURE_WIDTH,
    LEFT,
    RIGHT,
    TOP,
    charts,
)
from dpmosaic.simulations.experiments.page import figure, page
from dpmosaic.simulations.experiments.results import Mean, Results
from dpmosaic.simulations.experiments.store import Result

from .conftest import AGAIN, FAST, TV


def test_tables_hold_means_over_seeds_and_the_papers_numbers(results, experiment):
    panel = experiment.panels[0]
    assert results.mean(panel, FAST, 0.5, "tv_2way") == Mean(pytest.approx(0.4), pytest.approx(0.02**0.5), 2)
    assert results.mean(panel, AGAIN, 1.0, "tv_2way") is None
    assert results.headings(TV) == ["paper", "independent", "again", "DPLT"]
    assert results.rows(panel, TV) == [
        ("0.5", ["0.2000", "0.4000 ± 0.1", "0.1000 ± 0", "–"]),
        ("1", ["0.1000", "0.4000 ± 0.1", "–", "–"]),
    ]


def test_ratios_use_the_lines_that_reproduce_the_paper(results):
    first, second = results.ratios()
    assert (first.line, first.reported, first.numbers) == ("independent", "paper", 2)
    assert (first.least, first.middle, first.most) == pytest.approx((2, 3, 4))
    assert (second.line, second.numbers, second.middle) == ("again", 1, pytest.approx(0.5))


def test_gaps_list_failures_and_points_that_were_not_run(results):
    gaps = results.gaps()
    assert {
        (panel, line, failure and failure.sentence): points for (panel, line, failure), points in gaps.items()
    } == {
        ("Adult", "again", None): ["1"],
        ("Adult", "DPLT", "a <reason>"): ["0.5", "1"],
    }


def test_the_csv_has_every_number_once(results, tmp_path):
    results.write_csv(tmp_path / "numbers.csv")
    with (tmp_path / "numbers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 + 2 + 2
    assert sum(row["line"] == "paper" for row in rows) == 2
    ours = [row for row in rows if row["line"] == "independent" and row["epsilon"] == "1"]
    assert [(row["seed"], float(row["number"])) for row in ours] == [
        ("1", pytest.approx(0.3)),
        ("2", pytest.approx(0.5)),
    ]


@pytest.mark.parametrize("log", [True, False])
def test_heights_grow_with_numbers_and_ticks_match_them(results, log):
    shown = replace(TV, log=log)
    changed = replace(results, experiment=replace(results.experiment, shown=(shown,)))
    (chart,) = charts(changed)
    curves = {curve.label: curve for curve in chart.curves}
    assert list(curves) == ["paper", "independent", "again"]
    height = {
        0.2: curves["paper"].places[0][1],
        0.1: curves["paper"].places[1][1],
        0.4: curves["independent"].places[0][1],
    }
    assert height[0.1] > height[0.2] > height[0.4]
    if log:
        assert height[0.1] - height[0.2] == pytest.approx(height[0.2] - height[0.4])
    else:
        assert 2 * (height[0.1] - height[0.2]) == pytest.approx(height[0.2] - height[0.4])
    ticks = {float(tick.text): tick.place for tick in chart.y_ticks}
    assert 2 <= len(ticks) <= 8
    assert {value: ticks[value] for value in height if value in ticks} == pytest.approx(
        {value: place for value, place in height.items() if value in ticks}
    )
    assert set(height) & set(ticks)
    for x, upper, lower in curves["independent"].bars:
        assert LEFT < x < FIGURE_WIDTH - RIGHT
        assert TOP <= upper < lower <= FIGURE_HEIGHT - BOTTOM


def test_a_chart_without_numbers_is_empty_and_numbers_below_zero_have_no_logarithm(experiment):
    (empty,) = charts(Results(replace(experiment, reported=()), 1, {}))
    assert empty.curves == ()
    cells = experiment.cells(1)
    below = {cell: Result(cell, {"tv_2way": -0.5}) for cell in cells}
    (chart,) = charts(Results(replace(experiment, reported=()), 1, below))
    places = [y for curve in chart.curves for _, y in curve.places]
    assert len(set(places)) == 1
    assert all(math.isfinite(y) and TOP <= y <= FIGURE_HEIGHT - BOTTOM for y in places)


def test_the_figure_is_one_svg_that_loads_nothing(results):
    root = ElementTree.fromstring(figure(results))
    texts = ["".join(found.itertext()) for found in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"paper", "independent", "again", "DPLT", "epsilon", "Adult"} <= set(texts)
    assert "href" not in figure(results)


def test_the_page_shows_numbers_reasons_and_reconstructions_escaped(results):
    text = page(results, "1.0+abc", quick=False)
    assert '<th scope="row">0.5</th><td class="n">0.2000</td><td class="n">0.4000 ± 0.1</td>' in text
    assert "The table is small &amp; &lt;made up&gt;." in text
    assert "a &lt;reason&gt;" in text
    assert "Reconstruction of DPLT" in text
    assert 'independent, over paper</th><td class="n">3.00</td><td class="n">2.00 to 4.00</td>' in text
    assert "quick run" not in text
    assert "quick run" in page(results, "1.0+abc", quick=True)
