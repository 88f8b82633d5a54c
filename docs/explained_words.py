"""Explains words of the glossary where a page uses them first: an extension of Sphinx.

A word that the glossary has in bold becomes a link to its line there; the meaning is shown to whoever points
at it or moves to it with the keyboard. It works without scripts.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

GLOSSARY = "glossary"
EXPLAINED = re.compile(
    r"(?!adr/|api/|specification/|changelog|before-|decisions|glossary|contributing|genindex)"
)
"""Pages with explained words: those for users."""

_NOT_IN = (
    nodes.title,
    nodes.literal,
    nodes.literal_block,
    nodes.reference,
    nodes.raw,
    nodes.image,
    nodes.thead,
)


class Explained(nodes.inline):
    """A word with its meaning (attributes `target` and `meaning`)."""


def words_of(glossary: nodes.document) -> dict[str, nodes.entry]:
    """The words that the glossary has in bold, with meanings; their lines can be linked to from then on."""
    found = {}
    for row in glossary.findall(nodes.row):
        word, meaning = row.children
        if any(word.findall(nodes.strong)):
            word["ids"] = [target_of(word.astext())]
            found[word.astext()] = meaning
    return found


def target_of(word: str) -> str:
    """The name of a word's line."""
    return "word-" + nodes.make_id(word)


def pattern_of(words: list[str]) -> re.Pattern[str]:
    """Any of the words by itself, in the singular or plural."""
    forms = sorted((re.escape(word.removesuffix("y")) for word in words), key=len, reverse=True)
    return re.compile(rf"(?<![\w.-])({'|'.join(forms)})(y|ies|s)?(?![\w-])", re.IGNORECASE)


def explain(page: nodes.document, meanings: dict[str, str], address: str) -> None:
    """Explains each word where the page uses it first.

    Args:
        page: its tree, which changes.
        meanings: of words.
        address: of the glossary, from the page.
    """
    left = {word.lower(): meaning for word, meaning in meanings.items()}
    for text in list(page.findall(nodes.Text)):
        if left and not _inside(text):
            pieces = list(_pieces(text.astext(), left, pattern_of(list(left)), address))
            if len(pieces) > 1:
                text.parent.replace(text, pieces)


def _pieces(
    text: str, left: dict[str, str], pattern: re.Pattern[str], address: str
) -> Iterator[nodes.Text | Explained]:
    """The text, with words that are still left explained; they are then no longer left."""
    place = 0
    for found in pattern.finditer(text):
        word = next((one for one in _singulars(found[0].lower()) if one in left), None)
        if word is None:
            continue
        yield nodes.Text(text[place : found.start()])
        shown = Explained("", found[0], target=f"{address}#{target_of(word)}", meaning=left.pop(word))
        yield shown
        place = found.end()
    yield nodes.Text(text[place:])


def _singulars(word: str) -> tuple[str, ...]:
    return word, word.removesuffix("s"), word.removesuffix("ies") + "y"


def _inside(text: nodes.Text) -> bool:
    """Whether a text is in a heading, in code, in a link (perhaps of HTML), or in no paragraph."""
    node, in_paragraph = text.parent, False
    before = node[: node.index(text)]
    if before and isinstance(before[-1], nodes.raw) and before[-1].astext().startswith("<a "):
        return True
    while node is not None:
        if isinstance(node, _NOT_IN):
            return True
        in_paragraph |= isinstance(node, nodes.paragraph)
        node = node.parent
    return not in_paragraph


def _read(app: Sphinx, page: nodes.document) -> None:
    if app.env.docname == GLOSSARY:
        app.env.explained_words = {word: meaning.astext() for word, meaning in words_of(page).items()}


def _resolved(app: Sphinx, page: nodes.document, name: str) -> None:
    if EXPLAINED.match(name):
        explain(page, app.env.explained_words, app.builder.get_relative_uri(name, GLOSSARY))


def _all_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """After a change of the glossary all pages are written anew."""
    changed = env.explained_words != getattr(env, "explained_before", None)
    env.explained_before = env.explained_words
    return sorted(env.found_docs) if changed else []


def _open(self: HTML5Translator, node: Explained) -> None:
    self.explained_before = getattr(self, "explained_before", 0) + 1
    described = f'aria-describedby="meaning-{self.explained_before}"'
    self.body.append(f'<span class="explained"><a href="{self.encode(node["target"])}" {described}>')


def _close(self: HTML5Translator, node: Explained) -> None:
    meaning = self.encode(node["meaning"])
    self.body.append(f'</a><span role="tooltip" id="meaning-{self.explained_before}">{meaning}</span></span>')


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_node(Explained, html=(_open, _close))
    app.connect("doctree-read", _read)
    app.connect("doctree-resolved", _resolved)
    app.connect("env-updated", _all_pages)
    app.add_css_file("pages.css")
    return {"parallel_read_safe": False}
