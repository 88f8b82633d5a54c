"""Secrets that a policy names and does not hold: in a variable of the environment, or in a private file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..common.errors import DataError

ENV, FILE = "env:", "file:"


def secret_of(named: str, key: str, folder: Path) -> str:
    """What a secret says.

    Args:
        named: env: and a variable, or file: and a path.
        key: the entry of the policy and its section, for messages.
        folder: where relative paths start.

    Raises:
        DataError: it is not there, or other users can read it; never says what is in it.
    """
    if named.startswith(ENV):
        name = named.removeprefix(ENV)
        if not (secret := os.environ.get(name, "")):
            raise DataError(
                f"policy.toml: {key}: expected the environment variable {name}, found none; set it where the "
                "party is started"
            )
        return secret
    if named.startswith(FILE):
        return _read_private(folder / named.removeprefix(FILE), key)
    raise DataError(
        f"policy.toml: {key}: expected env: and the name of a variable, or file: and the path of a file that "
        "only the party's user can read; keep the secret itself out of the policy"
    )


def _read_private(path: Path, key: str) -> str:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise DataError(f"expected {key} in the file {path}, found none; write it") from None
    if mode & 0o077:
        raise DataError(f"other users can read {path} (mode {mode:o}): chmod 600 {path}")
    return text
