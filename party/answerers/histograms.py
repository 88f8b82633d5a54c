"""Noisy histograms of a party's own rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...common.crypto.randomness import RandomStream
from ...common.data.people import PeopleRows
from ...common.data.rows import Rows
from ...common.privacy.cost import grid_of
from ...common.privacy.noise import TAIL_SIGMAS
from ...common.protocols.indicator import noisy_histogram
from ...common.queries import MarginalQuery
from ...common.wire.streams import encode_answer
from ..accounts.account import Account


def histogram(account: Account, rows: Rows, query: MarginalQuery, stream: RandomStream) -> Iterator[bytes]:
    """The frames of noisy counts of cells, boxes or groups, or of differences of noisy counts.

    Args:
        account: account of the release.
        rows: rows of the party, which hold the whole clique.
        query: a charged query.
        stream: noise of the query.
    """
    parts = account.terms.unit.parts
    counts = noisy_histogram(rows, query.view, query.sigma, stream, parts)
    # A difference counts a record once, and sums the noise of 2^k cells.
    cells = 1 << len(query.clique) if query.view.interaction else 1
    most = rows.record_count
    if isinstance(rows, PeopleRows) and rows.by_length is not None:
        # A person of length one who lies in all of these cells counts up to their square root.
        most *= math.isqrt(cells - 1) + 1
    words = word_bytes(most, query.sigma, cells, parts)
    return encode_answer([account.bind_answer(query, counts)], words)


def word_bytes(largest_count: int, sigma: float, cells: int = 1, parts: int = 1) -> int:
    """Bytes that hold any count plus the noise of so many cells, which is cut at a fixed number of sigmas."""
    largest = grid_of(sigma, parts) * (largest_count + cells * (TAIL_SIGMAS + 1) * sigma)
    return 4 if largest < np.iinfo(np.int32).max else 8
