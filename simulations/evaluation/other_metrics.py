"""Metrics that other packages bring, by entry points (`common/extensions.py`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...common.data.table import Table
from ...common.errors import DataError
from ...common.extensions import METRICS, Extension, extensions

Metric = Callable[[Table, Table], Mapping[str, float]]
"""From the real and the synthetic table, which have one domain: finite figures by name."""


@dataclass(frozen=True)
class OtherMetric:
    """What a metric of another package found.

    Attributes:
        name: of the metric.
        package: that brings it, with its version.
        figures: by name.
    """

    name: str
    package: str
    figures: Mapping[str, float]


def other_metrics(real: Table, synthetic: Table) -> tuple[OtherMetric, ...]:
    """The figures of all metrics of installed packages.

    Raises:
        DataError: a metric cannot be imported or fails, or a figure is not finite; names the package.
    """
    return tuple(_evaluate(extension, real, synthetic) for extension in extensions(METRICS, {}).values())


def _evaluate(extension: Extension, real: Table, synthetic: Table) -> OtherMetric:
    metric: Metric = extension.load()
    package = f"{extension.package} {extension.version}"
    try:
        figures = {str(name): float(figure) for name, figure in metric(real, synthetic).items()}
    except Exception as cause:
        # The text of a foreign error may hold values of the table.
        raise DataError(
            f"metric {extension.name!r} of the package {package} failed ({type(cause).__name__}); fix or "
            "remove it"
        ) from None
    if not all(map(math.isfinite, figures.values())):
        raise DataError(
            f"metric {extension.name!r} of the package {package}: expected finite figures, got others; "
            "fix or remove it"
        )
    return OtherMetric(extension.name, package, figures)
