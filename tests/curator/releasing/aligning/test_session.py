"""Which alignment a plan uses: one that fits and that all parties hold, an unfinished one, or a new one."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.federation.card import PARTY, Card
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.parties.journal import Journal
from dpmosaic.curator.releasing.aligning.session import AlignmentSession
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from support.aligning import POLICY, Aligning, Died, described, watched
from support.edits import edited

PLAN = """
[release]
domain = "d.json"
rho = 0.5
[[slice]]
parties = ["party-0-0", "party-0-1"]
[alignment]
rho = 0.5
"""
BOTH = replace(POLICY, adjacencies=frozenset(Adjacency))


class Curator:
    """A curator that enrolled two parties, and its alignments by plans."""

    def __init__(self, folder):
        self.folder = folder
        self.parties = Aligning([[["a", "b", "c"], ["c", "a", "d"]]], BOTH)
        self.home = CuratorHome.create(folder / "curator", "curator")
        shown = self_signed("party", new_tls_key(), datetime.now(UTC))
        for institution in self.parties.institutions[0]:
            card = Card.issue(PARTY, institution.name, institution.identity, shown, institution.table.domain)
            self.home.enroll(card, "127.0.0.1:1")
        (folder / "d.json").write_text(json.dumps({"a0": 2, "a1": 2}))

    def plan(self, **changes):
        text = edited(PLAN, changes.get("replaced", {}))
        path = self.folder / "plan.toml"
        path.write_text(text + changes.get("more", ""))
        return AlignmentSession.of(self.home, ReleasePlan.load(path))

    def queries(self):
        return [queries for _, queries in self.parties.spent()]


@pytest.fixture
def curator(tmp_path):
    return Curator(tmp_path)


def test_an_alignment_fits_every_plan_that_compares_the_same_rows_in_the_same_way(curator):
    links = curator.parties.links
    assert curator.plan().find(links) is None
    made = curator.plan().make(links)
    for fitting in (
        {},
        {"more": 'population = "anywhere"'},
        {"replaced": {"rho = 0.5\n[[": 'epsilon = 1.0\ndelta = 1e-9\nworkload = "1way"\n[['}},
        {"replaced": {"[alignment]\nrho = 0.5": "[alignment]\nrho = 0.1"}},
    ):
        assert curator.plan(**fitting).find(links) == made
    for other in (
        {"more": 'match = [["key:digits"]]'},
        {"more": 'duplicates = "refuse"'},
        {"more": 'across_slices = "first"'},
        {"replaced": {"rho = 0.5\n[[": 'rho = 0.5\nadjacency = "replace-one"\n[['}},
    ):
        assert curator.plan(**other).find(links) is None


def test_the_latest_of_several_alignments_is_used(curator, monkeypatch):
    links, made = curator.parties.links, []
    for number in range(3):
        made.append(curator.plan().make(links))
        path = curator.home.folder / "alignments" / f"{made[-1].alignment_id}.json"
        path.write_text(path.read_text().replace(made[-1].created, f"203{number}-01-01T00:00:00+00:00"))
    assert curator.plan().find(links).alignment_id == made[-1].alignment_id


def test_an_alignment_that_one_party_does_not_hold_any_more_is_not_used(curator):
    curator.plan().make(curator.parties.links)
    people = [["a", "b", "another"], ["c", "a", "d"]]
    changed = Aligning([people], BOTH, ledgers=curator.parties.ledgers)
    assert [bool(said.alignments) for said in described(changed)[0]] == [False, True]
    assert curator.plan().find(changed.links) is None


def test_what_a_release_uses_is_what_parties_keep(curator):
    made = curator.plan().make(curator.parties.links)
    aligned = curator.plan().load(made.alignment_id).for_population(Population.ANYWHERE)
    (kept,) = curator.parties.placements(made.alignment_id)
    assert {placement.size for placement in kept} == set(aligned.sizes)
    assert {placement.people for placement in kept} == {aligned.alignment.people}
    assert {spent for spent, _ in curator.parties.spent()} == {aligned.alignment.zcdp_rho}


def test_an_unfinished_alignment_is_resumed_by_the_same_plan_only(curator):
    calls = []

    def dying(link):
        calls.append(link)
        if len(calls) == 25:
            raise Died

    with pytest.raises(Died):
        curator.plan().make(watched(curator.parties, dying))
    folder = curator.plan().unfinished_path
    assert folder is not None
    assert (
        curator.plan(replaced={"[alignment]\nrho = 0.5": "[alignment]\nrho = 0.25"}).unfinished_path is None
    )
    made = curator.plan().make(curator.parties.links)
    assert curator.queries() == [1, 1]
    assert curator.plan().unfinished_path is None
    assert curator.plan().find(curator.parties.links) == made


def test_a_curator_that_died_after_it_wrote_an_alignment_uses_it(curator, monkeypatch):
    def dying(journal):
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "finish", dying)
        with pytest.raises(Died):
            curator.plan().make(curator.parties.links)
    assert curator.plan().find(curator.parties.links) is not None
    assert curator.plan().unfinished_path is None


def test_a_refused_alignment_is_abandoned_and_the_next_one_is_new(curator):
    poor = Aligning(curator.parties.slices, replace(BOTH, lifetime_rho=Fraction(1, 4)))
    with pytest.raises(PolicyError, match="no party keeps a budget for it"):
        curator.plan().make(poor.links)
    assert curator.plan().unfinished_path is None
    assert curator.plan().make(curator.parties.links).people


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"replaced": {"[alignment]\nrho = 0.5\n": ""}}, r"expected the section \[alignment\]"),
        ({"more": "population = 'nowhere'"}, "expected everywhere or anywhere"),
        ({"more": "match = ['key']"}, "match 1 in .*expected a list of texts"),
        ({"more": "across_slices = 'first'\npopulation = 'anywhere'"}, "with across_slices"),
        (
            {"replaced": {"[alignment]\nrho = 0.5": "[alignment]\nrho = 0"}},
            "a number above 0, got 0",
        ),
        ({"replaced": {"rho = 0.5\n[[": "rho = 0.5\nrows_per_person = 2\n[["}}, "over aligned rows"),
        ({"replaced": {"rho = 0.5\n[[": "rho = 0.5\nprotocol = 'indicator'\n[["}}, "over aligned rows"),
        ({"more": "unknown = 1"}, r"unknown in \[alignment\]: unknown key"),
    ],
)
def test_a_plan_that_cannot_be_aligned_is_refused(curator, changes, refusal):
    with pytest.raises(DataError, match=refusal):
        curator.plan(**changes)


def test_unknown_match_keys_are_refused_before_a_party_is_asked_to_accept(curator):
    for more in ('match = [["key:upside-down"]]', 'keying = "none"', 'duplicates = "all"'):
        with pytest.raises(DataError):
            curator.plan(more=more).make(curator.parties.links)
    assert curator.parties.spent() == []
