"""K x S real parties in one process: encoded messages, no second code path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ..common.crypto.randomness import RandomStream
from ..common.errors import MosaicError
from ..common.messages import ReleaseTerms
from ..common.table import Table
from ..common.wire.refusals import decode_refusal, encode_refusal
from ..party.ledger import Ledger
from ..party.party import Party
from ..party.policy import Policy
from ..party.servicer import PartyServicer
from ..party.source import TableSource

_MAX_CELLS = 1 << 28
"""Of one marginal of one party's attributes: 2 GiB of counts."""


class InProcessConnection:
    """Carries encoded messages to a servicer in this process, and its errors as encoded refusals.

    Args:
        servicer: the party's.
    """

    def __init__(self, servicer: PartyServicer) -> None:
        self._servicer = servicer

    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        """Replies to one encoded request; see `Connection`."""
        try:
            yield from self._servicer.serve(method, request)
        except MosaicError as error:
            raise decode_refusal(encode_refusal(error)) from error


def start_parties(
    pieces: Sequence[Sequence[Table]], terms: ReleaseTerms, keys: RandomStream
) -> list[list[InProcessConnection]]:
    """Starts a party for every piece of a table, with a ledger in memory and a policy for this one release.

    Args:
        pieces: for each slice, the rows and columns of each of its parties.
        terms: of the release that the parties' policies allow.
        keys: where the parties' noise keys come from.

    Returns:
        Connections, slice by slice.
    """
    granted = Fraction(terms.granted_rho)
    policy = Policy(
        protocols=frozenset({terms.protocol}),
        adjacencies=frozenset({terms.adjacency}),
        max_release_rho=granted,
        lifetime_rho=granted,
        max_cells=_MAX_CELLS,
    )
    connections = []
    for i, slice_pieces in enumerate(pieces, start=1):
        row = []
        for j, table in enumerate(slice_pieces, start=1):
            name = f"party-{i}-{j}"
            party = Party(name, TableSource(table), table.domain, policy, Ledger(), keys.child(name))
            row.append(InProcessConnection(PartyServicer(party)))
        connections.append(row)
    return connections
