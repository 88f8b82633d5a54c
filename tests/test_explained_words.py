"""Words of the glossary are explained where a page uses them first."""

import importlib.util
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

pytest.importorskip("sphinx")

DOCS = Path(__file__).parent.parent / "docs"
GLOSSARY = """
Glossary
========

=============  ============================
word           meaning
=============  ============================
**party**      an institution
**epsilon**    how strong `it` is
attribute      a column
=============  ============================
"""


@pytest.fixture(scope="module", name="words")
def _words():
    spec = importlib.util.spec_from_file_location("explained_words", DOCS / "explained_words.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def explained(words, text, meanings=None):
    """The words that are explained in a text, in order, and the text as it reads."""
    page = publish_doctree(text, settings_overrides={"report_level": 5})
    before = page.astext()
    words.explain(page, meanings or {"party": "an institution", "epsilon": "how strong"}, "glossary.html")
    assert page.astext() == before
    return [node.astext() for node in page.findall(words.Explained)]


def test_the_glossary_explains_words_in_bold_and_can_be_linked_to(words):
    page = publish_doctree(GLOSSARY)
    found = words.words_of(page)
    assert {word: meaning.astext() for word, meaning in found.items()} == {
        "party": "an institution",
        "epsilon": "how strong it is",
    }
    names = {name for entry in page.findall(nodes.entry) for name in entry["ids"]}
    assert names == {"word-party", "word-epsilon"}


def test_a_word_is_explained_once_in_singular_or_plural_and_at_the_begin_of_a_sentence(words):
    assert explained(words, "Parties and a party. Epsilon, epsilon.") == ["Parties", "Epsilon"]
    assert explained(words, "One party. The third-party epsilons.\n\nAgain a party.") == ["party", "epsilons"]


def test_parts_of_words_headings_code_and_links_stay_as_they_are(words):
    text = """
Epsilon
=======

``epsilon``, `party <https://example.org>`_, thirdparty, epsilon_spent and --epsilon::

    a party with epsilon
"""
    assert explained(words, text) == []


def test_a_link_of_html_stays_one_link(words):
    page = publish_doctree("A party.")
    (paragraph,) = page.findall(nodes.paragraph)
    html = [nodes.raw("", tag, format="html") for tag in ('<a href="x.html">', "</a>")]
    paragraph.children = []
    paragraph += [html[0], nodes.Text("the party"), html[1], nodes.Text(" and a party")]
    words.explain(page, {"party": "an institution"}, "glossary.html")
    assert [type(node) for node in paragraph] == [
        nodes.raw,
        nodes.Text,
        nodes.raw,
        nodes.Text,
        words.Explained,
        nodes.Text,
    ]


def test_a_word_links_to_its_line_and_has_its_meaning_beside_it(words):
    page = publish_doctree("A party.")
    words.explain(page, {"party": "an <institution>"}, "../glossary.html")
    (found,) = page.findall(words.Explained)
    assert (found["target"], found["meaning"]) == ("../glossary.html#word-party", "an <institution>")


def test_the_words_that_readers_meet_first_are_in_the_glossary():
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    for word in ("epsilon", "delta", "zCDP", "total variation", "domain", "atom"):
        assert f"| **{word}** |" in page
