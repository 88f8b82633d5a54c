"""A release that leaves bins open: one release chooses them, another uses them, and both keep one promise."""

import contextlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import BudgetError, DataError, PolicyError
from dpmosaic.common.federation.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.labels import LabelSearch
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.verify import verify_certificate
from dpmosaic.curator.forecasting.forecast import forecast
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.abandoning import abandon_folder
from dpmosaic.curator.releasing.bins.session import BinsSession
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from dpmosaic.curator.releasing.session import Session
from dpmosaic.curator.results.table_format import TableFile
from dpmosaic.simulations.parties import network
from dpmosaic.simulations.parties.partition import Grid, partition
from support.verifiers import failed_checks

pytestmark = pytest.mark.slow

RECORDS, RHO = 3000, 2.0
DOMAIN = {
    "age": {"type": "numeric", "min": 0, "max": 120, "integer": True, "bins": "auto"},
    "kind": ["x", "y", "z"],
    "amount": {"type": "numeric", "min": 0, "max": 1e6, "bins": "auto", "atoms": [0], "nullable": True},
    "free": {"type": "numeric", "bins": "auto"},
    "job": {"type": "categorical", "categories": ["other"], "other": "other", "open": True},
}
LABELS_DELTA = 1e-10
PLAN = """
[release]
domain = "d.json"
rho = 2.0
delta = 1e-9
mechanism = "independent"
workload = "1way"
protocol = "{protocol}"
[bins]
share = 0.25
"""


class Died(Exception):
    """The curator's process ended."""


class World:
    """A curator and 2 x 2 parties in this process, which know each other."""

    def __init__(self, folder, monkeypatch, protocol="masked", **policy):
        self.folder = folder
        rng = np.random.default_rng(1)
        amounts = np.where(rng.random(RECORDS) < 0.5, 0, rng.exponential(2e4, RECORDS).clip(0, 1e6))
        self.columns = {
            "age": rng.normal(40, 12, RECORDS).round().clip(0, 120),
            "kind": rng.choice(["x", "y", "z"], RECORDS),
            "amount": np.where(rng.random(RECORDS) < 0.1, np.nan, amounts),
            "free": rng.normal(170, 10, RECORDS),
            "job": rng.permutation(np.repeat(["nurse", "clerk", "king of Spain"], [2000, 999, 1])),
        }
        domain = Domain.from_json(DOMAIN)
        self.table = encode_table(domain, self.columns)
        pieces = partition(self.table, Grid.parse("2x2", domain, RECORDS))
        keys = RandomStream.from_seed(7)
        stated = {"labels_delta": LABELS_DELTA}
        limits = replace(
            network.policy_for(protocol, PrivacyUnit(Adjacency.ZERO_OUT), RHO, **stated), **policy
        )
        self.links = network.start_parties(pieces, limits, keys)
        self.home = CuratorHome.create(folder / "curator", "curator")
        shown = self_signed("party", new_tls_key(), datetime.now(UTC))
        self.named = {f"party-{i}-{j}": self.links[i - 1][j - 1] for i in (1, 2) for j in (1, 2)}
        self.cards = []
        for name in self.named:
            held = pieces[int(name[6]) - 1][int(name[8]) - 1].domain
            card = Card.issue(PARTY, name, network._identity(name, keys), shown, held)
            self.cards.append(card)
            self.home.enroll(card, "127.0.0.1:1")
        (folder / "d.json").write_text(json.dumps(DOMAIN))
        slices = [
            '[[slice]]\nparties = ["party-1-1", "party-1-2"]',
            '[[slice]]\nparties = ["party-2-1", "party-2-2"]',
        ]
        (folder / "plan.toml").write_text("\n".join([PLAN.format(protocol=protocol), *slices]))
        monkeypatch.setattr(CuratorHome, "links", lambda *_: contextlib.nullcontext(self.watched()))
        self.dying = lambda name, method: None

    def watched(self):
        return {name: Watched(name, link, self) for name, link in self.named.items()}

    @property
    def plan(self):
        return ReleasePlan.load(self.folder / "plan.toml")

    def begin(self):
        return Session.begin(self.folder / "out", self.folder / "plan.toml", self.home, TableFile())

    def ledgers(self):
        return [link.servicer._party._ledger.summaries() for link in self.named.values()]

    def certificates(self):
        out = self.folder / "out"
        return [Certificate.load(path / "certificate.json") for path in (out / "bins", out)]


class Watched:
    """A connection on which the curator may die before a call."""

    def __init__(self, name, link, world):
        self.name, self.link, self.world = name, link, world

    def call(self, method, requests):
        self.world.dying(self.name, method)
        return self.link.call(method, requests)


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


