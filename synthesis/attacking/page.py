"""The page of attacks for readers: one HTML file that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.version import __version__
from ...curator.report.page import environment
from ...curator.results import outputs
from ...simulations.evaluation.metrics import PRIVATE
from .findings import Findings

WIDTH, _ROW, _BAR = 360.0, 36.0, 300.0
"""Width of a figure in drawing units, height of a bar with its label, and the longest bar."""

_COLUMNS = 8
"""Most columns in a figure."""


@dataclass(frozen=True)
class Bar:
    """A bar.

    Attributes:
        label: what it stands for.
        text: its number.
        y: of the upper end of its row.
        width: its length.
    """

    label: str
    text: str
    y: float
    width: float


@dataclass(frozen=True)
class Bars:
    """A figure of bars, with vertical lines.

    Attributes:
        title: what it shows.
        bars: from above.
        ceiling: place of the line of what the promise allows.
        coin: place of the line of a coin; None without one.
        height: of the figure.
    """

    title: str
    bars: tuple[Bar, ...]
    ceiling: float
    coin: float | None
    height: float


class Attacks(Findings):
    """What attacks found, which shows itself as a page."""

    def save(self, path: str | Path) -> None:
        """Writes the page, and beside it why it must not be released.

        Raises:
            DataError: a file cannot be written.
        """
        outputs.write_not_for_release(Path(path), page(self), PRIVATE)

    def _repr_html_(self) -> str:
        return page(self)


def page(found: Findings) -> str:
    """The page, as HTML.

    Args:
        found: what the attacks found.
    """
    return (
        environment()
        .get_template("attack.html")
        .render(
            version=__version__,
            found=found,
            private=PRIVATE,
            width=WIDTH,
            guesses=_guesses(found),
            gains=_gains(found),
        )
    )


def _guesses(found: Findings) -> Bars:
    shares = [("a coin", 0.5)]
    if found.membership is not None:
        if found.membership.by_rows is not None:
            shares.append(("by the released rows alone", found.membership.by_rows.right))
        shares.append(("by all that was published, knowing everybody else's rows", found.membership.right))
    texts = [(label, share, f"{share:.1%}") for label, share in shares]
    return _bars("Right guesses who was in the table", texts, found.ceiling.guess, 1.0, 0.5)


def _gains(found: Findings) -> Bars:
    ranked = sorted(found.inferred, key=lambda one: -one.gain)[:_COLUMNS]
    most = max([found.ceiling.gain, *(one.gain for one in ranked)]) * 1.1
    texts = [(one.name, one.gain, f"{100 * one.gain:+.1f}") for one in ranked]
    title = "What a person's own row adds to right guesses of a column, in percentage points"
    return _bars(title, texts, found.ceiling.gain, most, None)


def _bars(
    title: str, texts: Sequence[tuple[str, float, str]], ceiling: float, most: float, coin: float | None
) -> Bars:
    bars = tuple(
        Bar(label, text, place * _ROW, max(0.0, share) / most * _BAR)
        for place, (label, share, text) in enumerate(texts)
    )
    across = None if coin is None else coin / most * _BAR
    return Bars(title, bars, ceiling / most * _BAR, across, len(bars) * _ROW)
