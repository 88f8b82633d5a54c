"""The releases in the ledger of a party's folder, read without all that its daemon needs."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..common.card import PARTY
from ..common.keyring import Keyring
from .disk import told_if_full
from .ledger_format import open_database
from .ledger_releases import ReleaseRows
from .ledger_rows import LedgerSummary
from .names import LEDGER, POLICY, check_role


def summaries_of(folder: Path) -> list[LedgerSummary]:
    """Summaries of all accepted releases, in the order of acceptance.

    Args:
        folder: folder of the party.

    Raises:
        DataError: it is not such a folder, or its ledger cannot be opened.
    """
    Keyring.load(folder)
    check_role(folder, PARTY, POLICY)
    with told_if_full(folder), contextlib.closing(open_database(folder / LEDGER)) as database:
        return ReleaseRows(database).summaries()
