"""Figures of a release as objects: shown by a notebook, written as files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...common.data.table import Table
from ...common.errors import DataError
from ...common.files.writing import told_if_unwritable, write_text
from ..report.pairs import CertifiedPairs, Pair
from ..report.plots import figure
from ..results.comparable import moved_to, of_same_codes
from ..results.outputs import warning_beside
from .published import Published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHARTS_UNASKED = 12
"""Columns that are drawn if nobody names some."""

_KINDS = ("png", "svg", "pdf")


@dataclass(frozen=True, eq=False)
class Plot:
    """A figure, which a notebook shows.

    Attributes:
        figure: the figure of matplotlib.
        private: why it must not be published; empty if it may be.
    """

    figure: Figure
    private: str = ""

    def save(self, path: str | Path) -> None:
        """Writes the figure as PNG, SVG or PDF, by the ending of the name.

        Of one that must not be published, a file beside it says so.

        Raises:
            DataError: the file cannot be written.
        """
        path = Path(path)
        kind = path.suffix.removeprefix(".").lower()
        if kind not in _KINDS:
            raise DataError(
                f"{path}: expected a name that ends in .png, .svg or .pdf, got another; rename it"
            )
        if self.private:
            write_text(warning_beside(path), f"{path.name}: {self.private}\n")
        with told_if_unwritable(path):
            self.figure.savefig(path, format=kind, dpi=150)

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.figure.savefig(content, format="png", dpi=96)
        return content.getvalue()

    def __repr__(self) -> str:
        return "Plot; save(path) writes it as PNG, SVG or PDF, and figure is that of matplotlib"


def plot(
    published: Published,
    columns: Sequence[str] | None = None,
    real: Table | None = None,
    distances: Mapping[Pair, float] | None = None,
    private: str = "",
) -> Plot:
    """A figure of a release, or of a comparison with the real table.

    Args:
        published: the release.
        columns: those that are drawn; by default the first ones.
        real: the real table, in a comparison.
        distances: of its pairs.
        private: why a comparison must not be published.

    Raises:
        DataError: there is no such column.
        MissingExtraError: matplotlib is not installed.
    """
    rows, certificate = published.rows, published.certificate
    rows = rows if real is None else moved_to(real.domain, rows)
    known = rows.domain.names
    names = list(known if columns is None else columns)
    if unknown := [name for name in names if name not in known]:
        raise DataError(f"columns: expected names of columns, got {unknown[0]!r}; name others")
    shown = names[:_CHARTS_UNASKED] if columns is None else names
    margins = {} if published.evidence is None else published.evidence.margins
    measured = of_same_codes(margins, published.domain, rows.domain)
    pairs = CertifiedPairs(certificate).bounds if distances is None else distances
    beside = f" beside {real.record_count:,} real ones" if real is not None else ""
    title = f"{rows.record_count:,} synthetic rows{beside}"
    title += f", {len(shown)} of {len(names)} columns" if len(shown) < len(names) else ""
    if measured:
        title += "; thin lines: the real share with 95 % probability, as far as noise hides it"
    for label in ("Not for publication", *certificate.labels) if private else certificate.labels:
        title = f"{label}\n{title}"
    return Plot(
        figure(rows, real, shown, names, measured, pairs, title), private or " ".join(certificate.labels)
    )
