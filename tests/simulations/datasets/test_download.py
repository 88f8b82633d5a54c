"""Downloads from a server on this machine that behaves, and from one that does not."""

import hashlib
import http.server
import threading
import time

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.simulations.datasets.download import Remote, download
from support.serving import Handler, serving

CONTENT = bytes(range(256)) * 700


class Misbehaving(Handler):
    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
            return
        self.send_response(200)
        if self.path == "/short":
            self.send_header("Content-Length", str(2 * len(CONTENT)))
        self.end_headers()
        if self.path == "/silent":
            self.server.released.wait(30)
        elif self.path == "/other":
            self.wfile.write(CONTENT[:-1] + b"x")
        else:
            self.wfile.write(CONTENT)
        if self.path == "/endless":
            while not self.server.released.is_set():
                try:
                    self.wfile.write(CONTENT)
                except OSError:
                    return


@pytest.fixture(scope="module")
def server():
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Misbehaving)) as running:
        running.released = threading.Event()
        yield f"http://127.0.0.1:{running.server_port}"
        running.released.set()


def remote(server, path, content=CONTENT):
    return Remote(f"{server}/{path}", len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("path", ["good", "moved"])
def test_a_file_with_the_right_checksum_is_kept(server, tmp_path, path):
    (tmp_path / "table").write_text("an older one")
    download(remote(server, path), tmp_path / "table")
    assert (tmp_path / "table").read_bytes() == CONTENT
    assert [left.name for left in tmp_path.iterdir()] == ["table"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("other", "does not have the expected SHA-256"),
        ("short", "does not have the expected SHA-256|IncompleteRead"),
        ("endless", "is larger than the expected 179,200 bytes"),
        ("missing", "status 404"),
        ("silent", "cannot read"),
    ],
)
def test_another_file_is_refused_and_leaves_nothing_behind(server, tmp_path, path, said):
    expected = CONTENT * 2 if path == "short" else CONTENT
    with pytest.raises(DataError, match=said):
        download(remote(server, path, expected), tmp_path / "table", silence_s=0.3)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_takes_too_long_is_stopped(server, tmp_path):
    ticks = iter([0.0, 601.0])
    with pytest.raises(DataError, match="longer than 600 s"):
        download(remote(server, "good"), tmp_path / "table", clock=lambda: next(ticks, time.monotonic()))
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_is_reported_in_one_sentence(tmp_path):
    with pytest.raises(DataError, match="check the network"):
        download(remote("http://127.0.0.1:9", "good"), tmp_path / "table")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a/b", "adult.data"])
def test_refuses_addresses_other_than_http_and_https(url):
    with pytest.raises(ValueError, match="http or https"):
        Remote(url, 1, "")
