"""Aligns the rows of parties in this process, by the same code as over a network."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.crypto.identity import Identity
from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.release_spec import ReleaseSpec
from ...curator.parties.alignments import Aligned
from ...curator.parties.client import Connection, PartyClient
from ...curator.parties.journal import Journal
from ...curator.parties.private_folder import JOURNAL
from ...curator.releasing.aligning.over_parties import align_over_parties
from ...curator.releasing.planning.alignment_order import AlignmentOrder, AlignmentProposal
from ..stopping import running

_CHARGED = "Align"
"""The method of parties that charges an alignment."""


@dataclass(frozen=True)
class _Counted:
    """A connection to a party whose charge for an alignment is counted; see `Connection`.

    Attributes:
        connection: to the party.
        rho: what the alignment costs, zCDP.
    """

    connection: Connection
    rho: float

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests."""
        if method == _CHARGED:
            for spending in running():
                spending.align(self.rho)
        return self.connection.call(method, requests)


def align(
    links: Sequence[Sequence[Connection]],
    domain: Domain,
    order: AlignmentOrder,
    spec: ReleaseSpec,
    keys: RandomStream,
) -> Aligned:
    """Makes an alignment and forgets its journal.

    Args:
        links: connections to the parties, slice by slice.
        domain: domain of the whole table, without the value `absent`.
        order: how rows are aligned, and whose records are released.
        spec: see `AlignmentProposal`.
        keys: the curator's randomness.
    """
    links = [[_Counted(link, order.rho) for link in row] for row in links]
    described = [PartyClient(link).describe() for row in links for link in row]
    signer = Identity.from_seed(keys.child_key("identity"))
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(Journal.create(Path(folder) / JOURNAL, "", keys.child_key("matching"))) as journal,
    ):
        certificate = align_over_parties(
            AlignmentProposal(journal.release_id, order, spec),
            domain,
            links,
            journal,
            signer=signer,
            identities={party.name: party.identity for party in described},
        )
    return certificate.for_population(order.population)
