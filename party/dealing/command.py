"""The commands `dpmosaic dealer ...`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..operating.role_commands import Folder, Json, add_commands
from ..printing import print_rows

if TYPE_CHECKING:
    from .home import DealerHome

dealer_commands = typer.Typer(
    help="A dealer of randomness, which holds no rows: its keys, its policy, its daemon.",
    no_args_is_help=True,
)


@dealer_commands.command()
def releases(folder: Folder, json_output: Json = False) -> None:
    """List the accepted releases."""
    from ...common.federation.card import DEALER
    from ..accounts.summaries import summaries_of
    from .policy import NAME

    rows = [(entry.release_id, entry.state) for entry in summaries_of(folder, DEALER, NAME)]
    print_rows(("release", "state"), rows, json_output)


def _home() -> type[DealerHome]:
    from .home import DealerHome

    return DealerHome


add_commands(dealer_commands, _home, listing="releases")
