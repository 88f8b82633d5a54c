"""A party as the curator sees it: typed questions over whatever carries encoded messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..common.errors import ProtocolError
from ..common.messages import MarginalQuery, PartyDescription, ReleaseTerms
from ..common.wire import codec


class Connection(Protocol):
    """The transport seam: carries one encoded request to a party and its encoded replies back."""

    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        """Replies to one request.

        Args:
            method: name of a method of the service Party.
            request: its encoded request.

        Raises:
            MosaicError: what the party raised, or PartyUnavailable.
        """
        ...


class PartyClient:
    """Asks one party.

    Args:
        connection: what carries the messages.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def describe(self) -> PartyDescription:
        """What others may know of the party."""
        return codec.decode_description(self._single("Describe", b""))

    def accept(self, terms: ReleaseTerms) -> None:
        """Asks the party to reserve a release's budget."""
        self._single("Accept", codec.encode_terms(terms))

    def answer(
        self, query: MarginalQuery, rows: int, cells: int, block_rows: int
    ) -> Iterator[NDArray[np.int64]]:
        """The party's noisy integers, in blocks of rows.

        Args:
            query: what to ask.
            rows: rows due: 1 for a histogram, the slice's records for indicator vectors.
            cells: integers of one row.
            block_rows: rows of every block but the last.

        Yields:
            Shape (block_rows, cells), int64, in units of 1/grid of the query's sigma.
        """
        frames = self._connection.call("Answer", codec.encode_query(query))
        return codec.decode_answer(frames, rows, cells, block_rows)

    def _single(self, method: str, request: bytes) -> bytes:
        replies = list(self._connection.call(method, request))
        if len(replies) != 1:
            raise ProtocolError(f"expected one reply to {method}, got {len(replies)}; compare versions")
        return replies[0]
