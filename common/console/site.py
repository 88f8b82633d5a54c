"""The pages of a console: templates, and the replies that all consoles have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ..errors import MosaicError
from ..privacy.rounding import text_above
from ..showing.templates import templates_in
from ..version import __version__
from .doors import FILES, Door

_TEMPLATES = Path(__file__).parent / "templates"
_NOT_FOUND = "There is no such page. The console may have been started again since this address was made."


class Site:
    """Renders pages, see `templates_in`.

    Args:
        gate: the way into the console.
        title: heading of every page.
        owner: whose console it is; a text that its owner chose.
        menu: path and name of each page of the menu.
        templates: folder of the console's own templates.
    """

    def __init__(self, gate: Door, title: str, owner: str, menu: Mapping[str, str], templates: Path) -> None:
        self.gate = gate
        self._environment = templates_in(templates, _TEMPLATES)
        self._environment.filters.update(
            paragraphs=paragraphs, percent=percent, at_most=at_most, number=number, above=above
        )
        self._environment.globals.update(
            base=gate.path,
            title=title,
            owner=owner,
            menu=dict(menu),
            version=__version__,
        )

    def page(
        self, request: Request, template: str, here: str, *, status: int = 200, **values: Any
    ) -> Response:
        """A page.

        Args:
            request: what it answers.
            template: file name.
            here: path of the menu's entry that the page belongs to; empty for none.
            status: status of the reply.
            values: what the template shows.
        """
        visitor = request.scope["visitor"]
        token = "" if visitor is None else visitor.form_token
        text = self._environment.get_template(template).render(
            here=here, visitor=visitor, form_token=token, **values
        )
        return HTMLResponse(text, status)

    def to(self, path: str) -> Response:
        """Leads on to another page after a form."""
        return RedirectResponse(self.gate.path + path, 303)

    def app(self, routes: list[BaseRoute]) -> Starlette:
        """The pages, together with those that every console has."""
        files = [Route(f"/{name}", partial(_file, name)) for name in FILES]
        return Starlette(
            routes=[*self.gate.routes(self.page), *files, *routes],
            exception_handlers={MosaicError: self._error_page, HTTPException: self._missing},
        )

    def _error_page(self, request: Request, error: Exception) -> Response:
        return self.page(request, "told.html", "", status=409, message=str(error))

    def _missing(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        message = _NOT_FOUND if error.status_code == 404 else error.detail
        return self.page(request, "told.html", "", status=error.status_code, message=message)


def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, without its token."""
    found: dict[str, str] = request.scope["form"]
    return found


def paragraphs(text: str) -> list[str]:
    """The lines of a text that are not blank."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def percent(share: float) -> str:
    """A share as a percentage, to the nearest tenth."""
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def at_most(share: float) -> str:
    """A share as a percentage, rounded up to the next tenth."""
    return f"{math.ceil(1000 * share - 1e-9) / 10:.1f} %".replace(".0 %", " %")


def number(value: float) -> str:
    """A number with four digits."""
    return f"{value:.4g}".replace("e-0", "e-")


def above(value: float) -> str:
    """A number with four digits that is not below it."""
    return text_above(value).replace("e-0", "e-")


def _file(name: str, request: Request) -> Response:
    return Response((_TEMPLATES / name).read_bytes(), media_type=FILES[name])
