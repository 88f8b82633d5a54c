"""An officer's browser on the institution's network: cookies and redirections as browsers take them."""

import json

import pytest

from dpmosaic.simulations.local_network.ports import free_port
from support.authorities import SERVER, Authority
from support.browsing import INACCESSIBLE, chromium, needs_browser
from support.consoles import WAITING
from support.desks import LISTS, of_provider, serving, write_section
from support.providers import Provider

pytestmark = [pytest.mark.slow, needs_browser]


def test_an_officer_signs_in_at_another_site_decides_and_signs_out(past, tmp_path):
    """To a browser, localhost and 127.0.0.1 are two sites, as a console and its provider mostly are."""
    authority, address = Authority(tmp_path), f"https://127.0.0.1:{free_port()}"
    provider = Provider("localhost")
    provider.account = {"sub": "ada-7", "name": "Ada Meier", "groups": ["data-protection"]}
    files = authority.issue("provider", "CN=localhost", SERVER, hosts=["localhost"])
    write_section(past, authority, address, of_provider(provider, authority, past) + LISTS)
    complaints = []
    with provider.running(*files), serving(past, address), chromium() as browser:
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(address)
        assert page.evaluate(INACCESSIBLE) == []
        page.get_by_role("link", name="Sign in").click()
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        assert "Ada Meier, officer" in page.locator("header").inner_text()
        page.goto(f"{address}/releases/{WAITING}")
        assert page.evaluate(INACCESSIBLE) == []
        page.get_by_label("I have read").check()
        page.get_by_role("button", name="Approve this release").click()
        page.get_by_text("approved, not begun").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="You are signed out").wait_for()
        page.goto(f"{address}/releases/{WAITING}")
        page.get_by_role("heading", name="Sign in").wait_for()
    assert complaints == []
    (decision,) = json.loads(past.run("show", WAITING, "--json"))["decisions"]
    assert decision["by"] == f"login {provider.issuer} ada-7"
