"""Releases over aligned parties count the people of the population, whoever holds what."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.protocols.alignment.alignment import Population
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.client import PartyClient
from support.aligned import AlignedRelease, People

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})
CLIQUES = [clique for size in (1, 2, 3) for clique in itertools.combinations(DOMAIN.names, size)]
GRIDS = [["abcd"], ["ac bd"], ["ab c d"], ["a b c d"], ["abc d", "abcd", "b ac d"]]
HUGE = [Fraction(10**7), Fraction(10**10)]
"""Budgets with so little noise that rounded counts are exact, in the rings of 32 and of 64 bits."""


def counts_of(release, cliques, granted, **options):
    measurer = release.measurer()
    rho = granted / (2 * len(cliques))
    found = measurer.measure([Query(clique, rho, "test", **options) for clique in cliques])
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
    scores = measurer.score(cliques, references, HUGE[0] / 2, "test")
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

    def relayed(client, request, delivery, recipient):
        opened.append((delivery.sender, request.chain))
        relay(client, request, delivery, recipient)

    monkeypatch.setattr(PartyClient, "relay", relayed)
    cliques = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"), ("a", "d")]
    measurer.measure([Query(clique, Fraction(1), "test") for clique in cliques])
    assert len(opened) == len(set(opened))
    # The presence of the other party times the smaller attribute, opened by that party.
    other = ("", "party-0-1")
    longer = {(sender, chain) for sender, chain in opened if len(chain) > 1}
    assert longer == {(1, (other, ("b",))), (1, (other, ("a",)))}
