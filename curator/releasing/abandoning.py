"""Ends a release without a certificate: at the curator, and at every party and dealer that can be reached."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from ...common.bounded import toml_of
from ...common.canonical.terms import decode_terms
from ...common.errors import DataError, MosaicError
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ..certificates.verify import BINS
from ..parties.client import PartyClient
from ..parties.connection import RetryPolicy
from ..parties.home import CuratorHome
from ..parties.journal import Journal
from ..parties.private_folder import JOURNAL, PARTS, journal_of

_RETRIES = RetryPolicy(call_s=60.0, tries=3, answer_s=0.0)


def abandon(journal: Journal, clients: Mapping[str, PartyClient]) -> dict[str, str]:
    """Ends a release: the curator's keys are erased first, then those of parties and dealers.

    Args:
        journal: journal of the release.
        clients: the parties and dealers, by name.

    Returns:
        For each of them that did not end the release, why; the same call asks them again.
    """
    journal.abandon()
    failed = {}
    for name, client in clients.items():
        if journal.note(_abandonment_note(name)) is None:
            try:
                client.abandon(journal.release_id)
            except MosaicError as error:
                failed[name] = str(error)
            else:
                journal.note_once(_abandonment_note(name), b"")
    return failed


def abandon_folder(folder: Path) -> dict[str, str]:
    """Ends the release whose results would be in a folder; see `abandon`.

    Args:
        folder: folder of the results.

    Raises:
        DataError: there is no release, it is finished, or it is running.
    """
    path = journal_of(folder)
    before: dict[str, str] = {}
    for part in (path.parent / BINS / JOURNAL, *sorted((path.parent / PARTS).glob(f"*/{JOURNAL}"))):
        if part.exists():
            with contextlib.suppress(DataError):
                before |= _abandon_in(part)
    return before | _abandon_in(path)


def _abandon_in(path: Path) -> dict[str, str]:
    with contextlib.closing(Journal(path, abandoned=True)) as journal, journal.locked():
        terms = journal.note("terms")
        # Without terms, nobody was asked to accept any.
        named = () if terms is None else decode_terms(terms).plan.participants
        names = [entry.name for entry in named if entry.name != CURATOR_DEALS]
        home = CuratorHome.open(Path((journal.note("home") or b"").decode()))
        listen = toml_of(journal.plan).get("network", {}).get("listen")
        with home.links(names, listen, _RETRIES, journal.release_id) as links:
            return abandon(journal, {name: PartyClient(links[name]) for name in names})


def _abandonment_note(name: str) -> str:
    return f"abandoned by {name}"
