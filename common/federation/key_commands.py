"""The commands `encrypt` and `decrypt` of parties, dealers and curators: their keys under a passphrase."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..showing.telling import tell

_Folder = Annotated[Path, typer.Argument(help="The folder that `init` made.")]


def add_key_commands(commands: typer.Typer, keys_in: Callable[[Path], Path]) -> None:
    """Adds both to the commands of a role.

    Args:
        commands: commands of the role.
        keys_in: the folder of the keys in a role's folder.
    """

    @commands.command()
    def encrypt(
        folder: _Folder,
        new_key_file: Annotated[
            Path | None,
            typer.Option(help="File of the new passphrase, one line; asked for in the terminal without it."),
        ] = None,
    ) -> None:
        """Encrypt the keys under a passphrase, or change it; also while serving.

        From then on commands and daemon need it: in the file that DPMOSAIC_KEY_FILE names, as systemd's
        credential dpmosaic-key, or typed in a terminal.
        """
        from .sealed_keys import encrypt as encrypt_keys
        from .sealed_keys import new_passphrase

        encrypt_keys(keys_in(folder), new_passphrase(new_key_file))
        tell("the keys are encrypted; without the passphrase nobody can use them, nor a backup of them")

    @commands.command()
    def decrypt(folder: _Folder) -> None:
        """Write the keys as they are, readable by their owner only; also while serving."""
        from .sealed_keys import decrypt as decrypt_keys

        decrypt_keys(keys_in(folder))
        tell("the keys are not encrypted any more")
