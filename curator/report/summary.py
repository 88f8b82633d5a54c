"""A release in a few lines, for notebooks."""

from __future__ import annotations

from ..certificates.certificate import Certificate
from .page import environment
from .promise import promise_of

_WORST = 5


def release_summary(certificate: Certificate, rows: int, columns: int) -> str:
    """A fragment of HTML: size, promise, labels, and the marginals with the largest error bounds.

    Args:
        certificate: certificate of the release.
        rows: number of rows of the synthetic table.
        columns: number of its columns.
    """
    promise = promise_of(certificate)
    bounds = sorted(certificate.error_bounds, key=lambda bound: -bound.total_variation)[:_WORST]
    return (
        environment()
        .get_template("summary.html")
        .render(
            rows=rows,
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
