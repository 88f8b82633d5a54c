"""A release from one table that goes on after its process ended: its folder keeps what was answered.

The journal is that of a curator's release. Each noisy answer is in it before it is used. It holds no key of
noise, which comes from the operating system, but whoever has it and a table can tell whether the table is
the one that is released, as `resume` does; so its folder is private, and erased when the release is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.bounded import json_of
from ..common.crypto.randomness import FreshKeys, RandomStream
from ..common.errors import DataError
from ..common.files.writing import write_text
from ..common.processes.locks import POSIX
from ..curator.certificates.verify import BINS, WARNING
from ..curator.parties.journal import Journal, NoJournal
from ..curator.parties.private_folder import JOURNAL, make_private
from ..curator.results import outputs as files
from ..simulations.stopping import UNFINISHED, running, share_spent
from ..simulations.tables.frames import Source, digest_of

_MADE = ".unfinished"
_ROWS, _COMMAND, _SPENT, _DRAWN, _TURNS = "rows", "command", "spent", "drawn", "turns"
_PRIVATE = (
    "This folder is not for release: it tells whether a table is the one that is released. It keeps what the "
    "release has answered until it is finished, and is erased then.\n"
)


class Unfinished:
    """A release that is not finished: what it has answered, and where its randomness comes from.

    Args:
        folder: of the release.
        journal: its journal, open.
        name: of one of several releases that it consists of; empty for the whole.
    """

    def __init__(self, folder: Path, journal: Journal, name: str = "") -> None:
        self._journal = journal
        self._name = name
        self._drawn = 0
        self.folder = folder
        """The folder of the release."""
        self.release_id = _part_id(journal.release_id, name) if name else journal.release_id
        """The id of the release."""
        if not name:
            for spending in running():
                spending.keep(folder, float(journal.note(_SPENT) or 0))

    def has_answers(self) -> bool:
        """Whether anything was answered, so that the release can go on."""
        return self._journal.has_answers()

    def part(self, name: str) -> Unfinished:
        """One of several releases that this one consists of, with questions of its own."""
        return Unfinished(self.folder, self._journal, self._name + name)

    def bind(self, settings: Mapping[str, str], *data: Source) -> None:
        """Notes settings and rows, or refuses others than those that the release began with.

        Args:
            settings: all that the answers depend on beside the rows, by name.
            data: the tables.

        Raises:
            DataError: they are others; nothing was charged.
        """
        asked = json.dumps(dict(settings)).encode()
        noted = json_of(self._journal.note_once("settings", asked))
        changed = [name for name in {**noted, **settings} if noted.get(name) != settings.get(name)]
        key = RandomStream(self._journal.key).child_key(_ROWS)
        rows = b"".join(digest_of(one, key) for one in data)
        if self._journal.note_once(_ROWS, rows) != rows:
            changed.append("the rows")
        if changed:
            raise DataError(
                f"{self.folder} holds a release that stopped, and it began with other values of: "
                f"{', '.join(changed)}. Restore them and resume; or choose another folder; or remove "
                f"{self.folder / UNFINISHED}, which loses what was spent. Nothing was charged now"
            )

    def take_turn(self) -> tuple[tuple[str, ...], str]:
        """Notes that the release goes on now, before its ledgers do.

        Returns:
            What was noted at each time before, and the empty text of earlier versions; what is noted now.
        """
        name, now = _TURNS + self._name, secrets.token_hex(8)
        before = (self._journal.note(name) or b"").decode().split()
        self._journal.note_latest(name, " ".join([*before, now]).encode())
        return ("", *before), now

    def note_once(self, name: str, value: str) -> str:
        """The value that was noted under a name first."""
        return self._journal.note_once(name, value.encode()).decode()

    def stream(self, seed: int | None) -> RandomStream:
        """Randomness of choices and rows, the same when the release goes on."""
        return RandomStream(self._journal.key) if seed is None else RandomStream.of_seed(seed)

    def noise(self, seed: int | None) -> RandomStream:
        """Randomness of noise, which is kept nowhere, but for that of a seed."""
        return RandomStream.of_seed(seed)

    def fresh(self, stream: RandomStream) -> FreshKeys:
        """The keys of a party's noise; those that it drew before are not drawn again.

        Args:
            stream: the keys from the first one, for a seed.
        """
        # A party that is started again draws one when it accepts the release.
        self._drawn = max(0, int(self._journal.note(_DRAWN + self._name) or 0) - 1)
        for _ in range(self._drawn):
            stream.key()

        def key() -> bytes:
            self._drawn += 1
            return stream.key()

        return key

    def recall(self, query_id: str, query: bytes) -> NDArray[np.float64] | None:
        """See `Answers`."""
        return self._journal.recall(self._name + query_id, query)

    def keep(self, query_id: str, query: bytes, answered: NDArray[np.float64]) -> None:
        """See `Answers`."""
        notes = {_SPENT: repr(share_spent()).encode(), _DRAWN + self._name: str(self._drawn).encode()}
        self._journal.keep(self._name + query_id, query, answered, notes)


class Forgotten(NoJournal):
    """A release that nothing keeps: it ends with its process."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        """See `Unfinished`, as for all others."""
        self.release_id = secrets.token_hex(16)
        """See there."""

    def has_answers(self) -> bool:
        """No."""
        return False

    def take_turn(self) -> tuple[tuple[str, ...], str]:
        """None: nobody goes on."""
        return (), ""

    def part(self, name: str) -> Forgotten:
        """One of several releases."""
        return Forgotten()

    def fresh(self, stream: RandomStream) -> FreshKeys:
        """The keys of a party's noise."""
        return stream.key

    def bind(self, settings: Mapping[str, str], *data: Source) -> None:
        """Nothing."""

    def note_once(self, name: str, value: str) -> str:
        """The value."""
        return value

    def stream(self, seed: int | None) -> RandomStream:
        """Randomness of choices and rows."""
        return RandomStream.of_seed(seed)

    noise = stream


