"""Options that several commands share."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from ..common.errors import DataError
from ..common.forms.options import options_of
from ..common.release_spec import BUDGET, OUTPUT, ReleaseSpec

_Command = TypeVar("_Command", bound=Callable[..., None])

MECHANISM = "Mechanism"
"""Heading of options in help."""

PEOPLE = "Several rows a person, related tables"
"""Heading of options in help."""

EPSILON = typer.Option(help="Privacy budget, with delta.", rich_help_panel=BUDGET)

Delta = Annotated[float, typer.Option(help="Privacy budget, with epsilon.", rich_help_panel=BUDGET)]

Key = Annotated[
    str | None,
    typer.Option(
        help="Column that names the person of each row: the promise is for a person with all rows.",
        rich_help_panel=PEOPLE,
    ),
]

Target = Annotated[
    str | None,
    typer.Option(
        help="Column that others should predict well; it weights the workload.", rich_help_panel=MECHANISM
    ),
]

WorkloadName = Annotated[
    str | None,
    typer.Option(help="1way, 2way, 3way, or a JSON file; 2way by default.", rich_help_panel=MECHANISM),
]

MechanismName = Annotated[
    str,
    typer.Option(help="Name of the mechanism; `dpmosaic mechanisms` lists them.", rich_help_panel=MECHANISM),
]

Rows = Annotated[int | None, typer.Option(help=options_of(ReleaseSpec)["rows"].help, rich_help_panel=OUTPUT)]

Seed = Annotated[
    int | None,
    typer.Option(
        help="Makes the run reproducible, for tests; the result is not for release.", rich_help_panel=OUTPUT
    ),
]

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="CSV: write ' before text that a spreadsheet would run as a formula.",
        rich_help_panel=OUTPUT,
    ),
]

JsonOutput = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.", rich_help_panel=OUTPUT)
]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a parameter of the mechanism; may be repeated. time_limit counts work at fixed rates.",
        rich_help_panel=MECHANISM,
    ),
]

TimeLimit = Annotated[
    float | None,
    typer.Option(
        help="mosaic: about how many seconds of this machine the release may take.", rich_help_panel=MECHANISM
    ),
]


def parse_settings(settings: Sequence[str] | None) -> dict[str, str]:
    """The parameters given by `--set`.

    Raises:
        DataError: one has no key or no value, or is given twice.
    """
    pairs = [setting.partition("=") for setting in settings or ()]
    for key, equals, _ in pairs:
        if not (key and equals):
            raise DataError(f"--set: expected KEY=VALUE, got {key!r}; add the value")
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise DataError("--set: expected each parameter at most once, got one twice; remove one")
    return {key: value for key, _, value in pairs}


def with_options_of(kind: Any, after: str) -> Callable[[_Command], _Command]:
    """Gives a command the options of a description; it takes them as `**options`.

    Args:
        kind: a dataclass with options (`option`).
        after: the parameter after which help lists them.
    """

    def with_options(command: _Command) -> _Command:
        own = inspect.signature(command, eval_str=True)
        listed: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                listed.append(parameter)
            if parameter.name == after:
                listed += _parameters(kind)
        command.__signature__ = own.replace(parameters=listed)  # type: ignore[attr-defined]
        return command

    return with_options


def _parameters(kind: Any) -> Iterator[inspect.Parameter]:
    """The options of a description that commands have, as parameters."""
    types, defaults = get_type_hints(kind), {one.name: one.default for one in fields(kind)}
    for name, one in options_of(kind).items():
        if one.heading:
            default: Any = defaults[name]
            named = isinstance(default, enum.Enum)
            yield inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=default.value if named else default,
                annotation=Annotated[
                    str if named else types[name], typer.Option(help=one.help, rich_help_panel=one.heading)
                ],
            )
