"""Reports for readers: one HTML file without external resources.

The report of a release uses only the certificate and the synthetic table, which are public. The report of an
evaluation also shows real distributions, and states so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment

from ...common.data.table import Table
from ...common.privacy.rounding import text_above
from ...common.showing.templates import templates_in
from ...common.version import __version__
from ..certificates.certificate import Certificate
from .advice import advice_of
from .comparison import Comparison
from .distributions import COLUMNS_HEIGHT, COLUMNS_WIDTH, Measured, distribution
from .pair_charts import LEVELS, SIZE, heat_map, model_graph
from .pairs import CertifiedPairs, Pair
from .promise import promise_of
from .unseen import notes_on_unseen

TEMPLATES = Path(__file__).parent / "templates"
"""Folder of the page templates; other pages use its style sheet."""

_FURTHEST = 10


def release_report(
    certificate: Certificate, synthetic: Table, measured: Mapping[str, Measured] | None = None
) -> str:
    """The report of a release, as HTML; it depends on real records only through noisy values.

    Args:
        certificate: certificate of the release.
        synthetic: the synthetic table.
        measured: shares of the codes of attributes, as they were measured.
    """
    pairs = CertifiedPairs(certificate)
    confidence = certificate.confidence
    texts = {pair: _bound_text(pairs.bounds.get(pair), confidence) for pair in pairs.all}
    return _render(synthetic, pairs, None, list(certificate.plan.attributes), pairs.bounds, texts, measured)


def evaluation_report(
    synthetic: Table,
    comparison: Comparison,
    certificate: Certificate | None = None,
    measured: Mapping[str, Measured] | None = None,
) -> str:
    """The report of an evaluation, as HTML; it shows real distributions and is not for publication.

    Args:
        synthetic: the synthetic table.
        comparison: comparison with the real table.
        certificate: certificate of the release, if available.
        measured: shares of the codes of attributes, as they were measured.
    """
    pairs = None if certificate is None else CertifiedPairs(certificate)
    bounds = {} if pairs is None else pairs.bounds
    confidence = 0.0 if certificate is None else certificate.confidence
    texts = {
        pair: f"distance {distance:.3f}"
        + (f"; {_bound_text(bounds[pair], confidence)}" if pair in bounds else "")
        for pair, distance in comparison.pairs.items()
    }
    return _render(
        synthetic, pairs, comparison, list(synthetic.domain.names), comparison.pairs, texts, measured
    )


@cache
def environment() -> Environment:
    """The templates of pages, compiled once."""
    made = templates_in(TEMPLATES)
    made.filters.update(percent=_percent, number=_number, above=text_above, cost=_cost, pieces=_pieces)
    return made


def _render(
    synthetic: Table,
    pairs: CertifiedPairs | None,
    comparison: Comparison | None,
    names: Sequence[str],
    distances: Mapping[Pair, float],
    texts: Mapping[Pair, str],
    measured: Mapping[str, Measured] | None,
) -> str:
    certificate = None if pairs is None else pairs.certificate
    real = None if comparison is None else comparison.real
    furthest = sorted(distances, key=lambda pair: -distances[pair])[:_FURTHEST]
    return (
        environment()
        .get_template("page.html")
        .render(
            version=__version__,
            certificate=certificate,
            pairs=pairs,
            promise=None if certificate is None else promise_of(certificate),
            advice=None if certificate is None else advice_of(certificate),
            graph=None if pairs is None else model_graph(pairs),
            hidden=[] if certificate is None else list(notes_on_unseen(synthetic, certificate.plan.unseen)),
            comparison=comparison,
            records=synthetic.record_count,
            distributions=[
                distribution(name, synthetic, real, (measured or {}).get(name)) for name in synthetic.domain
            ],
            heat=heat_map(names, distances, texts) if len(names) > 1 else None,
            furthest=[_furthest_row(pair, distances[pair], pairs, comparison) for pair in furthest],
            whiskers=bool(measured),
            levels=LEVELS,
            chart=(COLUMNS_WIDTH, COLUMNS_HEIGHT),
            size=SIZE,
        )
    )


def _furthest_row(
    pair: Pair, distance: float, pairs: CertifiedPairs | None, comparison: Comparison | None
) -> tuple[str, ...]:
    row: tuple[str, ...] = (" × ".join(pair), f"{distance:.3f}")
    if comparison is not None and pairs is not None:
        bound = pairs.bounds.get(pair)
        row += ("–" if bound is None else f"{bound:.3f}",)
    return row


def _bound_text(bound: float | None, confidence: float) -> str:
    return "no bound" if bound is None else f"at most {bound:.3f} at {confidence:.0%} confidence"


def _pieces(text: str) -> list[str]:
    """The text, divided where a name or digest that no narrow column holds may end a line."""
    parts = re.split(r"(\S{25,})", text)
    pieces = [
        re.findall(r"[^/_.]{1,16}[/_.]*|[/_.]+", part) if at % 2 else [part] for at, part in enumerate(parts)
    ]
    return [piece for some in pieces for piece in some if piece]


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _cost(rho: float) -> str:
    return f"{rho:.3g}".replace("e-0", "e-")
