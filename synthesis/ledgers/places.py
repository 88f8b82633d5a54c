"""Where the ledger of a table lies: beside its file, or for a data frame in the user's folder of state."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from ...common.errors import DataError
from ...common.federation.private_files import write_private
from ...common.processes.locks import turn_at
from ...simulations.tables.arrow_tables import ArrowTable
from ...simulations.tables.frames import Source, digest_of
from .ledger import Ledger

SUFFIX = ".dpmosaic-budget.json"
"""What the name of a ledger has after that of its table."""

_KEY_BYTES = 32

LedgerLike = bool | str | Path | Ledger
"""True for the ledger of each table, False for none, or one ledger or its path."""


def ledgers_of(data: Source | Mapping[str, Source], ledger: LedgerLike) -> tuple[Ledger | None, ...]:
    """The ledgers of tables; None for a data frame if the folder of state cannot be written.

    Args:
        data: a table, or several by name.
        ledger: one ledger for all of them, or its path; or whether there are any.

    Raises:
        DataError: it is none of these.
    """
    if not isinstance(ledger, bool | str | os.PathLike | Ledger):
        raise DataError("ledger: expected True, False or the path of a ledger, got another value; give one")
    if ledger is False:
        return ()
    tables = tuple(data.values()) if isinstance(data, Mapping) else (data,)
    if isinstance(ledger, Ledger):
        return (ledger,)
    if ledger is not True:
        return (Ledger(Path(ledger), tables),)
    each = [_ledger_of(table) for table in tables]
    held: dict[Path, tuple[Source, ...]] = {}
    for one in each:
        if one is not None:
            # Tables of the same rows or file have one, which has one turn.
            held[one.path] = (*held.get(one.path, ()), *one.tables)
    missing = (None,) if None in each else ()
    return (*missing, *(Ledger(path, of) for path, of in held.items()))


def beside(table: str | Path) -> Path:
    """The place of the ledger of a file; that of a link is where the file is."""
    path = Path(table).resolve()
    return path.with_name(path.name + SUFFIX)


def _ledger_of(table: Source) -> Ledger | None:
    if not isinstance(table, ArrowTable):
        return Ledger(beside(table), (table,))
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = _key(folder / "key")
    except OSError:
        return None
    # The name tells of the rows only to whoever has the key, and so the same rows have one ledger.
    name = digest_of(table, key).hex()
    return Ledger(folder / f"{name}{SUFFIX}")


def _folder() -> Path:
    """The folder of ledgers of data frames, by the XDG base directories."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state") / "dpmosaic"


def _key(path: Path) -> bytes:
    """The key of the names, made once."""
    with turn_at(path):
        key = path.read_bytes()
        if len(key) != _KEY_BYTES:
            key = secrets.token_bytes(_KEY_BYTES)
            write_private(path, key)
        return key
