"""Backups of a party's folder, without the keys of noise and masks; and the folder made of one again."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from ...common.bounded import LONGEST_TEXT_BYTES, json_of, read_bytes, toml_of
from ...common.crypto.digests import sha256_of
from ...common.errors import DataError
from ...common.federation.keyring import FOLDER
from ...common.federation.private_files import private_draft
from ...common.files.writing import told_if_unwritable
from ...common.formats import copy_database
from ...common.history import Mark
from ...common.version import __version__
from ..accounts.file_format import check_ledger
from ..accounts.ledger import Ledger
from ..approving.approvals import FORMAT as OF_REQUESTS
from ..home.home import PartyHome
from ..names import LEDGER, REQUESTS

_FORMAT, _MANIFEST = "dpmosaic backup 1", "manifest.json"
SECRETS = (
    "whoever reads it, and has the passphrase if there is one, can sign as this party "
    "(identity/identity.key) and answer in its place (identity/tls.key); it has no keys of noise or masks"
)
_KEYS_IN_COPY = (
    "UPDATE release SET secret = NULL, introduction = NULL, introduced_keys = NULL",
    "UPDATE answer SET noise_key = NULL",
    "DELETE FROM binding",
)


@dataclass(frozen=True)
class Backup:
    """What a backup says of itself.

    Attributes:
        name: name of the party.
        identity: its public key, 32 bytes.
        made: time of the backup, ISO 8601 in UTC.
        mark: high-water mark of the ledger in it.
    """

    name: str
    identity: bytes
    made: str
    mark: Mark


def back_up(home: PartyHome, target: Path, now: datetime | None = None) -> Backup:
    """Writes keys, pins, policy, domain, ledger and requests of a party to one file; also while it is served.

    The ledger in it has no keys of open releases, so that nobody can take their noise away with the backup.
    The rows are not in it.

    Args:
        home: folder of the party.
        target: the new file, which only its owner can read; complete or not at all.
        now: current time; None for the clock's.

    Raises:
        DataError: there is such a file, or it cannot be written; or ledger or requests are none of this
            software.
    """
    if target.exists():
        raise DataError(f"{target} exists already; choose another name, since a backup is never changed")
    check_ledger(home.folder / LEDGER)
    if (home.folder / REQUESTS).exists():
        OF_REQUESTS.check_file(home.folder / REQUESTS)
    with told_if_unwritable(target, "choose another place"):
        with tempfile.TemporaryDirectory(dir=home.folder, prefix=".backup-") as folder:
            ledger, requests = Path(folder) / LEDGER, Path(folder) / REQUESTS
            mark = _copy_without_keys(home.folder / LEDGER, ledger)
            files = {name: home.folder / name for name in _plain_files(home)} | {LEDGER: ledger}
            if (home.folder / REQUESTS).exists():
                copy_database(home.folder / REQUESTS, requests)
                files[REQUESTS] = requests
            made = (now or datetime.now(UTC)).isoformat(timespec="seconds")
            backup = Backup(home.keyring.name, home.keyring.identity.public, made, mark)
            _pack(backup, files, target)
    return backup


def restore(source: Path, folder: Path) -> Backup:
    """Makes a party's folder from a backup; its ledger accepts nothing before `Ledger.recount`.

    Args:
        source: a file that `back_up` wrote.
        folder: the new folder; complete or not at all.

    Raises:
        DataError: the folder exists, or the file is not a backup, is damaged or comes from later software.
    """
    if folder.exists():
        raise DataError(
            f"{folder} exists already; its ledger may know of more charges than the backup: use it if it can "
            "be opened, or restore into another folder"
        )
    draft = folder.with_name(folder.name + ".new")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(mode=0o700, parents=True)
        backup = _unpack(source, draft)
        (draft / FOLDER / "trusted").mkdir(mode=0o700, exist_ok=True)
        with contextlib.closing(Ledger(draft / LEDGER)) as ledger:
            ledger.hold_restored()
        draft.rename(folder)
    except OSError as cause:
        raise DataError(f"cannot write {folder}: {cause.strerror}; choose another place") from cause
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return backup


def _copy_without_keys(ledger: Path, target: Path) -> Mark:
    """Copies a ledger without keys of open releases; the mark of the copy."""
    copy_database(ledger, target)
    with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as database:
        for statement in _KEYS_IN_COPY:
            database.execute(statement)
        # Rewrites the file, in which the erased bytes would remain.
        database.execute("VACUUM")
    with contextlib.closing(Ledger(target)) as copied:
        mark = copied.mark()
    return mark


def _plain_files(home: PartyHome) -> Iterator[str]:
    """Names of the files that are copied as they are."""
    for path in sorted((home.folder / FOLDER).rglob("*")):
        if path.is_file():
            yield str(path.relative_to(home.folder))
    yield from (name for name in ("format", home.policy_name) if (home.folder / name).exists())
    domain = toml_of(read_bytes(home.folder / home.policy_name)).get("source", {}).get("domain")
    if isinstance(domain, str) and not Path(domain).is_absolute() and ".." not in Path(domain).parts:
        if (home.folder / domain).is_file():
            yield domain


def _pack(backup: Backup, files: dict[str, Path], target: Path) -> None:
    manifest = {
        "format": _FORMAT,
        "secrets": SECRETS,
        "software": __version__,
        "name": backup.name,
        "identity": backup.identity.hex(),
        "made": backup.made,
        "mark": [backup.mark.events, backup.mark.head.hex()],
        "files": {name: sha256_of(path) for name, path in files.items()},
    }
    text = json.dumps(manifest, indent=2).encode()
    with private_draft(target) as file, tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(_entry(_MANIFEST, len(text)), io.BytesIO(text))
        for name, path in files.items():
            with path.open("rb") as content:
                archive.addfile(_entry(name, path.stat().st_size), content)


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry


def _unpack(source: Path, folder: Path) -> Backup:
    """Writes the files of a backup, each with the digest that it states; what it says of itself."""
    try:
        # Compressed ones are not read, nor are files with holes: content takes no more bytes than the backup.
        with tarfile.open(source, "r:") as archive:
            form = _manifest(archive)
            for name, digest in form["files"].items():
                path = folder / _inside(name)
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                content = _content(archive, name)
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    shutil.copyfileobj(content, file)
                if sha256_of(path) != digest:
                    raise ValueError("another file")
        events, head = form["mark"]
        identity, mark = bytes.fromhex(form["identity"]), Mark(events, bytes.fromhex(head))
        return Backup(str(form["name"]), identity, str(form["made"]), mark)
    except (OSError, DataError):
        raise
    # Whatever the content of a stranger's file makes tarfile or this code raise.
    except Exception as cause:
        raise DataError(f"expected a backup, and {source} is none or is damaged; take another one") from cause


def _manifest(archive: tarfile.TarFile) -> dict[str, Any]:
    form: dict[str, Any] = json_of(_content(archive, _MANIFEST).read(LONGEST_TEXT_BYTES + 1))
    if form["format"] != _FORMAT:
        raise DataError(
            f"expected a backup of the form {_FORMAT!r}, found {str(form['format'])[:40]!r}; restore it with "
            "the version of the software that made it"
        )
    return form


def _content(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    """The content of a plain file.

    Raises:
        ValueError: it is a link or a folder, or has holes.
        KeyError: there is none.
    """
    member = archive.getmember(name)
    content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
    if content is None:
        raise ValueError("no plain file")
    return content


def _inside(name: str) -> str:
    """A name, if it stays in the folder that it is written to."""
    if os.path.isabs(name) or ".." in Path(name).parts:
        raise ValueError("a name that leaves the folder")
    return name
