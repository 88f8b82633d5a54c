"""The page on which epsilon is chosen computes what the dry run states, and is one for everybody."""

import importlib.util
import itertools
import json
import math
import subprocess
from pathlib import Path

import pytest

from support.browsing import CONTRAST, INACCESSIBLE, chromium, needs_browser
from support.verifiers import NODE, needs_node

DOCS = Path(__file__).parent.parent / "docs"
SCRIPT = DOCS / "epsilon" / "forecast.js"
RUN = """
const [script, given] = process.argv.slice(1);
const { errors } = require(script)(JSON.parse(given));
console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0)).map(errors)));
"""
NAMES = ("rows", "columns", "values", "epsilon", "delta")
TABLES = itertools.product((60, 3000, 50_000), (2, 9), (2, 3, 12, 70))
GRID = [
    *((*table, epsilon, 1e-9) for table, epsilon in zip(TABLES, itertools.cycle((1.0, 9.0, 0.05)))),
    (3000, 1, 7, 1.0, 1e-9),
    # Not all of these pairs can be measured in time.
    (100_000, 25, 300, 1.0, 1e-5),
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", name="made")
def _made():
    spec = importlib.util.spec_from_file_location("epsilon_page", DOCS / "epsilon_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", name="page")
def _page(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "epsilon.html"
    made.write(path)
    return path


@pytest.fixture(scope="module", name="browser")
def _browser():
    with chromium() as found:
        yield found


def numbers(outlook):
    return (outlook.least_sigma, outlook.largest_sigma, outlook.least_error, outlook.largest_error)


@needs_node
def test_the_script_computes_what_the_dry_run_states(made):
    """To 1e-4: the program adds the grid's rounding to noise, and rounds costs up."""
    asked = json.dumps([dict(zip(NAMES, one, strict=True)) for one in GRID])
    done = subprocess.run(
        [NODE, "-e", RUN, SCRIPT, json.dumps(made.given())], input=asked, capture_output=True, text=True
    )
    kinds = set()
    for case, found in zip(GRID, json.loads(done.stdout), strict=True):
        count, *pairs = made.foreseen(*case)
        measured = [one for one in pairs if math.isfinite(one.least_sigma)]
        assert (found["pairs"], found["measured"]) == (len(pairs), len(measured)), case
        for one, said in [(count, found["count"]), *((one, found["pair"]) for one in measured)]:
            assert numbers(one) == pytest.approx((*said["sigma"], *said["error"]), rel=1e-4), case
        assert measured or found["pair"] is None
        kinds.add((bool(measured), len(measured) < len(pairs)))
    assert kinds == {(False, False), (False, True), (True, False), (True, True)}


def test_the_table_of_the_documentation_is_that_of_the_page(made, page):
    text = page.read_text()
    lines = (DOCS / "choosing.md").read_text().splitlines()
    for rows in made.ROWS:
        shown = [f"{100 * made.pair_errors()[rows, epsilon]:.3g} %" for epsilon in made.EPSILONS]
        assert f"| {rows:,} | {' | '.join(shown)} |" in lines
        assert all(f">{one}<" in text for one in shown)


def test_the_page_loads_nothing_and_may_send_nothing(page):
    text = page.read_text()
    assert "default-src 'none'" in text
    assert "src=" not in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_the_page_answers_at_every_width_in_both_schemes(page, browser, width, scheme):
    shown = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.goto(page.as_uri())
    before = shown.inner_text("#found")
    shown.fill("#epsilon", "0.1")
    shown.wait_for_function("before => document.querySelector('#found').innerText !== before", arg=before)
    assert "at most 50.4 %" in shown.inner_text("#found")
    assert shown.locator("svg.chart").count() == 2
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    assert shown.evaluate(INACCESSIBLE) == []
    assert [text for text, contrast in shown.evaluate(CONTRAST) if contrast < 4.5] == []
    shown.fill("#rows", "")
    assert "Rows: " in shown.inner_text("#found")
    shown.fill("#rows", "60")
    assert "not measured" in shown.inner_text("#found")
    assert said == []
    shown.context.close()


@needs_browser
def test_without_scripts_a_table_is_shown(page, browser):
    context = browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(page.as_uri())
    assert "100,000" in shown.inner_text("main table")
    assert not shown.locator("form").is_visible()
    context.close()
