"""Every page that the product writes, as a reader sees it: on a phone and a desktop, in light and dark."""

import pytest

from support.browsing import chromium, needs_browser, unreadable
from support.every_page import DOCUMENTS, written

pytestmark = [pytest.mark.slow, needs_browser]

PAGES = (
    "report",
    "evaluation",
    "attack",
    "related",
    "related-evaluation",
    "demo",
    "epsilon",
    "verify",
    *DOCUMENTS,
)


@pytest.fixture(scope="module", name="paths")
def _paths(tmp_path_factory):
    return written(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module", name="page")
def _page():
    with chromium() as browser:
        yield browser.new_page()


def test_these_are_all_pages(paths):
    assert set(paths) == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_its_text_is_whole_and_has_contrast(page, paths, name):
    page.goto(paths[name].as_uri())
    assert unreadable(page) == []


@pytest.mark.parametrize("name", ["evaluation", "related-evaluation", "demo"])
def test_an_evaluation_begins_with_pictures(page, paths, name):
    page.goto(paths[name].as_uri())
    kinds = page.evaluate(
        "[...document.querySelectorAll('main svg, main .rows, main table')].map(one => one.matches('table'))"
    )
    assert kinds[0] is False
    assert kinds == sorted(kinds[: kinds.index(True)]) + kinds[kinds.index(True) :]


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("<p style='width: 1300px'>x</p>", "sticks out"),
        ("<p style='width: 2em; overflow-wrap: anywhere'>anonymisation</p>", "broken word: anonymisation"),
        (
            "<p style='width: 3em; overflow: hidden; white-space: nowrap'>cut in two</p>",
            "cut off: cut in two",
        ),
        (
            "<div class=scroll style='width: 9em; overflow: auto'><p style='width: 30em'>x</p></div>",
            "scrolled",
        ),
        ("<p style='color: #999; background: #fff'>pale</p>", "contrast 2.8 in light: pale"),
        (
            "<style>@media (prefers-color-scheme: dark) { p { color: #222; background: #000 } }</style>"
            "<p>dim</p>",
            "in dark: dim",
        ),
    ],
)
def test_a_fault_is_found(page, fault, found):
    page.set_content(f"<!doctype html><meta name=color-scheme content='light dark'><body>{fault}")
    assert any(found in one for one in unreadable(page))
