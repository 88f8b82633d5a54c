"""Parties in this process whose rows were placed by an alignment, without the steps that make one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit, counting_cost
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.protocols.aligned import Alignment, Population
from dpmosaic.common.protocols.alignment.plan import AlignmentPlan
from dpmosaic.common.protocols.partition import RosterEntry
from dpmosaic.common.queries import AlignmentQuery
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.parties.alignments import Aligned
from dpmosaic.curator.parties.federation import connect
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.accounts.rows import Placement
from dpmosaic.party.institution.institution import Institution, Rules
from dpmosaic.party.party import Party
from support.parties import Link, dealers_for, masked_terms, policy_for, sharing
from support.terms import id_of, terms_of

SIGMA = 4.0
ALIGNMENT_ID = id_of("f")


class People:
    """People of slices whose parties know different ones of them, in rows of random order.

    Args:
        domain: domain of the whole table.
        grid: attributes of each party, slice by slice, such as `["a b", "ab"]`; one letter each.
        records: people of each slice.
        absent: probability that a party does not know a person.
        dummies: positions of each slice without people.
        seed: of everything.
    """

    def __init__(self, domain, grid, records=30, absent=0.3, dummies=9, seed=5):
        rng = np.random.default_rng(seed)
        self.domain = domain
        self.grid = [[tuple(held) for held in groups.split()] for groups in grid]
        self.tables, self.known, self.placements, self.sizes, people = [], [], [], [], []
        for groups in self.grid:
            codes = np.column_stack([rng.integers(0, n, records) for n in domain.sizes])
            known = rng.random((records, len(groups))) >= absent
            known[0] = True
            patterns = known @ (1 << np.arange(len(groups)))
            people.append(tuple(int(np.sum(patterns == k)) for k in range(1, 1 << len(groups))))
            size = records + dummies
            positions = rng.permutation(size)[:records]
            orders = [rng.permutation(np.flatnonzero(column)) for column in known.T]
            self.tables.append(Table.from_codes(domain, codes))
            self.known.append(known)
            self.sizes.append(size)
            self.placements.append([(order, positions[order].astype(np.int32)) for order in orders])
        self.people = tuple(people)

    def party_table(self, number, place):
        """The rows of one party, in its order."""
        order, _ = self.placements[number][place]
        return self.tables[number].project(self.grid[number][place]).take(order)

    def everywhere(self, clique):
        """Counts of the people whom every party of their slice knows."""
        kept = (t.take(np.flatnonzero(k.all(axis=1))) for t, k in zip(self.tables, self.known, strict=True))
        return sum(table.marginal(clique) for table in kept)

    def anywhere(self, clique):
        """Counts of all people whom any party knows, with `absent` as last value of every attribute."""
        counts = np.zeros([self.domain[name].size + 1 for name in clique], dtype=np.int64)
        for table, known, groups in zip(self.tables, self.known, self.grid, strict=True):
            holder = {name: place for place, held in enumerate(groups) for name in held}
            for row in np.flatnonzero(known.any(axis=1)):
                codes = [
                    table.column(name)[row] if known[row, holder[name]] else table.domain[name].size
                    for name in clique
                ]
                counts[tuple(codes)] += 1
        return counts.ravel()


class AlignedRelease:
    """A release over parties that hold an alignment.

    Args:
        people: the people.
        population: whose records are counted.
        granted: budget of the release.
        adjacency: which tables are neighbours.
        seed: of all keys.
        across_slices: how slices were compared (`AlignmentPlan`).
        policy: limits of all parties that differ.
    """

    def __init__(
        self, people, population=Population.EVERYWHERE, granted=Fraction(10**7), *,
        adjacency=Adjacency.ZERO_OUT, seed=1, across_slices="", **policy,
    ):  # fmt: skip
        keys = RandomStream.from_seed(seed)
        names = [[f"party-{i}-{j}" for j, _ in enumerate(row)] for i, row in enumerate(people.grid)]
        own = {name: Identity.from_seed(keys.child_key("identity", name)) for row in names for name in row}
        pinned = {name: identity.public for name, identity in own.items()}
        policy = replace(
            policy_for("masked", adjacency, float(granted + 1)),
            **{"max_alignment_rho": Fraction(1), **policy},
        )
        rho = counting_cost(SIGMA, PrivacyUnit(adjacency))
        roster = tuple(
            RosterEntry(name, number, held, 0, pinned[name])
            for number, (row, groups) in enumerate(zip(names, people.grid, strict=True))
            for name, held in zip(row, groups, strict=True)
        )
        sizes = {name: people.domain[name].size for name in people.domain}
        matching = AlignmentPlan(Domain.coded(sizes), roster, across_slices=across_slices)
        self.aligning = terms_of(ALIGNMENT_ID, "alignment", adjacency, float(rho), matching)
        self.institutions, self.ledgers, self.links = [], [], []
        for number, row in enumerate(names):
            links = []
            for place, name in enumerate(row):
                rules = Rules(sharing(policy, {*row} - {name}), pinned)
                institution = Institution(name, own[name], people.party_table(number, place), rules)
                ledger = self.kept(institution, people, number, place)
                links.append(Link(Party(institution, ledger, keys.child(name).key)))
                self.institutions.append(institution)
                self.ledgers.append(ledger)
            self.links.append(links)
        self.aligned = Aligned(Alignment(ALIGNMENT_ID, population, people.people, rho), tuple(people.sizes))
        dealers = dealers_for(self.links, keys)
        self.federation = connect(people.domain, self.links, aligned=self.aligned, dealers=dealers)
        self.granted = granted
        self.terms = masked_terms(self.federation, granted, adjacency)

    def kept(self, institution, people, number, place):
        """A ledger with the placement of a party."""
        ledger, digest = Ledger(), institution.digest()
        _, positions = people.placements[number][place]
        ledger.reserve(self.aligning, digest, b"s" * 32, lambda reserved: None)
        query = AlignmentQuery(ALIGNMENT_ID, "alignment", SIGMA)
        ledger.charge(query, Fraction(self.aligning.granted_rho), digest, b"n" * 32)
        ledger.place(ALIGNMENT_ID, Placement(people.sizes[number], people.people, positions))
        ledger.certify(Claim(ALIGNMENT_ID, b"c" * 32, self.aligning.granted_rho))
        return ledger

    def measurer(self, asking=None):
        acceptances = self.federation.accept(self.terms)
        return MaskedMeasurer(self.federation, self.terms, acceptances, self.granted, asking)
