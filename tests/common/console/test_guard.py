"""What a console answers, and to whom: raw requests, as a browser sends them and as others might."""

from urllib.parse import quote

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from dpmosaic.common.console.guard import MAX_FORM_BYTES
from dpmosaic.common.console.serving import serve
from dpmosaic.common.console.site import Site, form_of
from dpmosaic.common.errors import DataError
from dpmosaic.common.processes.stopping import Stop
from support.browsing import Client, check_closed

TEMPLATES = {"page.html": '{% extends "base.html" %}{% block content %}{{ text }}{% endblock %}'}
SECRET = "what only the institution may see"


class Pages:
    """A console with one page and one form."""

    def __init__(self, folder):
        (folder / "page.html").write_text(TEMPLATES["page.html"])
        self.folder, self.changes, self.stop = folder, [], Stop()

    def __call__(self, gate, stop):
        site = Site(gate, "Title", "<b>owner</b>", {"/": "Home"}, self.folder)

        def change(request):
            self.changes.append(form_of(request))
            return site.to("/")

        def refuse(request):
            raise DataError("expected \u202e this, got that; do so")

        def fail(request):
            raise RuntimeError(SECRET)

        return site.app(
            [
                Route("/", lambda request: site.page(request, "page.html", "/", text=SECRET)),
                Route("/change", change, methods=["POST"]),
                Route("/refuse", refuse),
                Route("/fail", fail),
                Route("/plain", lambda request: PlainTextResponse("plain")),
            ]
        )


@pytest.fixture
def pages(tmp_path):
    return Pages(tmp_path)


@pytest.fixture
def client(pages):
    with serve(pages, pages.stop) as address:
        yield Client(address)


@pytest.fixture
def inside(client):
    assert client.enter()[0] == 200
    return client


def test_the_first_browser_with_the_address_enters_and_the_address_is_dead_then(client):
    status, headers, _ = client.enter()
    assert status == 200
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert f"Path={client.base}/;" in cookie
    assert "token" not in headers.get("Location", "")
    assert client.get("/")[0] == 200
    second = Client(f"http://{client.authority}{client.entrance}")
    status, headers, text = second.enter()
    assert (status, headers["Set-Cookie"]) == (403, None)
    assert "was used before" in text


@pytest.mark.parametrize("token", ["", "x" * 43, "\u00e9"])
def test_another_token_does_not_enter_and_leaves_the_address_alive(client, token):
    assert client.ask("GET", f"{client.base}/enter?token={quote(token)}")[0] == 403
    assert client.enter()[0] == 200


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_other_method_uses_the_address_up(client, method):
    status, headers, _ = client.ask(method, client.entrance, Origin=f"http://{client.authority}")
    assert (status, headers["Set-Cookie"]) == (405, None)
    assert client.enter()[0] == 200


def test_nobody_sees_a_page_before_entering_or_with_another_cookie(client):
    assert client.get("/")[0] == 403
    client.enter()
    for cookie in (None, "console=x", "console=", "other=" + client.cookie.partition("=")[2], 'console="'):
        status, _, text = client.get("/", Cookie=cookie)
        assert (status, SECRET in text) == (403, False)


def test_another_host_is_refused_so_that_a_name_that_points_here_is_of_no_use(inside):
    port = inside.authority.partition(":")[2]
    for host in (f"evil.example:{port}", "evil.example", f"localhost:{port}", "127.0.0.1", None):
        status, _, text = inside.get("/", Host=host)
        assert status in (400, 421)
        assert SECRET not in text
        assert inside.get("/console.css", Host=host)[0] in (400, 421)


def test_a_path_that_nobody_told_is_not_found(inside):
    for path in ("/", "/enter", "/console.css", "/" + "0" * 32 + "/", inside.base):
        assert inside.ask("GET", path)[0] == 404
    assert inside.get("/nothing")[0] == 404


def test_a_form_of_a_page_changes_something_and_leads_back(inside, pages):
    status, headers, _ = inside.post("/change", {"name": "\u00e4 + b&c"})
    assert (status, headers["Location"]) == (303, inside.base + "/")
    assert pages.changes == [{"name": "\u00e4 + b&c"}]


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"Origin": "http://evil.example"}, {}),
        ({"Origin": "null"}, {}),
        ({"Origin": None}, {}),
        ({"Sec-Fetch-Site": "same-site"}, {}),
        ({"Sec-Fetch-Site": "cross-site"}, {}),
        ({"Content-Type": "text/plain"}, {}),
        ({"Content-Type": "multipart/form-data; boundary=x"}, {}),
        ({"Cookie": None}, {}),
        ({"Host": "evil.example"}, {}),
        ({}, {"form_token": ""}),
        ({}, {"form_token": "x"}),
        ({}, {"name": "x" * MAX_FORM_BYTES}),
        ({}, {f"name{number}": "" for number in range(200)}),
    ],
)
def test_a_form_from_elsewhere_or_of_another_shape_changes_nothing(inside, pages, changed, fields):
    assert 400 <= inside.post("/change", fields, **changed)[0] < 500
    assert pages.changes == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_other_method_changes_anything(inside, pages, method):
    assert inside.ask(method, inside.base + "/change")[0] in (403, 405)
    assert pages.changes == []


def test_every_reply_forbids_other_resources_frames_scripts_and_copies(inside):
    replies = [
        inside.get(path) for path in ("/", "/nothing", "/refuse", "/plain", "/console.css", "/console.js")
    ]
    replies += [inside.get("/", Host="evil.example"), inside.get("/", Cookie=None), inside.post("/change")]
    for _, headers, _ in replies:
        check_closed(headers)
        # Browsers send a form without its origin after a page with the policy `no-referrer`.
        assert headers["Referrer-Policy"] == "same-origin"


def test_a_refusal_is_shown_with_what_to_do_and_without_marks_of_direction(inside):
    status, _, text = inside.get("/refuse")
    assert status == 409
    assert "expected \\u202e this, got that; do so" in text
    assert "&lt;b&gt;owner&lt;/b&gt;" in text


def test_a_fault_of_the_console_tells_nothing(inside, capfd):
    status, _, text = inside.get("/fail")
    assert (status, SECRET in text) == (500, False)


@pytest.mark.slow
def test_a_console_listens_on_the_loopback_interface_alone_and_its_end_frees_the_port(pages):
    with serve(pages, pages.stop) as address:
        port = int(Client(address).authority.partition(":")[2])
        assert address.startswith(f"http://127.0.0.1:{port}/")
        with pytest.raises(DataError, match="--port"), serve(pages, pages.stop, port):
            pass
    with serve(pages, pages.stop, port) as again:
        assert again != address
