"""The folder of a party that pinned a curator and another party, and its operator's commands."""

import contextlib
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.federation.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.federation.protocol_versions import NEWEST
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.promises.statement import TERMS
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import CURATOR_DEALS, DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import Purpose, ReleaseTerms
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.command import party_commands
from dpmosaic.party.home.folder import LEDGER
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.home.opening import party_of, requests_of
from dpmosaic.party.policies.file import Settings
from support.terms import RELEASE_ID

RECORDS = 150
POLICY = """
[source]
domain = "domain.json"
file = "rows.csv"
[records]
same_as = ["other"]
order = "guaranteed"
[policy]
protocols = ["indicator", "masked"]
adjacencies = ["zero-out"]
max_release_rho = 0.5
lifetime_rho = 2.0
max_cells = 100
max_labels_delta = 1e-10
dealers = ["curator"]
approval = {approval}
"""
CURATOR_IDENTITY, OTHER_IDENTITY = (Identity.from_seed(bytes([n]) * 32) for n in (1, 2))
DEALERS = (DealerEntry(CURATOR_DEALS, CURATOR_IDENTITY.public),)


def card(role, name, identity, domain=None):
    return Card.issue(role, name, identity, self_signed(name, new_tls_key(), datetime.now(UTC)), domain)


class Operator:
    """The operator of the party `clinic`, which holds attribute `a`; the party `other` holds the rest.

    Args:
        folder: an empty folder.
        rest: name of the other party's attribute, of two values.
        approval: whether the operator approves every release.
    """

    def __init__(self, folder, rest="b", approval="true"):
        self.home = PartyHome.create(folder / "clinic", "clinic")
        for name, text in (
            ("domain.json", '{"a": 3}'),
            ("rows.csv", "a\n" + "0\n1\n2\n" * (RECORDS // 3)),
            ("policy.toml", POLICY.format(approval=approval)),
        ):
            (self.home.folder / name).write_text(text)
        self.rest = rest
        listed = FederationList(
            card(CURATOR, "cur", CURATOR_IDENTITY),
            (self.home.card(), card(PARTY, "other", OTHER_IDENTITY, Domain.coded({rest: 2}))),
        )
        self.home.trust(listed)

    def terms(
        self, release_id=RELEASE_ID, rho=0.02, budget=None, mechanism='{"name": "mst"}', words="1 pair",
        labels=None, unreviewed=(),
    ):  # fmt: skip
        """Terms of a masked release over both parties; the curator deals and is an evaluator of scores."""
        own = self.home.keyring.identity.public
        roster = (
            RosterEntry("clinic", 0, ("a",), RECORDS, own),
            RosterEntry("other", 0, (self.rest,), RECORDS, OTHER_IDENTITY.public),
        )
        plan = MaskedPlan(Domain.coded({"a": 3, self.rest: 2}), roster, 1, Ring(32), (2, 0, 1), DEALERS)
        spec = ReleaseSpec(budget or Budget(zcdp_rho=rho)).over(plan)
        purpose = Purpose("d" * 64, mechanism, words, "w" * 64, labels=labels, unreviewed=unreviewed)
        return ReleaseTerms(release_id, NEWEST, spec, rho, plan, purpose)

    def alone(self, release_id=RELEASE_ID, rho=0.5):
        """Terms of a release of this party alone by the protocol `indicator`."""
        roster = (RosterEntry("clinic", 0, ("a",), RECORDS, self.home.keyring.identity.public),)
        plan, purpose = Partition(Domain.coded({"a": 3}), roster), self.terms(rho=rho).purpose
        spec = ReleaseSpec(Budget(zcdp_rho=rho), protocol="indicator")
        return ReleaseTerms(release_id, NEWEST, spec, rho, plan, purpose)

    @contextlib.contextmanager
    def serving(self):
        """The party on its files, as its daemon runs it, and its ledger."""
        settings = Settings.load(self.home.folder)
        with (
            contextlib.closing(Ledger(self.home.folder / LEDGER)) as ledger,
            contextlib.closing(requests_of(self.home, settings)) as approvals,
        ):
            yield party_of(self.home, settings, ledger, approvals), ledger

    def run(self, command, *arguments, typed=None):
        """What a command prints; it raises the errors of the command."""
        line = [command, str(self.home.folder), *arguments]
        result = CliRunner().invoke(
            party_commands, line, input=typed, catch_exceptions=False, env={"COLUMNS": "240"}
        )
        return result.output


def proposed(party, terms):
    """The party's acceptance of terms that the pinned curator signed."""
    encoded = encode_terms(terms)
    return party.accept(encoded, CURATOR_IDENTITY.sign(TERMS, encoded), CURATOR_IDENTITY.public)


@pytest.fixture
def operator(tmp_path):
    """An operator who approves every release."""
    return Operator(tmp_path)
