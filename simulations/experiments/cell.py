"""One release of an experiment, and the identity of its result."""

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
"""The modules of this folder that a result depends on."""


@dataclass(frozen=True)
class Cell:
    """One release and its measures.

    Attributes:
        table: name of the real table.
        epsilon: privacy budget, with delta = `DELTA`.
        method: name of a mechanism of the catalogue or of a baseline.
        variant: variant of the mechanism.
        settings: parameters of the mechanism as (name, value), as text.
        protocol: protocol of the simulation.
        grid: "KxS".
        workload: "2way", "3way", ...
        label_weight: weight of marginals that contain the label, relative to the others.
        binary: whether attributes are coded as binary digits.
        measures: names of `measures.MEASURES`.
        label: attribute that classifiers predict.
        seed: seed of the release; also the fold that cross-validated measures leave out.
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
        """The cell as JSON values."""
        return {**asdict(self), "settings": dict(self.settings), "measures": list(self.measures)}

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Cell:
        """Reads the output of `to_json`."""
        values = {field.name: form[field.name] for field in fields(cls)}
        settings = tuple(sorted(form["settings"].items()))
        return cls(**(values | {"settings": settings, "measures": tuple(form["measures"])}))

    def setting(self, name: str, value: object) -> tuple[tuple[str, str], ...]:
        """The settings with one value changed."""
        return tuple(sorted({**dict(self.settings), name: str(value)}.items()))

    def identity(self, table_digest: str, software: str) -> str:
        """Hexadecimal digest of everything that the result depends on."""
        whole = json.dumps([self.to_json(), table_digest, software], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()[:24]


@cache
def software_version() -> str:
    """The version, and a digest of all code that results depend on.

    The code of figures and pages is excluded, since changing it makes no result stale.
    """
    digest = hashlib.sha256()
    for path in sorted(path for folder in _FOLDERS for path in (_PACKAGE / folder).rglob("*.py")):
        name = path.relative_to(_PACKAGE).as_posix()
        if name.startswith(_PRESENTATION) and path.name not in _COMPUTES:
            continue
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{__version__}+{digest.hexdigest()[:12]}"
