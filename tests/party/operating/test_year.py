"""Two years of one institution, by the page `docs/year.md`: two curators, quotas, a lost disk, a new key.

The test moves the clock of the ledger and of the requests. What an operator types is run as the command.
"""

import csv
import io
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.federation.card import CURATOR, FederationList, as_text
from dpmosaic.common.federation.protocol_versions import NEWEST
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.promises.statement import TERMS, Claim
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import ReleaseTerms
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.accounts.reading import ReadLedger
from dpmosaic.party.approving.approvals import Approvals
from dpmosaic.party.command import party_commands
from dpmosaic.party.deciding.desk import Desk
from dpmosaic.party.deciding.trail import as_csv, trail
from dpmosaic.party.home.folder import LEDGER
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.home.opening import party_of, requests_of
from dpmosaic.party.policies.file import Settings
from support.ledgers import KEY
from support.operators import card
from support.terms import PURPOSE, id_of

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "year.md"
POLICY = """\
[source]
domain = "domain.json"
file = "rows.csv"
[policy]
protocols = ["indicator"]
adjacencies = ["zero-out"]
max_release_rho = 0.125
lifetime_rho = 0.5
max_cells = 100
"""
QUOTAS = """
[quotas]
yearly_rho = 0.25
[quotas.curators.registry]
yearly_rho = 0.1875
[quotas.curators.trial]
lifetime_rho = 0.125
"""
REGISTRY, TRIAL = (Identity.from_seed(bytes([n]) * 32) for n in (1, 2))
NAMES = {REGISTRY: "registry", TRIAL: "trial"}


class Institution:
    """The party `clinic`, its operator's commands, and a clock."""

    def __init__(self, folder):
        self.root, self.now, self.count = folder, datetime(2031, 2, 1, tzinfo=UTC), 0
        self.folder = folder / "clinic"

    def run(self, command, *words):
        """What a command prints; it raises the command's errors."""
        line = [command, *map(str, words)]
        found = CliRunner().invoke(party_commands, line, catch_exceptions=False, env={"COLUMNS": "240"})
        return found.output

    def join(self, curator):
        listed = self.root / f"{NAMES[curator]}.json"
        cards = card(CURATOR, NAMES[curator], curator), (PartyHome.open(self.folder).card(),)
        listed.write_text(as_text(FederationList(*cards).to_json()))
        self.run("trust", self.folder, listed, "--yes")

    def ask(self, curator, rho):
        """A curator asks: the terms, and the refusal, or None if it waits for the operator."""
        self.count += 1
        own = PartyHome.open(self.folder).keyring.identity.public
        plan = Partition(Domain.coded({"a": 3}), (RosterEntry("clinic", 0, ("a",), 150, own),))
        spec = ReleaseSpec(Budget(zcdp_rho=rho), protocol="indicator")
        terms = ReleaseTerms(id_of(self.count), NEWEST, spec, rho, plan, PURPOSE)
        with pytest.raises(PolicyError) as said:
            self.propose(curator, terms)
        waits = "waits for this party's operator" in str(said.value)
        return terms, None if waits else str(said.value)

    def propose(self, curator, terms, then=lambda ledger: None):
        home = PartyHome.open(self.folder)
        ledger, settings = Ledger(self.folder / LEDGER), Settings.load(self.folder)
        approvals = requests_of(home, settings)
        try:
            encoded = encode_terms(terms)
            party = party_of(home, settings, ledger, approvals)
            party.accept(encoded, curator.sign(TERMS, encoded), curator.public)
            then(ledger)
        finally:
            ledger.close()
            approvals.close()

    def release(self, curator, rho):
        """A release that is asked for, approved, charged in full, and certified."""
        terms, refusal = self.ask(curator, rho)
        assert refusal is None

        def measure(ledger):
            query = MarginalQuery(terms.release_id, "q", AnswerForm.HISTOGRAM, View(("a",)), 2.0)
            ledger.charge(query, Fraction(rho), ledger.release(terms.release_id).data_digest, KEY)
            ledger.certify(Claim(terms.release_id, b"c" * 32, rho))

        self.run("approve", self.folder, terms.release_id, "--yes", "--reason", "board of this month")
        self.propose(curator, terms, measure)


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    made = Institution(tmp_path)
    monkeypatch.setattr(ReadLedger.__init__, "__defaults__", (None, lambda: made.now.timestamp()))
    monkeypatch.setitem(Approvals.__init__.__kwdefaults__, "clock", lambda: made.now)
    made.run("init", made.folder, "--name", "clinic")
    (made.folder / "domain.json").write_text('{"a": 3}')
    (made.folder / "rows.csv").write_text("a\n" + "0\n1\n2\n" * 50)
    (made.folder / "policy.toml").write_text(POLICY + QUOTAS)
    return made


