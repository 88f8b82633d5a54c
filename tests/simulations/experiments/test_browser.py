"""The page of an experiment in a real browser."""

import pytest

from dpmosaic.simulations.experiments.page import figure, page

from ...curator.report.test_browser import CONTRAST, CUT, SCHEMES, WIDTHS, opened, pytestmark  # noqa: F401


@pytest.fixture
def path(results, tmp_path):
    written = tmp_path / "small.html"
    written.write_text(page(results, "1.0+abc", quick=True), encoding="utf-8")
    return written


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_silent_loads_nothing_and_fits_its_width(browser, path, width):
    with opened(browser, path, width) as (opened_page, events):
        assert opened_page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened_page.evaluate(CUT) == []
        assert [event for event in events if event not in (path.as_uri(), "data:,")] == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_is_readable_in_light_and_dark_mode(browser, path, scheme):
    with opened(browser, path, scheme=scheme) as (opened_page, _):
        contrasts = opened_page.evaluate(CONTRAST)
        assert len(contrasts) > 40
        assert [found for found in contrasts if found[1] < 4.5] == []


def test_the_charts_mark_every_number_in_the_colour_of_its_curve(browser, path):
    """Two of the paper's, two of one line, one of another; the failed line has none."""
    marks = "[...document.querySelectorAll('.card .mark')].map(x => getComputedStyle(x).stroke)"
    with opened(browser, path) as (opened_page, _):
        drawn = opened_page.evaluate(marks)
        names = opened_page.evaluate(
            "[...document.querySelectorAll('.card g title')].map(x => x.textContent)"
        )
    assert names == ["paper", "independent", "again"]
    assert len(drawn) == 5
    assert len(set(drawn)) == 3


def test_the_figure_opens_as_a_single_file(browser, results, tmp_path):
    path = tmp_path / "small.svg"
    path.write_text(figure(results), encoding="utf-8")
    with opened(browser, path) as (opened_page, events):
        assert opened_page.locator("path.mark").count() == 5 + 4
        assert [event for event in events if event != path.as_uri()] == []
