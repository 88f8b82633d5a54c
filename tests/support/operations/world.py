"""Two parties with files, the releases of a curator over them, and what has to hold after every operation."""

import hashlib
import itertools
from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.promises.binding import BindingsInMemory
from dpmosaic.curator.measurers.measurer import Measurer
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.curator.parties.dealer import CuratorDealer
from dpmosaic.curator.releasing.agreement import Agreement, Proposal, agree
from dpmosaic.party.institution.institution import Rules
from dpmosaic.party.policies.policy import Policy, Records
from support.operations.disk import Broken, DiskParty, Mortal
from support.terms import PURPOSE, SPEC

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 2})
HELD = {"north": ("a", "b"), "south": ("c",)}
RECORDS = 12
LIFETIME = Fraction(40)
PROTOCOLS = {"trusted": ("north",), "indicator": ("north", "south"), "masked": ("north", "south")}
MANUAL = "south"
"""The party whose operator decides on each release."""


@dataclass
class Release:
    """One release, as its curator knows it.

    Attributes:
        release_id: its id.
        protocol: name of its protocol.
        granted: its grant, zCDP.
        parties: names of its parties.
        measurer: None before it is accepted, and after the curator died.
        asked: what was asked of the measurer, in order; a resumed curator asks it again.
        state: "proposed", "open", "denied", "certified", "abandoned"; "closing ..." if some parties may have
            closed it.
        certificate: digest of its certificate.
    """

    release_id: str
    protocol: str
    granted: Fraction
    parties: tuple[str, ...]
    agreement: Agreement | None = None
    measurer: Measurer | None = None
    asked: list = field(default_factory=list)
    state: str = "proposed"
    certificate: bytes = b""


class World:
    """Parties, releases and counts of what succeeded.

    Args:
        folder: for the parties' files.
        seed: of all keys.
    """

    def __init__(self, folder, seed):
        self.mortal = Mortal()
        self.keys = RandomStream.from_seed(seed)
        self.curator = Identity.from_seed(self.keys.child_key("identity", "curator"))
        self.releases: list[Release] = []
        self.done = defaultdict(int)
        rng = np.random.default_rng(seed)
        table = Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, RECORDS) for n in DOMAIN.sizes]))
        identities = {name: Identity.from_seed(self.keys.child_key("identity", name)) for name in HELD}
        policy = Policy(
            frozenset(PROTOCOLS), frozenset(Adjacency), LIFETIME, LIFETIME, max_cells=64, min_tolerated=0
        )
        pinned = {name: identity.public for name, identity in identities.items()}

        def started(name):
            records = Records(frozenset(HELD) - {name}, order_guaranteed=True)
            return DiskParty(
                folder / name,
                name,
                identities[name],
                table.project(HELD[name]),
                Rules(replace(policy, records=records), pinned),
                name != MANUAL,
                self.keys.key,
                self.mortal,
            )

        self.parties = {name: started(name) for name in HELD}

    def close(self):
        for party in self.parties.values():
            party.close()

    def propose(self, protocol, granted):
        release_id = self.keys.key().hex()[:32]
        self.releases.append(Release(release_id, protocol, granted, PROTOCOLS[protocol]))
        return self.releases[-1]

    def agree(self, release):
        """All parties accept; a curator that died starts from here."""
        release.measurer = None
        domain = DOMAIN.project([name for party in release.parties for name in HELD[party]])
        spec = replace(SPEC, protocol=release.protocol)
        proposal = Proposal(release.release_id, spec, release.granted, PURPOSE)
        links = [[self.parties[name] for name in release.parties]]
        keys = self.keys.child("dealer", release.release_id)
        release.agreement = agree(
            domain, links, proposal, dealers=[CuratorDealer(self.curator, keys, BindingsInMemory())]
        )
        ticks = itertools.count()
        asking = Asking(away_s=3, sleep=lambda s: None, now=lambda: next(ticks))
        release.measurer = release.agreement.measurer(asking)
        if release.protocol == "masked":
            accepted = release.agreement.acceptances[: len(release.parties)]
            for name, acceptance in zip(release.parties, accepted, strict=True):
                self.parties[name].introduced = acceptance.mark

    def check(self):
        """Raises `Broken` if a promise does not hold."""
        for party in self.parties.values():
            self._check_entries(party)
            self._check_closed(party)

    def _check_entries(self, party):
        """Spent is the sum of entries, within the grants; no noise key hides two answers."""
        entries, sums = party.entries(), defaultdict(Fraction)
        for release_id, query_id, rho, key in entries:
            sums[release_id] += Fraction(rho)
            if not key:
                # Erased; or the party charged it for others that answer.
                continue
            party.secrets.setdefault(release_id, set()).add(key)
            if party.noise_keys.setdefault(key, (release_id, query_id)) != (release_id, query_id):
                raise Broken(f"{party.name}: one noise key for two queries")
        reserved = Fraction(0)
        for summary in party.ledger.summaries():
            if summary.spent != sums[summary.release_id] or summary.spent > summary.granted:
                raise Broken(f"{party.name}: spent differs from the sum of entries, or exceeds the grant")
            reserved += summary.reserved
        if reserved != party.ledger.total_reserved() or reserved > LIFETIME:
            raise Broken(f"{party.name}: more is reserved than a lifetime allows")
        answered = {asked for asked in party.asked if asked[0] not in party.closed}
        if not answered <= {(release_id, query_id) for release_id, query_id, _, _ in entries}:
            raise Broken(f"{party.name}: an answer has no entry")
        party.note_secrets()

    def _check_closed(self, party):
        """Nothing of a closed release's keys is left in the files."""
        closed = {summary.release_id for summary in party.ledger.summaries() if summary.state != "open"}
        if closed == party.closed:
            return
        kept = party.bytes_on_disk()
        for release_id in closed - party.closed:
            if any(secret in kept for secret in party.secrets.get(release_id, ())):
                raise Broken(f"{party.name}: keys of a closed release are left in the ledger's files")
        party.closed = closed


def certificate_of(release):
    """Digest that stands for the certificate of a release."""
    return hashlib.sha256(release.release_id.encode()).digest()
