"""A release in a few lines, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...common.data.table import Table
from ..certificates.certificate import Certificate
from .distributions import COLUMNS_HEIGHT, COLUMNS_WIDTH, Distribution, Measured, distribution
from .page import environment
from .promise import promise_of

_WORST = 5

_CHARTS = 12
"""Columns with a small chart."""


def release_summary(
    certificate: Certificate, synthetic: Table, columns: int, measured: Mapping[str, Measured]
) -> str:
    """A fragment of HTML: size, promise, labels, small charts, and the largest error bounds.

    Args:
        certificate: certificate of the release.
        synthetic: the synthetic table.
        columns: number of its columns, with identifiers.
        measured: shares of codes as they were measured.
    """
    promise = promise_of(certificate)
    bounds = sorted(certificate.error_bounds, key=lambda bound: -bound.total_variation)[:_WORST]
    return (
        environment()
        .get_template("summary.html")
        .render(
            rows=synthetic.record_count,
            charts=[
                _small_chart(distribution(name, synthetic, None, measured.get(name)))
                for name in synthetic.domain.names[:_CHARTS]
            ],
            more=max(0, len(synthetic.domain.names) - _CHARTS),
            size=(COLUMNS_WIDTH, COLUMNS_HEIGHT),
            columns=columns,
            records=certificate.records,
            about="about " if certificate.plan.alignment else "",
            epsilon=promise.epsilon,
            delta=promise.delta,
            mechanism=certificate.plan.mechanism["name"],
            labels=certificate.labels,
            worst=[(" × ".join(bound.clique), bound.total_variation) for bound in bounds],
            confidence=certificate.confidence,
        )
    )


@dataclass(frozen=True)
class _Chart:
    """A small chart.

    Attributes:
        name: of the column.
        bars: x, y, width and height of each bar, with its text.
        ends: place from 0 to 1 and text of one or two marks below.
        whiskers: as of `Columns`.
    """

    name: str
    bars: tuple[tuple[float, float, float, float, str], ...]
    ends: tuple[tuple[float, str], ...]
    whiskers: tuple[tuple[float, float, float], ...] = ()


def _small_chart(shown: Distribution) -> _Chart:
    """The columns of a chart, or a bar for each of its rows."""
    if shown.columns is not None:
        ticks = shown.columns.ticks
        bars = tuple((*bar, "") for bar in shown.columns.synthetic)
        return _Chart(shown.name, bars, tuple({ticks[0]: 0, ticks[-1]: 0}), shown.columns.whiskers)
    width = COLUMNS_WIDTH / max(1, len(shown.rows))
    found = []
    for place, row in enumerate(shown.rows):
        height = row.synthetic * row.scale * COLUMNS_HEIGHT
        text = f"{row.label}: {row.synthetic:.1%}"
        found.append((place * width, COLUMNS_HEIGHT - height, width * 0.9, height, text))
    labels = [row.label for row in shown.rows]
    ends = ((0.0, labels[0]), (1.0, labels[-1])) if len(labels) > 1 else ((0.0, labels[0]),)
    return _Chart(shown.name, tuple(found), ends)
