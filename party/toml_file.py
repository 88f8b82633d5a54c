"""A policy's TOML file: read with known sections and keys only, so that a misspelt limit is noticed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.errors import DataError

Keys = Mapping[str, Mapping[str, type | tuple[type, ...]]]
"""Section -> key -> type of its value."""

SERVE: Mapping[str, type] = {"listen": str, "metrics": str, "proxy": str}
"""Keys of the section [serve]."""

_LISTEN = "127.0.0.1:7443"
_PROXY = re.compile(r"http://[^@/\s]+:[0-9]{1,5}")


@dataclass(frozen=True)
class Serve:
    """The section [serve] of a policy.

    Attributes:
        listen: host and port.
        metrics: host and port for Prometheus; None for no metrics.
        proxy: URL of the HTTP proxy through which the daemon dials a curator; None for none.
    """

    listen: str
    metrics: str | None
    proxy: str | None

    @classmethod
    def of(cls, name: str, form: Mapping[str, Any]) -> Serve:
        """The section of a policy's file.

        Args:
            name: name of the file.
            form: its sections.

        Raises:
            DataError: the proxy is no URL of a host and a port.
        """
        section = form.get("serve", {})
        proxy = section.get("proxy")
        if proxy is not None and not _PROXY.fullmatch(proxy):
            raise DataError(
                f"{name}: expected proxy in [serve] as http://HOST:PORT, without a password, got another "
                "value; fix it"
            )
        return cls(section.get("listen", _LISTEN), section.get("metrics"), proxy)


def read_toml(path: Path, keys: Keys, role: str) -> dict[str, Any]:
    """The sections of a policy's file.

    Args:
        path: the file.
        keys: its sections and keys.
        role: the role whose command `init` writes such a file.

    Raises:
        DataError: the file is missing or not TOML, has an unknown section or key, or a value of another type;
            names it.
    """
    try:
        form = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise DataError(f"cannot read {path}: {cause.strerror}; run dpmosaic {role} init") from cause
    except ValueError as cause:
        raise DataError(f"{path} is not TOML: {cause}; fix the line") from cause
    _check_keys(path.name, form, keys)
    return form


def check_least(name: str, entries: Mapping[str, Any], keys: Iterable[str], least: int) -> None:
    """Refuses numbers that are too small or not finite.

    Args:
        name: name of the file.
        entries: keys and values of a section.
        keys: keys of numbers; those that the section lacks are valid.
        least: the smallest valid number.

    Raises:
        DataError: one is; names the key.
    """
    for key in keys:
        if not least <= entries.get(key, least) < float("inf"):
            expected = f"is at least {least}" if least else "is a finite number and not negative"
            raise DataError(f"{name}: {key} {expected}; fix it")


def _check_keys(name: str, form: Mapping[str, Any], keys: Keys) -> None:
    """Refuses what nobody would read: a misspelt key must not leave a limit open or shut unnoticed."""
    for section, entries in form.items():
        if section not in keys or not isinstance(entries, dict):
            raise DataError(f"{name}: expected the sections {', '.join(keys)}, got {section!r}; take it out")
        for key, value in entries.items():
            if key not in keys[section]:
                known = ", ".join(keys[section])
                raise DataError(f"{name}: [{section}] has no key {key!r}; it has {known}")
            kind = keys[section][key]
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise DataError(f"{name}: the key {key} in [{section}] has a value of another type; fix it")
