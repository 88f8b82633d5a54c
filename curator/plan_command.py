"""The command `dpmosaic curator plan`, which in a terminal asks for what is not given."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.errors import DataError
from ..common.forms.form import Form
from ..common.forms.values import POSITIVE, Choice, Day, Text
from ..common.showing.telling import tell

if TYPE_CHECKING:
    from ..common.federation.card import Card
    from .releasing.planning.drafting import Wishes

_NO_TARGET = "none"


def plan(
    folder: Annotated[Path, typer.Argument(help="The curator's folder.")],
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", help="Parties that hold the same records: a,b. May be repeated."),
    ] = None,
    out: Annotated[str, typer.Option(help="Name of the plan's file in the folder.")] = "plan.toml",
    purpose: Annotated[str | None, typer.Option(help="What the synthetic table is for.")] = None,
    contact: Annotated[str | None, typer.Option(help="Who answers questions about it.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The promise, at delta 1e-9; 1 by default.")] = None,
) -> None:
    """Draft a plan and the domain of the whole table from the cards; in a terminal, ask what is not given."""
    from ..common.federation.card import as_text
    from .parties.home import ATTACHED, CuratorHome
    from .releasing.planning.drafting import Wishes, draft, proposed_slices

    home = CuratorHome.open(folder)
    domain_file = f"{Path(out).stem}.domain.json"
    for path in (folder / out, folder / domain_file):
        if path.exists():
            raise DataError(f"{path} already exists; choose another name with --out")
    cards = list(home.cards().values())
    grouped = [text.split(",") for text in slices] if slices else proposed_slices(cards)
    if epsilon is not None and not POSITIVE.fits(epsilon):
        raise DataError(f"--epsilon: expected {POSITIVE.words}, got {epsilon}")
    if _in_terminal():
        wishes = _ask_wishes(
            cards, grouped, purpose, contact, epsilon, bool(slices), ATTACHED in home.addresses().values()
        )
    else:
        wishes = Wishes(purpose or "", contact or "", epsilon or 1.0)
    text, domain = draft(cards, grouped, domain_file, wishes)
    (folder / domain_file).write_text(as_text(domain.to_json()), encoding="utf-8")
    (folder / out).write_text(text, encoding="utf-8")
    tell(f"review {folder / out}, above all which parties hold the same records")


def _ask_wishes(
    cards: Sequence[Card],
    slices: Sequence[Sequence[str]],
    purpose: str | None,
    contact: str | None,
    epsilon: float | None,
    named: bool,
    attached: bool,
) -> Wishes:
    """What somebody at the terminal answers.

    Args:
        cards: cards of the enrolled parties and dealers.
        slices: names of each slice's parties.
        purpose: None to ask for it.
        contact: None to ask for it.
        epsilon: None to ask for it.
        named: whether the slices were given, and not grouped from the cards.
        attached: whether a party dials this curator.
    """
    from .releasing.planning.drafting import Wishes

    if not named:
        for number, names in enumerate(slices, start=1):
            tell(f"slice {number}, parties with columns of the same people: {', '.join(names)}")
        if not typer.confirm("Is this right?", default=True):
            raise DataError("name the parties of each slice with --slice a,b; nothing was written")
    attributes = sorted({name for card in cards if card.domain is not None for name in card.domain.names})
    target = Choice((_NO_TARGET, *attributes))
    return Wishes(
        _ask("What is the synthetic table for?", _FILLED, "") if purpose is None else purpose,
        _ask("Who answers questions about it?", _FILLED, "") if contact is None else contact,
        _ask("Epsilon, the promise at delta 1e-9", POSITIVE, "1") if epsilon is None else epsilon,
        _ask("Last day on which a party may accept it, such as 2030-12-31; empty for any", Day(), ""),
        _ask("Attribute that users will predict from the others", target, _NO_TARGET).replace(_NO_TARGET, ""),
        _ask("Where parties dial this curator, HOST:PORT", _ADDRESS, "0.0.0.0:7444") if attached else "",
    )


_FILLED = Text(".+", "some words")
_ADDRESS = Text(r"[^\s]+:[0-9]{1,5}", "HOST:PORT")


def _ask(question: str, form: Form, default: str) -> Any:
    """An answer of a form; asks again until it is."""
    while True:
        value = form.read(typer.prompt(question, default=default, show_default=bool(default)))
        for fault in form.faults(value):
            tell(fault.reason)
            break
        else:
            return value


def _in_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
