"""How many synthetic rows a release publishes if its plan does not say."""

from __future__ import annotations

from ...common.data.domain import Domain

DEFAULT_MOST_ROWS = 10_000_000
"""Most rows of a release that asks for none: sampling error of a share is at most 0.0002 from so many."""

MOST_DRAWN_CODES = 2**30
"""Most codes of these rows, of a byte or two each: what the curator holds in memory."""


def default_rows(domain: Domain, records: int) -> int:
    """As many rows as records, up to limits that bound the curator's memory.

    Any further number of rows is drawn from the model of the finished release (`analysis/drawing`).

    Args:
        domain: domain of the synthetic table.
        records: number of records, as the release knows it.
    """
    return max(1, min(records, DEFAULT_MOST_ROWS, MOST_DRAWN_CODES // max(1, len(domain.attributes))))
