"""The results of alignments in a party's ledger."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction

import numpy as np

from ...common.bounded import json_of
from ...common.errors import ProtocolError
from .rows import KeptAlignment, Placement

_FINISHED = "FROM placement JOIN release USING (release_id) WHERE certificate IS NOT NULL"


class Placements:
    """Rows of the table `placement`; the ledger holds its lock and the transaction.

    Args:
        database: database of the ledger.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def put(self, release_id: str, placement: Placement) -> None:
        """Stores the result of an alignment; repeating it has no effect.

        Raises:
            ProtocolError: its rows were placed otherwise before.
        """
        row = (placement.size, json.dumps(placement.people), placement.positions.astype("<i4").tobytes())
        known = self._database.execute(
            "SELECT size, people, positions FROM placement WHERE release_id = ?", (release_id,)
        ).fetchone()
        if known not in (None, row):
            raise ProtocolError("the rows were placed otherwise before; start a new alignment")
        if known is None:
            self._database.execute("INSERT INTO placement VALUES (?, ?, ?, ?)", (release_id, *row))

    def finished_alignment(self, alignment_id: str, data_digest: str) -> KeptAlignment:
        """A finished alignment of these rows.

        Raises:
            ProtocolError: there is none, it is not finished, or it is of other rows.
        """
        row = self._database.execute(
            f"SELECT size, people, positions, terms, spent {_FINISHED} "
            "AND release_id = ? AND data_digest = ?",
            (alignment_id, data_digest),
        ).fetchone()
        if row is None:
            raise ProtocolError(
                "expected a finished alignment of the current rows of this party, got the id of another; "
                "align the rows first"
            )
        people = tuple(map(tuple, json_of(row[1])))
        positions = np.frombuffer(row[2], dtype="<i4").astype(np.int32)
        return KeptAlignment(Placement(row[0], people, positions), row[3], Fraction(row[4]))

    def ids(self, data_digest: str) -> tuple[str, ...]:
        """Ids of the finished alignments of these rows, the latest last."""
        rows = self._database.execute(
            f"SELECT release_id {_FINISHED} AND data_digest = ? ORDER BY closed_at", (data_digest,)
        )
        return tuple(alignment_id for (alignment_id,) in rows.fetchall())