def _part_id(release_id: str, name: str) -> str:
    """The id of one of several releases."""
    return hashlib.sha256(f"{release_id} {name}".encode()).hexdigest()[: len(release_id)]


@contextmanager
def unfinished_release(folder: Path, command: Mapping[str, Any] | None = None) -> Iterator[Unfinished]:
    """Begins a release in a folder, or goes on with one that stopped; at the end it is finished.

    If nothing was answered when the block fails, the folder is as before.

    Args:
        folder: of the release; created if it is missing.
        command: options of the command that makes it, for `command_of`.

    Raises:
        DataError: the folder holds a finished release, or another process makes one.
    """
    private = folder / UNFINISHED
    if not private.exists():
        files.check_folder(folder, [BINS])
        _create(folder, command)
    with (
        contextlib.ExitStack() as closed,
        contextlib.closing(Journal(private / JOURNAL)) as journal,
        journal.locked(),
    ):

        def erase() -> None:
            # Windows erases no file that is open.
            if POSIX:
                _erase(private)
            else:
                closed.callback(_erase, private)

        try:
            yield Unfinished(folder, journal)
        except BaseException:
            if not journal.has_answers():
                erase()
            raise
        journal.finish()
        erase()


def command_of(folder: Path) -> dict[str, Any]:
    """The options of the command that began a release.

    Raises:
        DataError: there is no release that a command began, or it is finished.
    """
    path = folder / UNFINISHED / JOURNAL
    if not path.exists():
        raise DataError(
            f"expected a release that stopped in {folder}, found none; fix the path, or use "
            "dpmosaic curator resume for one over daemons"
        )
    with contextlib.closing(Journal(path)) as journal:
        noted = json_of(journal.note(_COMMAND) or b"null")
    if noted is None:
        raise DataError(f"the release in {folder} was begun by a call in Python; make the same call again")
    return dict(noted)


def _create(folder: Path, command: Mapping[str, Any] | None) -> None:
    """Makes the private folder of a new release, whole or not at all, unless another process just did."""
    made = _new(folder)
    make_private(made)
    try:
        write_text(made / WARNING, _PRIVATE)
        with contextlib.closing(Journal.create(made / JOURNAL, "")) as journal:
            journal.note_once(_COMMAND, json.dumps(command).encode())
        made.rename(folder / UNFINISHED)
    except (OSError, sqlite3.OperationalError) as cause:
        shutil.rmtree(made, ignore_errors=True)
        if not (folder / UNFINISHED).exists():
            raise DataError(f"cannot write {folder}: {cause}; choose another folder") from cause


def _erase(private: Path) -> None:
    """Removes a private folder; whoever is ended meanwhile leaves nothing that looks unfinished."""
    private.rename(_new(private.parent))
    # What others left who were killed, too.
    for made in private.parent.glob(f"{_MADE}*"):
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(made)


def _new(folder: Path) -> Path:
    """A place that no other process has, for what is not begun yet, or is erased."""
    return folder / f"{_MADE}-{secrets.token_hex(8)}"
