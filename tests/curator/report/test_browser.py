"""Reports in a real browser: at the width of a phone and of a desktop, in light and dark mode, in print."""

import contextlib
import itertools

import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.report.page import evaluation_report, release_report
from support.browsing import CONTRAST, chromium, needs_browser
from support.certificates import DOMAIN, certificate_form, rows

from .conftest import comparison_of

pytestmark = [pytest.mark.slow, needs_browser]

WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
NASTY = Domain(
    (
        CodedAttribute("an_attribute_whose_name_goes_on_and_on_without_any_place_to_break_it_anywhere", 3),
        CategoricalAttribute("<script>throw 1</script>", ("<img src=x onerror=alert(1)>", "value" * 40)),
        CategoricalAttribute("b", tuple(f"{'w' * 60}{place}" for place in range(30))),
    )
)
WIDE = Domain.coded({f"question {place}": 2 + place % 20 for place in range(57)})
DOMAINS = {"usual": DOMAIN, "nasty": NASTY, "wide": WIDE, "two": Domain.coded({"a": 2, "b": 2})}

# Texts that overflow their charts, and boxes that overflow the page.
CUT = """() => {
  const cut = [];
  for (const text of document.querySelectorAll("svg.chart text")) {
    const inner = text.getBoundingClientRect(), outer = text.ownerSVGElement.getBoundingClientRect();
    if (inner.left < outer.left - 1 || inner.right > outer.right + 1 ||
        inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1) cut.push(text.textContent);
  }
  for (const box of document.querySelectorAll("body *:not(.scroll *)"))
    if (box.getBoundingClientRect().right > document.documentElement.clientWidth + 1) cut.push(box.outerHTML);
  return cut;
}"""


def reports(domain):
    certificate = Certificate.from_json(certificate_form(domain))
    synthetic, real = rows(300, 1, domain), rows(200, 2, domain)
    yield "release", release_report(certificate, synthetic)
    yield "evaluation", evaluation_report(synthetic, comparison_of(real), certificate)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The reports of each domain, in files."""
    folder = tmp_path_factory.mktemp("pages")
    paths = {}
    for name, domain in DOMAINS.items():
        for kind, text in reports(domain):
            paths[name, kind] = folder / f"{name}-{kind}.html"
            paths[name, kind].write_text(text, encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def browser():
    with chromium() as launched:
        yield launched


@contextlib.contextmanager
def opened(browser, path, width=1280, scheme="light"):
    """Yields a page and a list of its errors and requests, which grows while the page is open."""
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    events = []
    page.on("console", lambda message: events.append(message.text))
    page.on("pageerror", lambda error: events.append(str(error)))
    page.on("dialog", lambda dialog: (events.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: events.append(request.url))
    page.goto(path.as_uri())
    try:
        yield page, events
    finally:
        page.close()


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_page_is_silent_loads_nothing_and_fits_its_width(browser, pages, domain):
    for kind, width in itertools.product(
        ("release", "evaluation"), WIDTHS if domain == "usual" else WIDTHS[:1]
    ):
        path = pages[domain, kind]
        with opened(browser, path, width) as (page, events):
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT) == []
            assert [event for event in events if event not in (path.as_uri(), "data:,")] == []


def test_the_checks_detect_a_faulty_page(browser, tmp_path):
    """The checks above, on a page with every defect."""
    path = tmp_path / "wrong.html"
    path.write_text(
        "<!doctype html><div style='width: 500px'>x</div><img src='a.png'>"
        "<svg class='chart' width='50' height='20'><text x='40' y='9'>sticks out</text></svg>"
        "<script>console.log('said'); throw Error('thrown')</script>"
    )
    with opened(browser, path, 390) as (page, events):
        assert page.evaluate("document.documentElement.scrollWidth") > 390
        cut = page.evaluate(CUT)
        assert {"said", "thrown", (tmp_path / "a.png").as_uri()} <= set(events)
    assert "sticks out" in cut
    assert any("500px" in box for box in cut)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_is_readable_in_light_and_dark_mode(browser, pages, scheme):
    """WCAG asks for a contrast of 4.5 at this size."""
    for kind in ("release", "evaluation"):
        with opened(browser, pages["usual", kind], scheme=scheme) as (page, _):
            contrasts = page.evaluate(CONTRAST)
            assert len(contrasts) > 80
            assert [found for found in contrasts if found[1] < 4.5] == []


def test_dark_mode_is_dark_and_print_is_white(browser, pages):
    found = {}
    for scheme in SCHEMES:
        with opened(browser, pages["usual", "release"], scheme=scheme) as (page, _):
            ground = "getComputedStyle(document.body).backgroundColor"
            found[scheme] = page.evaluate(ground)
            page.emulate_media(media="print", color_scheme=scheme)
            assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert found == {"light": "rgb(244, 246, 248)", "dark": "rgb(16, 22, 29)"}


def test_print_shows_collapsed_details(browser, pages):
    # `checkVisibility` may answer as before a change of media until a style was asked for.
    shown = (
        "[...document.querySelectorAll('details')]"
        ".map(one => getComputedStyle(one, '::details-content').contentVisibility)"
    )
    with opened(browser, pages["usual", "release"]) as (page, _):
        assert set(page.evaluate(shown)) == {"hidden"}
        page.emulate_media(media="print")
        assert set(page.evaluate(shown)) == {"visible"}
        assert page.pdf().startswith(b"%PDF")


def test_the_charts_match_the_certificate(browser, pages):
    with opened(browser, pages["usual", "release"]) as (page, _):
        assert page.locator("path.link").count() == 3
        assert page.locator("path.link.across").count() == 1
        assert page.locator("svg.chart rect[class^=l]").count() == 6
        heights = page.evaluate(
            "[...document.querySelectorAll('.stack span')].map(x => x.getBoundingClientRect().width)"
        )
        assert [height / sum(heights) for height in heights] == pytest.approx([0.25, 0.5, 0.25], abs=0.01)
