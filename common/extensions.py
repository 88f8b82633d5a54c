"""Mechanisms, protocols, sources and metrics from other packages, found by entry points.

A package names what it adds in its own metadata, as `pyproject.toml` writes it:

    [project.entry-points."dpmosaic.mechanisms"]
    ring = "acme_ring:ENTRY"

A package is imported only when its name is asked for, so that a broken one affects nothing else.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import Any

from .errors import DataError

MECHANISMS = "dpmosaic.mechanisms"
"""Values: `Entry` of `curator.mechanisms.catalogue`."""

PROTOCOLS = "dpmosaic.protocols"
"""Values: `Protocol` of `common.protocols.registry`."""

MEASURERS = "dpmosaic.measurers"
"""Values: `Measuring` of `curator.measurers.catalogue`, under the protocol's name."""

ANSWERERS = "dpmosaic.answerers"
"""Values: subclasses of `Answerer` of `party.answerers.answerer`, under the protocol's name."""

SOURCES = "dpmosaic.sources"
"""Values: `Factory` of `party.policies.source`."""

METRICS = "dpmosaic.metrics"
"""Values: `Metric` of `simulations.evaluation.other_metrics`."""

_OWN = "dpmosaic"


@dataclass(frozen=True)
class Extension:
    """One thing that another package adds.

    Attributes:
        name: under which it is asked for.
        module: where it is defined.
        attribute: its name there.
        package: name of the distribution that brings it.
        version: of that distribution.
    """

    name: str
    module: str
    attribute: str
    package: str
    version: str

    def load(self, kind: type | None = None) -> Any:
        """Imports it.

        Args:
            kind: what it has to be an instance of; None for anything that can be called.

        Raises:
            DataError: it cannot be imported, or is something else; names the package.
        """
        try:
            found: Any = importlib.import_module(self.module)
            for part in self.attribute.split("."):
                found = getattr(found, part)
        except Exception as cause:
            raise DataError(
                f"{self.name!r} of the package {self.package} {self.version} cannot be imported "
                f"({type(cause).__name__}: {cause}); fix or remove the package"
            ) from cause
        if not (callable(found) if kind is None else isinstance(found, kind)):
            wanted = "something that can be called" if kind is None else kind.__name__
            raise DataError(
                f"{self.name!r} of the package {self.package} {self.version}: expected {wanted}, got "
                f"{type(found).__name__}; the package was made for another version of dpmosaic"
            )
        return found


def extensions(group: str, taken: Mapping[str, object]) -> dict[str, Extension]:
    """What installed packages add to a group, by name.

    Args:
        group: one of the groups of this module.
        taken: names of what dpmosaic brings itself.

    Raises:
        DataError: two packages, or a package and dpmosaic, use one name.
    """
    found: dict[str, Extension] = {}
    for point in _points(group, tuple(sys.path)):
        package, version = (point.dist.name, point.dist.version) if point.dist else ("unknown", "")
        other = found[point.name].package if point.name in found else _OWN if point.name in taken else None
        if other not in (None, package):
            raise DataError(
                f"{group}: {point.name!r} comes from {other} and from {package}; remove one of the packages"
            )
        found[point.name] = Extension(point.name, point.module, point.attr, package, version)
    return found


@lru_cache
def _points(group: str, path: tuple[str, ...]) -> tuple[metadata.EntryPoint, ...]:
    """The entry points of a group; reading the metadata of all packages takes long enough to do it once."""
    return tuple(metadata.entry_points(group=group))


def origin(value: object) -> tuple[str, str] | None:
    """Name and version of the distribution that defines a value's class; None for dpmosaic itself.

    Of a class that no installed distribution defines, the name is its top module and the version "unknown".
    """
    top = type(value).__module__.partition(".")[0]
    if top == _OWN:
        return None
    for package in metadata.packages_distributions().get(top, ()):
        return package, metadata.version(package)
    return top, "unknown"
