"""Differentially private synthetic tables from tables partitioned across institutions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .common.version import __version__ as __version__

if TYPE_CHECKING:
    from .common.data.domain import Domain
    from .common.data.table import Table
    from .common.data.workload import Workload
    from .common.privacy.budget import Budget
    from .curator.certificates.certificate import Certificate
    from .curator.mechanisms.aim import AIM
    from .curator.mechanisms.independent import Independent
    from .curator.mechanisms.mst import MST
    from .curator.mechanisms.mwem import MWEM
    from .curator.mechanisms.randdpgen.randdpgen import RandDPGen
    from .curator.releasing.models import load_model
    from .party.sources.source import read_table
    from .simulations.partition import Grid
    from .simulations.simulate import Simulation, simulate

__all__ = [
    "AIM",
    "MST",
    "MWEM",
    "Budget",
    "Certificate",
    "Domain",
    "Grid",
    "Independent",
    "RandDPGen",
    "Simulation",
    "Table",
    "Workload",
    "load_model",
    "read_table",
    "simulate",
]

_HOMES = {
    "AIM": "curator.mechanisms.aim",
    "MST": "curator.mechanisms.mst",
    "MWEM": "curator.mechanisms.mwem",
    "Budget": "common.privacy.budget",
    "Certificate": "curator.certificates.certificate",
    "Domain": "common.data.domain",
    "Grid": "simulations.partition",
    "Independent": "curator.mechanisms.independent",
    "RandDPGen": "curator.mechanisms.randdpgen.randdpgen",
    "Simulation": "simulations.simulate",
    "Table": "common.data.table",
    "Workload": "common.data.workload",
    "load_model": "curator.releasing.models",
    "read_table": "party.sources.source",
    "simulate": "simulations.simulate",
}


def __getattr__(name: str) -> Any:
    """Loads a public name on first use, so that a party needs none of the curator's packages."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if not home.startswith(("common", "party")):
        from .common.extras import require_extra

        require_extra("curator")
    return getattr(import_module(f".{home}", __name__), name)