def test_two_years_of_an_institution(clinic):
    for curator in (REGISTRY, TRIAL):
        clinic.join(curator)

    # February and March: releases of the registry, until its quota of the year is spent.
    clinic.release(REGISTRY, 0.125)
    listed = clinic.run("releases", clinic.folder)
    assert "left: rho 0.125 of yearly_rho in [quotas] 0.25 this calendar year" in listed
    assert "left: rho 0.0625 of yearly_rho in [quotas.curators.registry] 0.1875 this calendar year" in listed
    assert "left: rho 0.125 of lifetime_rho in [quotas.curators.trial] 0.125" in listed
    clinic.now = datetime(2031, 3, 1, tzinfo=UTC)
    _, refusal = clinic.ask(REGISTRY, 0.125)
    assert "the quota of this curator for this calendar year, which is rho 0.0625; lower its" in refusal
    clinic.run("backup", clinic.folder, clinic.root / "spring.backup")

    # April: a release of the trial, after which the disk fails. The backup does not know of it.
    clinic.now = datetime(2031, 4, 1, tzinfo=UTC)
    clinic.release(TRIAL, 0.0625)
    clinic.folder.rename(clinic.root / "lost")
    clinic.run("restore", clinic.root / "spring.backup", clinic.folder)
    (clinic.folder / "rows.csv").write_text("a\n" + "0\n1\n2\n" * 50)
    _, refusal = clinic.ask(TRIAL, 0.0625)
    assert "restored from a backup, and accepts nothing until" in refusal
    clinic.run("recount", clinic.folder, "--rho", 0.0625, "--reason", "certificate of the trial")
    identity = PartyHome.open(clinic.folder).keyring.identity.public
    clinic.run("rotate", clinic.folder, "--yes")
    assert PartyHome.open(clinic.folder).card().follows(identity)
    for curator in (REGISTRY, TRIAL):
        clinic.join(curator)

    # The clock is set back by a year: this gives no budget.
    clinic.now = datetime(2030, 4, 1, tzinfo=UTC)
    _, refusal = clinic.ask(TRIAL, 0.125)
    assert "left of yearly_rho in [quotas], the quota of all curators together" in refusal
    clinic.now = datetime(2031, 11, 1, tzinfo=UTC)
    clinic.release(TRIAL, 0.0625)

    # December: the registry is revoked. January: the year's quota renews, that of the trial does not.
    clinic.run("trust", clinic.folder, "--revoke", "registry")
    clinic.now = datetime(2032, 1, 2, tzinfo=UTC)
    _, refusal = clinic.ask(REGISTRY, 0.0625)
    assert "not signed by a pinned curator" in refusal
    _, refusal = clinic.ask(TRIAL, 0.0625)
    assert "lifetime_rho in [quotas.curators.trial], the quota of this curator, which is rho 0;" in refusal
    policy = (clinic.folder / "policy.toml").read_text()
    raised = policy.replace("lifetime_rho = 0.125", "lifetime_rho = 0.25")
    (clinic.folder / "policy.toml").write_text(raised)
    terms, refusal = clinic.ask(TRIAL, 0.125)
    assert refusal is None
    shown = clinic.run("show", clinic.folder, terms.release_id)
    assert "rho 0.125 of yearly_rho in [quotas] 0.25 this calendar year after this release" in shown
    clinic.run("approve", clinic.folder, terms.release_id, "--yes", "--reason", "last one")
    clinic.propose(TRIAL, terms)

    # The lifetime budget counts all of it: .125 + .0625 twice, and what is granted now.
    with Desk.opened(clinic.folder) as desk:
        assert desk.ledger.total_reserved() == Fraction(3, 8)
        found = list(csv.DictReader(io.StringIO(as_csv(trail(desk)[::-1]))))
    months = {row["at"][:7] for row in found}
    assert {"2031-02", "2031-11", "2032-01"} <= months
    assert [row["outcome"] for row in found if row["kind"] == "ledger"] == [
        "accepted", "charged", "certified", "restored", "accepted", "charged", "certified", "accepted"
    ]  # fmt: skip
    (restored,) = [row for row in found if row["outcome"] == "restored"]
    assert restored["what"].endswith("rho 0.0625 was counted as spent since: certificate of the trial")
    assert not any("NOT SIGNED" in row["what"] for row in found)


def test_the_page_has_the_policy_of_the_test():
    assert QUOTAS.strip() in PAGE.read_text(encoding="utf-8")
