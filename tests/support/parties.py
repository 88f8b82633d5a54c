"""Parties in this process over encoded messages, their pieces of a table, and releases over them."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.people import PeopleRows
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DeliveriesLost, MosaicError
from dpmosaic.common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from dpmosaic.common.protocols.masked.dealers import CURATOR_DEALS, REPLICATED
from dpmosaic.common.protocols.registry import MASKED
from dpmosaic.common.wire.refusals import decode_refusal, encode_refusal
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.planning import masked_plan
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.institution.institution import Institution, Rules
from dpmosaic.party.party import Party
from dpmosaic.party.policies.policy import Policy, Records
from dpmosaic.party.serving.servicer import PartyServicer
from dpmosaic.simulations.parties.network import dealer_names, start_dealers
from support.terms import RELEASE_ID, terms_of


def random_table(domain, records, seed=7):
    rng = np.random.default_rng(seed)
    return Table.from_codes(domain, np.column_stack([rng.integers(0, n, records) for n in domain.sizes]))


def layout(rows, groups):
    """A slice: number of rows, and the attributes of each party, one letter each: `layout(15, "ac bde")`."""
    return rows, tuple(tuple(group) for group in groups.split())


def cut(table, grid):
    """The pieces of a table, slice by slice and party by party.

    Args:
        table: table whose rows are cut in order.
        grid: such as "2x3", as even as possible; or layouts, slice by slice.
    """
    if isinstance(grid, str):
        slices, parties = map(int, grid.split("x"))
        names = np.array(table.domain.names, dtype=object)
        groups = tuple(tuple(part) for part in np.array_split(names, parties))
        grid = [(len(rows), groups) for rows in np.array_split(np.empty(table.record_count), slices)]
    pieces, start = [], 0
    for rows, groups in grid:
        held = table.rows(start, start + rows)
        pieces.append([held.project(group) for group in groups])
        start += rows
    assert start == table.record_count
    return pieces


def policy_for(protocol, adjacency=Adjacency.ZERO_OUT, granted_rho=1.0, rows_per_person=1):
    """A policy that allows one release and nothing else."""
    granted = Fraction(granted_rho)
    return Policy(
        protocols=frozenset({protocol}),
        adjacencies=frozenset({adjacency}),
        max_release_rho=granted,
        lifetime_rho=granted,
        max_cells=1 << 28,
        min_tolerated=0,
        max_rows_per_person=rows_per_person,
        dealers=frozenset({CURATOR_DEALS, *dealer_names(REPLICATED)}),
    )


def sharing(policy, neighbours=()):
    """The policy of a party whose records these parties hold too, in an order that nobody compares."""
    return replace(policy, records=Records(frozenset(neighbours), order_guaranteed=True))


class Link:
    """Carries encoded messages to a party in this process, and its errors as encoded refusals.

    Args:
        party: the party.
        caller: identity of the curator that calls, as a transport would know it.
    """

    def __init__(self, party: Party, caller: bytes = b"") -> None:
        self.party = party
        self.caller = caller
        self.servicer = PartyServicer(party)

    def call(self, method: str, requests: Iterable[bytes]):
        try:
            yield from self.servicer.serve(method, iter(requests), self.caller)
        except MosaicError as error:
            refused = decode_refusal(encode_refusal(error))
            if isinstance(error, DeliveriesLost):
                refused.at = error.at
            raise refused from error

    def restart(self) -> None:
        """The party loses its memory and resumes from its ledger."""
        old = self.party
        self.party = Party(old._institution, old._ledger, old._keys)
        self.servicer = PartyServicer(self.party)


def party_of(name, table, policy, *, ledger=None, keys=None, identity=None, known=None, curators=None):
    """One party; by default with a ledger in memory and keys from seed 1."""
    rules = Rules(policy, known or {}, curators)
    institution = Institution(name, identity or Identity.from_seed(bytes(32)), table, rules)
    return Party(institution, ledger or Ledger(), keys or RandomStream.from_seed(1).key)


def started(pieces, policy, keys):
    """A party for every piece, with a ledger in memory; they pinned each other and all of `dealers_for`.

    Returns:
        Links, slice by slice.
    """
    names = [[f"party-{i}-{j}" for j, _ in enumerate(row, start=1)] for i, row in enumerate(pieces, start=1)]
    everybody = [*(name for row in names for name in row), *dealer_names(REPLICATED)]
    own = {name: Identity.from_seed(keys.child_key("identity", name)) for name in everybody}
    pinned = {name: identity.public for name, identity in own.items()}

    def party(name, row, table):
        institution = Institution(name, own[name], table, Rules(sharing(policy, {*row} - {name}), pinned))
        return Party(institution, Ledger(), keys.child(name).key)

    return [
        [Link(party(name, row, table)) for name, table in zip(row, tables, strict=True)]
        for row, tables in zip(names, pieces, strict=True)
    ]


def dealers_for(links, keys, count=0):
    """Connections to so many dealers of these parties, for `connect`; if zero, the curator deals.

    Args:
        links: links to the parties, slice by slice.
        keys: keys of the parties.
        count: 0, 1 or 3.
    """
    return start_dealers(count, keys, links)


def masked_terms(
    federation, granted, adjacency=Adjacency.ZERO_OUT, tolerated=None, release_id=RELEASE_ID, sample=None,
    rows_per_person=1,
):  # fmt: skip
    unit = PrivacyUnit(adjacency, rows_per_person)
    plan = masked_plan(federation, granted, unit, tolerated).with_sample(sample)
    return terms_of(release_id, MASKED.name, adjacency, float(granted), plan, rows_per_person=rows_per_person)


def measurer_over(
    table, grid="2x2", granted=Fraction(1), *, protocol=MASKED.name, tolerated=None,
    adjacency=Adjacency.ZERO_OUT, seed=1, dealers=0, tapped=None, held=None,
    sample=None,
):  # fmt: skip
    """The measurer of a release over the parties of a grid.

    Args:
        table: table that is cut into the grid; of people with all rows, for a release of these.
        grid: see `cut`.
        granted: budget of the release.
        protocol: protocol of the release.
        tolerated: tolerated collusions.
        adjacency: adjacency of the release.
        seed: seed of all keys.
        dealers: number of dealers; see `dealers_for`.
        held: makes other rows of a party's piece of the table, such as rows that an engine counts.
        tapped: wraps every link in another connection, in the order of the plan.
        sample: rows of the largest slice that products use.
    """
    keys = RandomStream.from_seed(seed)
    pieces = cut(table, grid)
    if held is not None:
        pieces = [[held(piece) for piece in row] for row in pieces]
    rows = ALL_ROWS if isinstance(table, PeopleRows) else 1
    links = started(pieces, policy_for(protocol, adjacency, float(granted), rows), keys)
    dealing = dealers_for(links, keys, dealers) if protocol == MASKED.name else []
    if tapped is not None:
        links = [[tapped(link) for link in row] for row in links]
        dealing = list(map(tapped, dealing))
    federation = connect(table.domain, links, dealers=dealing)
    if protocol == MASKED.name:
        terms = masked_terms(federation, granted, adjacency, tolerated, sample=sample, rows_per_person=rows)
        acceptances = federation.accept(terms)
        return MaskedMeasurer(federation, terms, acceptances, granted)
    plan = federation.partition
    terms = terms_of(RELEASE_ID, protocol, adjacency, float(granted), plan, rows_per_person=rows)
    federation.accept(terms)
    return FederationMeasurer(federation, terms, granted)


@pytest.fixture
def ledgers(monkeypatch):
    """The ledgers of all parties that the test starts, in the roster's order."""
    opened = []

    class Kept(Ledger):
        def __init__(self):
            super().__init__()
            opened.append(self)

    monkeypatch.setattr("support.parties.Ledger", Kept)
    return opened