@pytest.mark.parametrize("protocol", ["masked", "indicator"])
def test_two_releases_keep_one_promise_over_2_x_2_parties(tmp_path, monkeypatch, protocol):
    world = World(tmp_path, monkeypatch, protocol)
    released = world.begin().run()
    bins, main = world.certificates()
    assert bins.plan.mechanism["name"] == "bins"
    assert {charge.clique for charge in bins.charges} == {("age",), ("amount",), ("free",), ("job",)}
    assert main.plan.bins.certificate == bins.digest().hex()
    assert main.plan.bins.zcdp_rho == bins.promise.zcdp_rho_granted == RHO / 4
    assert main.promise.zcdp_rho_granted == RHO * 3 / 4
    assert main.promise.zcdp_rho_with_bins <= RHO
    for releases in world.ledgers():
        assert [release.state for release in releases] == ["certified", "certified"]
        assert sum(release.spent for release in releases) <= Fraction(RHO)
        assert releases[0].spent > 0.99 * RHO / 4
    chosen = Domain.load(tmp_path / "out/bins/domain.json")
    assert not chosen.open
    assert released.synthetic.domain == chosen
    assert list(main.plan.attributes.items()) == [(name, chosen[name].size) for name in chosen]
    assert main.plan.domain_digest == chosen.digest()


def test_released_numbers_are_where_the_real_ones_are(world):
    synthetic = world.begin().run().synthetic
    real = encode_table(synthetic.domain, world.columns)
    for name in synthetic.domain:
        shares = [table.marginal((name,)) / table.record_count for table in (real, synthetic)]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.05, name
    free = synthetic.domain["free"]
    assert 50 < free.minimum < 150
    assert 190 < free.maximum < 300


def test_both_certificates_verify(world):
    world.begin().run()
    curator = Card.issue(CURATOR, "curator", world.home.keyring.identity, world.home.keyring.certificate)
    listed = FederationList(curator, tuple(world.cards))
    out = world.folder / "out"
    for certificate, folder in zip(world.certificates(), (out / "bins", out), strict=True):
        assert failed_checks(certificate, listed, folder) == set()
    found = {line.what for line in verify_certificate(certificate, listed, folder)}
    assert found >= {"bins", "bins/certificate.json"}
    lines = {line.what: line.finding for line in verify_certificate(certificate, listed)}
    assert "at delta 1e-09, of which labels take 1e-10" in lines["promise"]
    main = world.certificates()[1]
    cheaper = replace(main.plan.bins, zcdp_rho=0.1)
    forged = replace(main, plan=replace(main.plan, bins=cheaper))
    assert {"bins", "recomputed"} <= failed_checks(forged, listed)


@pytest.mark.parametrize("at", range(3, 60, 4))
def test_a_curator_that_dies_anywhere_resumes_and_is_charged_once(world, at):
    calls = []

    def dying(name, method):
        calls.append(method)
        if len(calls) == at:
            raise Died

    world.dying = dying
    session = world.begin()
    with contextlib.suppress(Died):
        session.run()
    session.journal.close()
    world.dying = lambda name, method: None
    if not (world.folder / "out/certificate.json").exists():
        Session.resume(world.folder / "out").run()
    bins, main = world.certificates()
    assert main.plan.bins.certificate == bins.digest().hex()
    for releases in world.ledgers():
        assert [release.state for release in releases] == ["certified", "certified"]
        assert sum(release.spent for release in releases) <= Fraction(RHO)


@pytest.mark.parametrize("last", [False, True])
def test_a_curator_that_dies_between_the_two_releases_asks_nothing_of_the_first_again(
    world, monkeypatch, last
):
    finish = Journal.finish

    def dying(journal):
        if last:
            finish(journal)
        raise Died

    session = world.begin()
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "finish", dying)
        with pytest.raises(Died):
            session.run()
    session.journal.close()
    first = (world.folder / "out/bins/certificate.json").read_bytes()
    released = Session.resume(world.folder / "out").run()
    assert (world.folder / "out/bins/certificate.json").read_bytes() == first
    assert [len(releases) for releases in world.ledgers()] == [2, 2, 2, 2]
    assert released.synthetic.domain == Domain.load(world.folder / "out/bins/domain.json")
    with pytest.raises(DataError, match="is finished"):
        Journal(world.folder / "out.private/bins/journal.sqlite")


@pytest.mark.parametrize("at", ["bins", "main"])
def test_abandoning_ends_both_releases(world, at):
    accepted = []

    def dying(name, method):
        accepted.extend([name] * (method == "Accept"))
        if len(accepted) > (5 if at == "bins" else 9):
            raise Died

    world.dying = dying
    session = world.begin()
    with pytest.raises(Died):
        session.run()
    session.journal.close()
    world.dying = lambda name, method: None
    assert abandon_folder(world.folder / "out") == {}
    for releases in world.ledgers():
        assert all(release.state != "open" for release in releases)
    with pytest.raises(DataError, match="abandoned"):
        Session.resume(world.folder / "out")


