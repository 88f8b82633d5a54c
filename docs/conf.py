"""How Sphinx builds the documentation."""

import re
import sys
from os.path import relpath
from pathlib import Path

from sphinx import addnodes

import dpmosaic

project = "dpmosaic"
release = dpmosaic.__version__
sys.path.insert(0, str(Path(__file__).resolve().parent))
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "explained_words"]

html_theme = "furo"
html_title = "dpmosaic"
html_copy_source = False
html_extra_path = ["made"]
html_static_path = ["style"]
html_show_copyright = False
html_search_scorer = str(Path(__file__).resolve().parent / "scorer.js")
# Nothing links to these pages; the search finds the same.
html_use_index = html_domain_indices = False

# Links to headings are checked too, three levels deep.
myst_heading_anchors = 3

# Docstrings: single backticks are code, and what a section Attributes says is said once.
default_role = "code"
napoleon_use_ivar = True
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
add_module_names = False
python_use_unqualified_type_names = True
autodoc_typehints_format = "short"

DOCS = Path(__file__).resolve().parent
PAGES = {
    DOCS.parent / name: DOCS / page
    for name, page in (
        ("README.md", "readme.md"),
        ("CHANGELOG.md", "changelog.md"),
        ("CONTRIBUTING.md", "contributing.md"),
    )
}
"""Files of the repository's root that are pages too, and what stands in for them here."""


def _text(app, page, source):
    """Puts files of the root in their pages' places, and has links follow them."""
    file = path = DOCS / f"{page}.md"
    for original, place in PAGES.items():
        if place == path:
            file, source[0] = original, original.read_text(encoding="utf-8")

    def placed(link):
        target = (file.parent / link[1]).resolve()
        return f"]({relpath(PAGES.get(target, target), path.parent)}{link[2] or ''})"

    source[0] = re.sub(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)", lambda link: placed(link), source[0])


def _pictures(app, page, source):
    """Puts pictures in the place of their comments, where there was a browser to draw them."""

    def placed(named):
        name, words = named.groups()
        return f"![{words}](pictures/{name}.png)" if (DOCS / "pictures" / f"{name}.png").exists() else ""

    source[0] = re.sub(r"<!-- picture ([a-z-]+): (.+?) -->", placed, source[0])


def _pages(app, page, source):
    """Links pages that stand beside the documentation, in the place of their comments."""
    source[0] = re.sub(r"<!-- page ([a-z]+): (.+?) -->", r'<a href="\1.html">\2</a>', source[0])


def _write(app, config):
    """Writes the page on which epsilon is chosen, with the constants of this version."""
    import epsilon_page

    epsilon_page.write(DOCS / "made" / "epsilon.html")


def _draw(app):
    """Draws the pictures anew, so that they show the pages as they are."""
    try:
        import pictures
    except ImportError:
        # The documentation can be built without the tests' packages.
        return
    if pictures.CHROMIUM is not None:
        pictures.write(DOCS / "pictures")


def _path(app, page, template, context, tree):
    """Leads along the paths of the first page: before each is that page, after each is nothing."""
    if page == "index":
        context["next"] = None
    _, before, after = app.builder.relations.get(page, (None, None, None))
    own = _path_of(app, page)
    if own is None:
        return
    if _path_of(app, before) != own:
        context["prev"] = {"link": app.builder.get_relative_uri(page, "index"), "title": project}
    if _path_of(app, after) != own:
        context["next"] = None


def _path_of(app, page):
    """The number of the path that a page is on; None for the first page, and for none."""
    relations = app.builder.relations
    while page in relations and relations[page][0] not in ("index", None):
        page = relations[page][0]
    paths = list(app.env.get_doctree("index").findall(addnodes.toctree))
    return next((at for at, path in enumerate(paths) if page in path["includefiles"]), None)


def _docstring(app, what, name, thing, options, lines):
    """Takes bars and asterisks outside of code for what they are: docstrings say |a| and a * b."""
    parts = re.split(r"(`[^`]*`)", "\n".join(lines))
    parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
    lines[:] = "".join(parts).split("\n")


def setup(app):
    """Sphinx calls this; docstrings are taken before their sections are read."""
    app.connect("config-inited", _write)
    app.connect("builder-inited", _draw)
    app.connect("source-read", _text)
    app.connect("source-read", _pictures)
    app.connect("source-read", _pages)
    app.connect("html-page-context", _path)
    app.connect("autodoc-process-docstring", _docstring, priority=400)
