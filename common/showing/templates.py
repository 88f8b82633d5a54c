"""Templates of HTML and SVG, which escape every text, also marks of direction and invisible characters."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .printable import visible


def templates_in(*folders: Path) -> Environment:
    """The templates of some folders, of which the first has those of a name that several have."""
    return Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
