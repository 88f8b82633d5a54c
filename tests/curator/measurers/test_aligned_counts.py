"""Releases over aligned parties count the people of the population, whoever holds what."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.view import View
from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.common.protocols.masked import products
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.curator.parties.client import PartyClient
from dpmosaic.curator.parties.federation import connect
from support.aligned import AlignedRelease, People
from support.aligning import POLICY, Aligning, align
from support.parties import dealers_for, masked_terms
from support.terms import id_of

pytestmark = pytest.mark.slow

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})
CLIQUES = [clique for size in (1, 2, 3) for clique in itertools.combinations(DOMAIN.names, size)]
GRIDS = [["abcd"], ["ac bd"], ["ab c d"], ["a b c d"], ["abc d", "abcd", "b ac d"]]
HUGE = [Fraction(10**7), Fraction(10**10)]
"""Budgets with so little noise that rounded counts are exact, in the rings of 32 and of 64 bits."""


def counts_of(release, cliques, granted, **options):
    measurer = release.measurer()
    rho = granted / (2 * len(cliques))
    found = measurer.measure([Query(View(clique, **options), rho, "test") for clique in cliques])
    return measurer, [one.values for one in found]


@pytest.mark.parametrize("grid", GRIDS, ids=" / ".join)
@pytest.mark.parametrize("granted", HUGE, ids=["32 bits", "64 bits"])
def test_everywhere_counts_the_people_whom_all_parties_of_their_slice_know(grid, granted):
    people = People(DOMAIN, grid)
    measurer, counts = counts_of(AlignedRelease(people, granted=granted), CLIQUES, granted)
    assert measurer._plan.ring.bits == (32 if granted is HUGE[0] else 64)
    for clique, found in zip(CLIQUES, counts, strict=True):
        assert np.rint(found).tolist() == people.everywhere(clique).tolist()


@pytest.mark.parametrize("grid", GRIDS, ids=" / ".join)
def test_anywhere_counts_all_people_and_whose_attributes_are_absent(grid):
    people = People(DOMAIN, grid)
    release = AlignedRelease(people, Population.ANYWHERE, HUGE[0])
    measurer, counts = counts_of(release, CLIQUES, HUGE[0])
    assert measurer.domain.sizes == tuple(n + 1 for n in DOMAIN.sizes)
    for clique, found in zip(CLIQUES, counts, strict=True):
        assert np.rint(found).tolist() == people.anywhere(clique).tolist()


@pytest.mark.parametrize("population", Population)
def test_interactions_are_those_of_the_counts(population):
    people = People(DOMAIN, GRIDS[-1])
    cliques = [("a", "b"), ("a", "d"), ("a", "b", "c")]
    release = AlignedRelease(people, population, HUGE[0])
    measurer, counts = counts_of(release, cliques, HUGE[0], interaction=True)
    exact = people.everywhere if population is Population.EVERYWHERE else people.anywhere
    for clique, found in zip(cliques, counts, strict=True):
        expected = interaction(exact(clique).astype(float), measurer.domain.shape(clique))
        np.testing.assert_allclose(found, expected, atol=0.1)


@pytest.mark.parametrize("population", Population)
def test_sums_over_boxes_are_those_of_the_counts(population):
    people = People(DOMAIN, ["ac bd", "abcd"])
    absent = int(population is Population.ANYWHERE)
    boxes = (((0, 1), (0, 2)), ((1, 3 + absent), (1, 2 + absent)))
    release = AlignedRelease(people, population, HUGE[0])
    _, (found,) = counts_of(release, [("a", "b")], HUGE[0], boxes=boxes)
    exact = people.everywhere if population is Population.EVERYWHERE else people.anywhere
    cells = exact(("a", "b")).reshape(3 + absent, 2 + absent)
    expected = [cells[tuple(slice(*side) for side in box)].sum() for box in boxes]
    assert np.rint(found).tolist() == expected


@pytest.mark.parametrize("population", Population)
@pytest.mark.parametrize("grid", [["abcd"], ["ac bd"], ["ab c d", "abcd"]], ids=" / ".join)
def test_scores_are_distances_of_the_counts_but_for_people_with_nothing(population, grid):
    people = People(DOMAIN, grid)
    release = AlignedRelease(people, population, HUGE[0])
    measurer = release.measurer()
    cliques = [("a",), ("a", "c"), ("a", "b"), ("b", "d")]
    rng = np.random.default_rng(3)
    references = [rng.integers(0, 20, measurer.domain.cells(clique)) for clique in cliques]
    scores = measurer.score([*map(View, cliques)], references, HUGE[0] / 2, "test")
    for clique, reference, score in zip(cliques, references, scores.values, strict=True):
        if population is Population.EVERYWHERE:
            expected = np.abs(people.everywhere(clique) - reference).sum()
        else:
            expected = np.abs(people.anywhere(clique) - reference)[:-1].sum()
        assert round(score) == expected


def test_the_number_of_records_of_a_release_is_the_noisy_one():
    people = People(DOMAIN, ["ac bd", "abcd"])
    everywhere = AlignedRelease(people).measurer()
    anywhere = AlignedRelease(people, Population.ANYWHERE).measurer()
    assert everywhere.record_count == people.people[0][2] + people.people[1][0]
    assert anywhere.record_count == sum(map(sum, people.people))
    assert everywhere._plan.record_count == sum(people.sizes)


def test_products_with_a_common_first_part_open_it_once(monkeypatch):
    people = People(DOMAIN, ["abc d"])
    release = AlignedRelease(people)
    measurer = release.measurer()
    opened, relay = [], PartyClient.relay

    def relayed(client, sender, request, recipient):
        if request.kind is DeliveryKind.OPENING:
            opened.append((sender, request.chain))
        relay(client, sender, request, recipient)

    monkeypatch.setattr(PartyClient, "relay", relayed)
    cliques = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"), ("a", "d")]
    measurer.measure([Query(View(clique), Fraction(1), "test") for clique in cliques])
    assert len(opened) == len(set(opened))
    # The presence of the other party times the smaller attribute, opened by that party.
    other = ("", "party-0-1")
    longer = {(sender, chain) for sender, chain in opened if len(chain) > 1}
    assert longer == {(1, (other, ("b",))), (1, (other, ("a",)))}


@pytest.mark.parametrize("keying", ["hmac", "ddh"])
def test_people_are_counted_at_the_positions_that_an_alignment_gave_their_rows(keying, tmp_path):
    """Rows that all hold code 0: counts are numbers of people whom both parties know, or one of them."""
    known = [[f"id-{i}" for i in range(0, 40)], [f"id-{i}" for i in range(25, 70)][::-1]]
    policy = replace(POLICY, max_release_rho=HUGE[0], lifetime_rho=2 * HUGE[0])
    parties = Aligning([known], policy)
    made = align(parties, tmp_path / "journal.sqlite", keying=keying)
    for population, expected in (
        (Population.EVERYWHERE, [15, 0, 0, 0]),
        (Population.ANYWHERE, [15, 0, 25, 0, 0, 0, 30, 0, 0]),
    ):
        dealers = dealers_for(parties.links, RandomStream.from_seed(1))
        aligned = made.for_population(population)
        federation = connect(parties.domain, parties.links, aligned=aligned, dealers=dealers)
        granted = HUGE[0] / 4
        terms = masked_terms(federation, granted, release_id=id_of(population.value[:4]))
        acceptances = federation.accept(terms)
        measurer = MaskedMeasurer(federation, terms, acceptances, granted)
        (found,) = measurer.measure([Query(View(("a0", "a1")), granted, "test")])
        assert np.rint(found.values).tolist() == expected
        assert measurer.record_count == sum(made.people[0]) or population is Population.EVERYWHERE


def test_a_mask_hides_one_matrix_only(monkeypatch):
    """Products are repeated from one batch of queries to the next, with other products beside them."""
    people = People(DOMAIN, ["ab c d", "ac bd"])
    measurer = AlignedRelease(people).measurer()
    hidden, opening = {}, products.opening

    def opened(matrix, mask):
        assert hidden.setdefault(mask.tobytes(), matrix.tobytes()) == matrix.tobytes()
        return opening(matrix, mask)

    monkeypatch.setattr(products, "opening", opened)
    for batch in ([("a", "b"), ("a", "c")], [("a", "b", "c"), ("a", "b"), ("b", "d")], CLIQUES):
        measurer.measure([Query(View(clique), Fraction(1), "test") for clique in batch])
    assert len(hidden) > 20


def test_a_party_that_restarts_finds_its_positions_again():
    people = People(DOMAIN, ["ab c d"])
    release = AlignedRelease(people)
    measurer = release.measurer(Asking(away_s=60.0, sleep=lambda seconds: None))
    for restarted, clique in enumerate([("a", "b"), ("a", "c"), ("b", "c", "d")]):
        release.links[0][restarted].restart()
        (found,) = measurer.measure([Query(View(clique), HUGE[0] / 9, "test")])
        assert np.rint(found.values).tolist() == people.everywhere(clique).tolist()
