"""A party's console in a real browser, as an officer uses it who never opened a terminal."""

import json

import pytest

from support.browsing import INACCESSIBLE, Client, chromium, needs_browser, unreadable
from support.consoles import FINISHED, HOSTILE, RUNNING, WAITING

pytestmark = [pytest.mark.slow, needs_browser]

PAGES = (
    *("/", "/releases", "/certificates", "/health", "/trail", "/trail?words=nothing+fits", "/nothing"),
    *(f"/releases/{release}" for release in (WAITING, RUNNING, FINISHED, HOSTILE)),
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as launched:
        yield launched


@pytest.fixture
def officer(browser):
    """Opens a console in a window: the page, and what it complained about or loaded from elsewhere."""
    contexts = []

    def opened(address, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        complaints = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        authority = f"http://{Client(address).authority}/"
        page.on(
            "request", lambda request: request.url.startswith(authority) or complaints.append(request.url)
        )
        page.goto(address)
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        page.wait_for_load_state()  # Before that the page may not take keys.
        page.base = page.url.rstrip("/")
        return page, complaints

    yield opened
    for context in contexts:
        context.close()


def test_every_page_fits_is_readable_accessible_and_silent(past, empty, consoles, officer):
    """Missing pages are told by the browser's console."""
    for operator, pages in ((past, PAGES), (empty, PAGES[:5])):
        page, complaints = officer(consoles(operator))
        for path in pages:
            page.goto(page.base + path)
            assert unreadable(page) == [], path
            assert page.evaluate(INACCESSIBLE) == []
        assert [told for told in complaints if "404" not in told] == []


def test_a_page_says_without_scripts_what_it_says_with_them(past, consoles, officer):
    page, complaints = officer(consoles(past), java_script_enabled=False)
    page.goto(f"{page.base}/releases/{WAITING}")
    told = page.locator("main").inner_text()
    for words in ("Planning of emergency beds", "Dr. Ada Example", "73.2 %", "If you deny", "Left after it"):
        assert words in told
    assert complaints == []


def test_an_officer_decides_by_keyboard_alone_and_always_sees_where_she_is(past, consoles, officer):
    page, complaints = officer(consoles(past))
    link = f"a[href$='/releases/{WAITING}']"

    def tab_to(selector):
        for _ in range(60):
            page.keyboard.press("Tab")
            seen = page.evaluate(
                "[getComputedStyle(document.activeElement).outlineStyle, document.activeElement.matches("
                f"{json.dumps(selector)})]"
            )
            assert seen[0] != "none"
            if seen[1]:
                return
        raise AssertionError(f"the keyboard does not reach {selector}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    # The jump moves the focus with a frame that comes later than the key, and later than the address.
    page.wait_for_function("document.activeElement.id === 'content'", polling=50)
    tab_to(link)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your decision").wait_for()
    page.wait_for_load_state()  # Before that the page may not take keys.
    tab_to("#approve-by")
    page.keyboard.type("D. P. Officer")
    tab_to("#approve-reason")
    page.keyboard.type("the board agreed")
    tab_to("[name=read]")
    page.keyboard.press("Space")
    tab_to("form[action$=approve] button")
    page.keyboard.press("Enter")
    page.get_by_text("approved, not begun").wait_for()
    assert "the board agreed" in page.locator("main").inner_text()
    assert json.loads(past.run("show", WAITING, "--json"))["state"] == "approved"
    assert complaints == []


def test_the_browser_itself_asks_for_the_name_the_tick_and_the_reason(past, consoles, officer):
    page, _ = officer(consoles(past))
    page.goto(f"{page.base}/releases/{WAITING}")
    page.get_by_role("button", name="Approve this release").click()
    page.get_by_role("button", name="Deny this release").click()
    assert [box.input_value() for box in page.get_by_label("Your name").all()] == ["", ""]
    page.get_by_label("Your name").last.fill("D. P. Officer")
    page.get_by_role("button", name="Deny this release").click()
    assert json.loads(past.run("show", WAITING, "--json"))["state"] == "pending"
    page.get_by_label("Reason").last.fill("not our purpose")
    page.get_by_role("button", name="Deny this release").click()
    page.get_by_text("not our purpose", exact=True).wait_for()
    assert json.loads(past.run("show", WAITING, "--json"))["state"] == "denied"


def test_another_window_does_not_get_in_and_another_site_cannot_decide(past, consoles, officer, browser):
    address = consoles(past)
    page, _ = officer(address)
    other = browser.new_context().new_page()
    assert other.goto(address).status == 403
    assert other.goto(page.base + "/").status == 403
    # A page of another origin in the same browser, with the form of the console.
    stranger = page.context.new_page()
    stranger.goto("data:text/html,<form method=post><button>x</button></form>")
    stranger.evaluate(f"document.forms[0].action = '{page.base}/releases/{WAITING}/approve'")
    with stranger.expect_navigation():
        stranger.get_by_role("button").click()
    assert json.loads(past.run("show", WAITING, "--json"))["state"] == "pending"
    other.context.close()
