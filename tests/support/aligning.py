"""Parties in this process that name their people, and alignments over them."""

import contextlib
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.aligning.over_parties import align_over_parties
from dpmosaic.curator.releasing.planning.alignment_order import AlignmentOrder, AlignmentProposal
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.counting.identifiers import Identifiers
from dpmosaic.party.institution.institution import Institution, Rules
from dpmosaic.party.party import Party
from dpmosaic.party.policies.policy import Policy, Records
from dpmosaic.party.serving.servicer import PartyServicer
from dpmosaic.simulations.parties.network import InProcessConnection
from support.terms import SPEC

SIGNER = Identity.from_seed(bytes(32))
POLICY = Policy(
    protocols=frozenset({"masked"}),
    adjacencies=frozenset({Adjacency.ZERO_OUT}),
    max_release_rho=Fraction(10),
    lifetime_rho=Fraction(10),
    max_cells=1000,
    max_alignment_rho=Fraction(1),
)


@dataclass
class Aligning:
    """Parties, each with one attribute of two values and with identifiers of its rows.

    Attributes:
        slices: for each slice, the people of each party, as texts by row.
        policy: of every party, but for whose records it holds.
        ledgers: of the parties, in the same form; new ones if None.
        seed: of the parties' keys; None for keys of the operating system.
    """

    slices: list[list[list[str]]]
    policy: Policy = POLICY
    ledgers: list[list[Ledger]] | None = None
    seed: int | None = None

    def __post_init__(self):
        named = [[f"party-{k}-{j}" for j, _ in enumerate(row)] for k, row in enumerate(self.slices)]
        identities = {name: Identity.from_seed(name.encode().ljust(32)) for row in named for name in row}
        peers = {name: identity.public for name, identity in identities.items()}
        self.domain = Domain.coded({f"a{j}": 2 for j, _ in enumerate(self.slices[0])})
        self.institutions = []
        self.ledgers = self.ledgers or [[Ledger() for _ in row] for row in named]
        for row, people in zip(named, self.slices, strict=True):
            self.institutions.append([])
            for name, held, attribute in zip(row, people, self.domain, strict=True):
                table = Table.from_codes(self.domain.project((attribute,)), np.zeros((len(held), 1), int))
                records = Records(frozenset(row) - {name})
                rules = Rules(replace(self.policy, records=records), peers)
                identifiers = Identifiers({"key": held})
                institution = Institution(name, identities[name], table, rules, identifiers=identifiers)
                self.institutions[-1].append(institution)
        self.identities = peers
        self.links = [[self.restarted(k, j) for j, _ in enumerate(row)] for k, row in enumerate(named)]

    def restarted(self, k, j):
        """A new process of a party, with its ledger as it is."""
        institution = self.institutions[k][j]
        name = institution.name
        keys = (
            RandomStream.from_os() if self.seed is None else RandomStream.from_seed(self.seed).child(name)
        ).key
        return InProcessConnection(PartyServicer(Party(institution, self.ledgers[k][j], keys)))

    def placements(self, alignment_id):
        """The placement that each party stored, slice by slice."""
        return [
            [
                ledger.alignment(alignment_id, institution.digest()).placement
                for ledger, institution in zip(ledgers, row, strict=True)
            ]
            for ledgers, row in zip(self.ledgers, self.institutions, strict=True)
        ]

    def spent(self):
        """What each party ever charged, and how many queries."""
        summaries = [entry for row in self.ledgers for ledger in row for entry in ledger.summaries()]
        return [(entry.spent, entry.queries) for entry in summaries]


def order(**section):
    return AlignmentOrder.parse({"rho": 0.5, **section})


def align(parties, path, links=None, adjacency=Adjacency.ZERO_OUT, away_s=0.0, **section):
    """An alignment over these parties, resumed if the journal at this path exists."""
    opened = Journal(path) if path.exists() else Journal.create(path, "")
    with contextlib.closing(opened) as journal:
        return align_over_parties(
            AlignmentProposal(journal.release_id, order(**section), replace(SPEC, adjacency=adjacency)),
            parties.domain,
            links or parties.links,
            journal,
            signer=SIGNER,
            identities=parties.identities,
            away_s=away_s,
        )


def described(parties):
    return [[PartyClient(link).describe() for link in row] for row in parties.links]


class Died(BaseException):
    """Stands for the death of the curator; no product code catches it."""


class Restarting:
    """A connection to a party of an alignment; what a test does before and after each call can restart it.

    Args:
        parties: the parties.
        k: slice of the party.
        j: place of the party in its slice.
        told: called before each call and after each one that is done, with this connection.
    """

    def __init__(self, parties, k, j, told):
        self.parties, self.k, self.j, self.told = parties, k, j, told
        self.link = parties.links[k][j]

    def restart(self):
        self.link = self.parties.restarted(self.k, self.j)

    def call(self, method, requests):
        self.told(self)
        replies = list(self.link.call(method, requests))
        self.told(self)
        yield from replies


def watched(parties, told):
    return [
        [Restarting(parties, k, j, told) for j, _ in enumerate(row)] for k, row in enumerate(parties.links)
    ]
