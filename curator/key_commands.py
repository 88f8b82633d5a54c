"""The commands `dpmosaic curator encrypt` and `decrypt`: its keys under a passphrase."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common.showing.telling import tell

_Folder = Annotated[Path, typer.Argument(help="The curator's folder.")]


def encrypt(
    folder: _Folder,
    new_key_file: Annotated[
        Path | None,
        typer.Option(help="File of the new passphrase, one line; asked for in the terminal without it."),
    ] = None,
) -> None:
    """Encrypt the keys under a passphrase, or change it.

    From then on commands need it: in the file that DPMOSAIC_KEY_FILE names, or typed in a terminal.
    """
    from ..common.federation.sealed_keys import encrypt as encrypt_keys
    from ..common.federation.sealed_keys import new_passphrase
    from .parties.home import CuratorHome

    encrypt_keys(CuratorHome.open(folder).keyring.folder, new_passphrase(new_key_file))
    tell("the keys are encrypted; without the passphrase nobody can use them")


def decrypt(folder: _Folder) -> None:
    """Write the keys as they are, readable by their owner only."""
    from ..common.federation.sealed_keys import decrypt as decrypt_keys
    from .parties.home import CuratorHome

    decrypt_keys(CuratorHome.open(folder).keyring.folder)
    tell("the keys are not encrypted any more")
