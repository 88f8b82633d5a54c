"""A diagnosis for people outside the institution, without anything of rows, releases or places."""

from __future__ import annotations

import contextlib
import json
import platform
import stat
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ...common.bounded import json_of
from ...common.federation.protocol_versions import SPOKEN
from ...common.files.writing import write_text
from ...common.version import __version__
from ...common.wire.tls import METHODS
from ..home.home import PartyHome
from ..names import LEDGER, REQUESTS, SHAREABLE_LOG
from ..policies.file import keys_set
from .doctor import Diagnosis

_FORMAT = "dpmosaic diagnosis 1"
_PACKAGES = ("grpcio", "protobuf", "cryptography", "numpy", "duckdb")
_FILES = (".", "identity", "identity/identity.key", "identity/tls.key", "identity/tls.crt", LEDGER, REQUESTS)
_EVENTS = ("started", "stopped", "call", "health", "link", "reload", "metrics")
_CODE_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_COPIED_LOG_BYTES = 1 << 20


def write_diagnosis(home: PartyHome, found: Iterable[Diagnosis], target: Path) -> None:
    """Writes which checks passed, versions, modes of files, names of the policy's keys and codes of the log.

    Every text in it is one of a fixed list of this software, or a version; findings, which name files and
    hosts, are not in it.

    Args:
        home: folder of the party.
        found: results of the checks.
        target: the new file, JSON.

    Raises:
        DataError: it cannot be written.
    """
    form = {
        "format": _FORMAT,
        "checks": {one.about: "passed" if one.passed else "failed" for one in found},
        "software": {"dpmosaic": __version__, "protocol": str(SPOKEN), **_packages()},
        "system": {
            "python": platform.python_version(),
            "system": platform.system(),
            "machine": platform.machine(),
        },
        "modes": {name: _mode(home.folder / name) for name in (*_FILES, home.policy_name)},
        "policy": keys_set(home.folder),
        "log": _codes(home.folder / SHAREABLE_LOG),
    }
    write_text(target, json.dumps(form, indent=2) + "\n")


def _packages() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):03o}" if path.exists() else "missing"


def _codes(log: Path) -> list[str]:
    """Which events with which codes the log of codes contains lately, each once."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _COPIED_LOG_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    found = set()
    for line in lines:
        with contextlib.suppress(ValueError, AttributeError):
            entry = json_of(line)
            event, method, code = (str(entry.get(name, "")) for name in ("event", "method", "code"))
            if event in _EVENTS and set(code) <= _CODE_LETTERS:
                found.add(" ".join(filter(None, (event, method if method in METHODS else "", code))))
    return sorted(found)
