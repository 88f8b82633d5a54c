"""One release of an experiment, and what identifies its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ...common.version import __version__

DELTA = 1e-9
_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDERS = ("common", "party", "curator", "simulations")
_PRESENTATION = ("simulations/experiments", "curator/report")
_COMPUTES = ("cell.py", "measures.py", "tables.py")
"""Of the experiments' own modules, those that a result depends on."""


@dataclass(frozen=True)
class Cell:
    """One release and what is measured on it.

    Attributes:
        table: name of the real table.
        epsilon: the promise, with delta = `DELTA`.
        method: a mechanism of the catalogue or a baseline.
        variant: of the mechanism.
        settings: its parameters as (name, value), as text.
        protocol: of the simulation.
        grid: "KxS".
        workload: "2way", "3way", ...
        label_weight: of marginals with the label in it, over that of others.
        binary: whether the attributes are written as binary digits.
        measures: names of `measures.MEASURES`.
        label: attribute that classifiers predict.
        seed: of the release; the fold of `measures` that leave one out.
    """

    table: str
    epsilon: float = 1.0
    method: str = "randdpgen"
    variant: str = "default"
    settings: tuple[tuple[str, str], ...] = ()
    protocol: str = "trusted"
    grid: str = "1x1"
    workload: str = "2way"
    label_weight: float = 1.0
    binary: bool = False
    measures: tuple[str, ...] = ()
    label: str | None = None
    seed: int = 1

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "settings": dict(self.settings), "measures": list(self.measures)}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Cell:
        """What `to_json` made."""
        values = {field.name: form[field.name] for field in fields(cls)}
        settings = tuple(sorted(form["settings"].items()))
        return cls(**(values | {"settings": settings, "measures": tuple(form["measures"])}))

    def setting(self, name: str, value: object) -> tuple[tuple[str, str], ...]:
        """The settings with one of them changed."""
        return tuple(sorted({**dict(self.settings), name: str(value)}.items()))

    def identity(self, table_digest: str, software: str) -> str:
        """Hexadecimal digits that two results share if and only if all that they depend on is the same."""
        whole = json.dumps([self.to_json(), table_digest, software], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()[:24]


@cache
def software_version() -> str:
    """The version, and a digest of all code that a result can depend on.

    How results are laid out on a page is left out: changing that makes no result stale.
    """
    digest = hashlib.sha256()
    for path in sorted(path for folder in _FOLDERS for path in (_PACKAGE / folder).rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        if name.startswith(_PRESENTATION) and path.name not in _COMPUTES:
            continue
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{__version__}+{digest.hexdigest()[:12]}"
