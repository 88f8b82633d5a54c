"""A real browser for tests of pages, what it can measure on them, and a small client without one."""

import contextlib
import http.client
import re
import shutil
from urllib.parse import urlencode, urlsplit

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium or google-chrome on the PATH")

# The WCAG contrast of each visible text with what lies behind it.
CONTRAST = """() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
      .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!/^rgba.* 0\\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll(
    "h1, h2, h3, p, li, td, th, dt, dd, span, summary, label, small, a, button, caption, svg.chart text")]
    .filter(node => node.textContent.trim() && node.getClientRects().length)
    .map(node => {
      const style = getComputedStyle(node);
      const pair = [light(node.ownerSVGElement ? style.fill : style.color), light(behind(node))];
      return [node.textContent, (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05)];
    });
}"""

# What a page for everybody has, and what is missing on this one.
INACCESSIBLE = """() => {
  const wrong = [];
  for (const tag of ["header", "main", "footer", "h1"])
    if (document.querySelectorAll(tag).length !== 1) wrong.push(`expected one ${tag}`);
  if (!document.documentElement.lang || !document.title) wrong.push("expected a language and a title");
  let before = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = +heading.tagName[1];
    if (level > before + 1) wrong.push(`heading after one of level ${before}: ${heading.outerHTML}`);
    before = level;
  }
  for (const field of document.querySelectorAll("input:not([type=hidden]), textarea, select"))
    if (!field.labels.length) wrong.push(`without a label: ${field.outerHTML}`);
  for (const one of document.querySelectorAll("button, a, summary"))
    if (!one.textContent.trim()) wrong.push(`without a name: ${one.outerHTML}`);
  for (const one of document.querySelectorAll("[aria-labelledby]"))
    if (!document.getElementById(one.getAttribute("aria-labelledby")))
      wrong.push(`no label: ${one.outerHTML}`);
  const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id is used twice");
  return wrong;
}"""

# What a reader cannot read of a page: boxes that stick out of it, tables that have to be scrolled on a
# desktop, texts that their box cuts off, words that end on another line than they begin. What is longer than
# `longest` letters without a space may be broken.
UNREADABLE = """(longest) => {
  const wrong = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push(`wider than ${width} px`);
  const scrolled = node => node.closest && node.closest(".scroll, .wide, pre, .table-wrapper");
  // What waits beside the window, such as the menu of a phone, is not shown.
  const waits = node => node.getBoundingClientRect().left >= width || node.getBoundingClientRect().right <= 0;
  const shown = node => node.checkVisibility() && node.getClientRects().length && !waits(node);
  for (const node of document.querySelectorAll("body *")) {
    if (!shown(node)) continue;
    const style = getComputedStyle(node), box = node.getBoundingClientRect();
    const cuts = ["hidden", "clip"].includes(style.overflowX) && node.innerText;
    const overflows = node.scrollWidth > node.clientWidth + 1;
    if (cuts && node.clientWidth > 1 && overflows) wrong.push(`cut off: ${node.innerText}`);
    if (width >= 1280 && node.matches(".scroll, .wide") && overflows)
      wrong.push(`has to be scrolled: ${node.innerText.slice(0, 80)}`);
    if (!scrolled(node) && box.right > width + 1)
      wrong.push(`sticks out: ${node.outerHTML.slice(0, 120)}`);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (!text.parentElement || !shown(text.parentElement) || text.parentElement.closest("svg, pre")) continue;
    const long = [...text.data.matchAll(/\\S+/g)].filter(one => one[0].length > longest);
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}]{2,}/gu)) {
      if (long.some(one => one.index <= word.index && word.index < one.index + one[0].length)) continue;
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const boxes = [...range.getClientRects()].filter(one => one.width);
      if (new Set(boxes.map(one => Math.round(one.top))).size > 1) wrong.push(`broken word: ${word[0]}`);
    }
  }
  return wrong;
}"""


@contextlib.contextmanager
def chromium():
    """A browser, for the tests of a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # In a container, Chromium's own sandbox does not start, and shared memory may be too small.
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=180_000
        )
        yield launched
        launched.close()


class Client:
    """Asks a console as a browser would, and as one that lies.

    Args:
        address: the address that opens the console.
    """

    def __init__(self, address):
        parts = urlsplit(address)
        self.authority, self.entrance = parts.netloc, f"{parts.path}?{parts.query}"
        self.base = parts.path.removesuffix("/enter")
        self.cookie = ""
        self.form_token = ""

    def connection(self, authority):
        """A new connection to a host and port."""
        return http.client.HTTPConnection(authority, timeout=60)

    def ask(self, method, path, body=None, **headers):
        """Status, headers and text of a reply; a header of None is not sent."""
        connection = self.connection(self.authority)
        sent = {"Host": self.authority, "Cookie": self.cookie} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        try:
            connection.putrequest(method, path, skip_host=True)
            content = None if body is None else body.encode()
            if content is not None:
                sent["Content-Length"] = str(len(content))
            for name, value in sent.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(content)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read().decode()
        finally:
            connection.close()

    def enter(self):
        """Opens the console; the reply."""
        status, headers, text = self.ask("GET", self.entrance)
        if status == 200:
            self.cookie = headers["Set-Cookie"].partition(";")[0]
            self.form_token = re.search(r'name="form_token" value="([^"]+)"', self.get("/")[2]).group(1)
        return status, headers, text

    def get(self, path, **headers):
        """The reply to a page's address."""
        return self.ask("GET", self.base + path, **headers)

    def post(self, path, fields=None, **headers):
        """The reply to a form of a page."""
        body = urlencode({"form_token": self.form_token} | (fields or {}))
        form = {"Origin": f"http://{self.authority}", "Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", self.base + path, body, **(form | headers))


def unreadable(page, longest=24):
    """What a reader cannot read of an open page on a phone and a desktop, in light and dark mode.

    Args:
        page: the page; its details are opened.
        longest: letters of the longest word that may not be broken.
    """
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = []
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        found += [f"{width} px: {one}" for one in page.evaluate(UNREADABLE, longest)]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        pale = [one for one in page.evaluate(CONTRAST) if one[1] < 4.5]
        found += [f"contrast {ratio:.1f} in {scheme}: {text.strip()[:80]}" for text, ratio in pale]
    return found


def check_closed(headers):
    """A reply lets in no resources of others, no frames and no scripts, and is kept nowhere."""
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Server"] is None
