"""The releases in the ledger of a folder, read without all that its daemon needs."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ...common.federation.keyring import Keyring
from ..disk import told_if_full
from ..names import LEDGER, check_role
from .file_format import open_database
from .releases import ReleaseRows
from .rows import LedgerSummary


def summaries_of(folder: Path, role: str, policy: str) -> list[LedgerSummary]:
    """Summaries of all accepted releases, in the order of acceptance.

    Args:
        folder: folder of a party or dealer.
        role: its role.
        policy: name of its policy's file.

    Raises:
        DataError: it is not such a folder, or its ledger cannot be opened.
    """
    Keyring.load(folder)
    check_role(folder, role, policy)
    with told_if_full(folder), contextlib.closing(open_database(folder / LEDGER)) as database:
        return ReleaseRows(database).summaries()