@pytest.mark.parametrize("protocol", ["masked", "indicator"])
def test_frequent_texts_are_released_and_that_of_one_person_is_in_no_file(tmp_path, monkeypatch, protocol):
    world = World(tmp_path, monkeypatch, protocol)
    released = world.begin().run()
    assert released.synthetic.domain["job"].categories == ("other", "clerk", "nurse")
    bins, main = world.certificates()
    assert (bins.plan.labels.attributes, bins.plan.labels.delta) == (("job",), LABELS_DELTA)
    assert main.plan.bins.labels_delta == LABELS_DELTA
    assert {charge.kind for charge in bins.charges} == {"labels", "marginal"}
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(b"nurse" in path.read_bytes() for path in files)
    assert not any(b"Spain" in path.read_bytes() for path in files)


@pytest.mark.parametrize("labels", [{"labels": None}, {"labels": LabelSearch(("job",), 0.9e-10)}])
def test_a_certificate_that_states_less_for_its_labels_does_not_verify(world, labels):
    world.begin().run()
    curator = Card.issue(CURATOR, "curator", world.home.keyring.identity, world.home.keyring.certificate)
    listed = FederationList(curator, tuple(world.cards))
    bins, main = world.certificates()
    forged = replace(bins, plan=replace(bins.plan, **labels))
    assert "purpose" in failed_checks(forged, listed)
    fewer = replace(main.plan.bins, labels_delta=0.9e-10)
    forged = replace(main, plan=replace(main.plan, bins=fewer))
    assert "bins" in failed_checks(forged, listed)


def test_open_categories_in_a_plan_without_delta_are_refused_before_parties_are_asked(world):
    path = world.folder / "plan.toml"
    path.write_text(path.read_text().replace("delta = 1e-9\n", ""))
    with pytest.raises(BudgetError, match="labels of the open categories job, got none"):
        world.begin().run()
    assert world.ledgers() == [[]] * 4


def test_parties_that_state_no_labels_are_charged_nothing(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, max_labels_delta=0.0)
    with pytest.raises(PolicyError, match="the policy states none"):
        world.begin().run()
    assert all(release.spent == 0 for releases in world.ledgers() for release in releases)


def state_another_choice(monkeypatch, **changes):
    """Has curators state another choice than they made."""
    original = BinsSession.choose

    def another(self, *args):
        choice = original(self, *args)
        return replace(choice, chosen=replace(choice.chosen, **changes))

    monkeypatch.setattr(BinsSession, "choose", another)


def test_a_party_refuses_labels_at_a_smaller_delta_than_they_were_found_with(world, monkeypatch):
    state_another_choice(monkeypatch, labels_delta=0.9e-10)
    with pytest.raises(Exception, match="ledger does not have it at that cost"):
        world.begin().run()


def test_a_refusal_of_the_choice_abandons_the_release(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, lifetime_rho=Fraction(1, 10))
    session = world.begin()
    with pytest.raises(PolicyError, match="The release is abandoned"):
        session.run()
    assert session.journal.abandoned


def test_a_party_refuses_codes_whose_choice_it_did_not_take_part_in(world, monkeypatch):
    state_another_choice(monkeypatch, release_id="0" * 32)
    with pytest.raises(Exception, match="ledger does not have it"):
        world.begin().run()


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        ("[bins]\nshare = 0.25\n", "", "leaves the bins of age, amount, free, job open"),
        ("share = 0.25", "share = 1.5", "share in .*a number above 0 and below 1, got 1.5"),
        ("share = 0.25", "shares = 0.25", "unknown key"),
    ],
)
def test_a_plan_that_does_not_say_how_bins_are_chosen_is_refused(world, old, new, refusal):
    path = world.folder / "plan.toml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DataError, match=refusal):
        world.begin()


def test_a_plan_with_nothing_to_choose_is_refused(world):
    (world.folder / "d.json").write_text('{"x": 2}')
    with pytest.raises(DataError, match="nothing to choose"):
        world.begin()


def test_a_forecast_has_the_planned_bins_and_the_cost_of_choosing(world):
    said = forecast(world.plan, world.links, 10.0)
    assert said.bins_rho == RHO / 4
    assert float(said.granted) == RHO * 3 / 4
    assert all(3 <= marginal.cells <= 120 for marginal in said.outlook.marginals)
    assert world.ledgers() == [[]] * 4
