"""Names of the files in a party's folder."""

from __future__ import annotations

from pathlib import Path

from ..common.errors import DataError

LEDGER, REQUESTS = "ledger.sqlite", "requests.sqlite"
SHAREABLE_LOG = "shareable.log"
CONSOLE_LOG = "console.log"
"""Who signed in to a console on the network, who was refused, and from where."""
POLICY = "policy.toml"
CODES = ".codes"
"""Folder of the codes of a party's rows while it runs."""


def check_role(folder: Path, role: str, policy_name: str) -> None:
    """Returns only if a folder is that of a role.

    Raises:
        DataError: it has no policy of the role.
    """
    if not (folder / policy_name).exists():
        raise DataError(
            f"expected the folder of a {role}, with {policy_name} in it, got {folder}; name another "
            "folder, or restore the file"
        )
