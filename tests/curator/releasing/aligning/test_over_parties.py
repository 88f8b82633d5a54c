"""Alignments over parties in this process: positions, charges, and every step at which a role can die."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.errors import PolicyError
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.parties import asking
from support.aligning import POLICY, Aligning, Died, align, described, watched

pytestmark = pytest.mark.slow


def people(numbers, seed):
    """These people in a random order."""
    order = np.random.default_rng(seed).permutation(list(numbers))
    return [f"id-{number}" for number in order]


def two_parties():
    return Aligning([[people(range(0, 40), 1), people(range(20, 70), 2)]])


def three_parties():
    return Aligning([[people(range(0, 30), 1), people(range(10, 50), 2), people(range(20, 60), 3)]])


def two_slices():
    return Aligning(
        [
            [people(range(0, 30), 1), people(range(10, 40), 2)],
            [people(range(100, 130), 3), people(range(90, 110), 4)],
        ]
    )


def check_positions(parties, made):
    """Rows of a slice have one position exactly if they are of one person."""
    placed = parties.placements(made.alignment_id)
    for row, placements, size in zip(parties.slices, placed, made.sizes, strict=True):
        where = {}
        for held, placement in zip(row, placements, strict=True):
            assert (placement.size, placement.people) == (size, made.people)
            for name, position in zip(held, placement.positions.tolist(), strict=True):
                assert where.setdefault(name, position) == position
        assert len(set(where.values())) == len(where)
        assert set(where.values()) <= set(range(size))


@pytest.fixture(params=["hmac", "ddh"])
def keying(request):
    if request.param == "ddh":
        pytest.importorskip("nacl")
    return request.param


@pytest.mark.parametrize("parties", [two_parties, three_parties, two_slices])
def test_rows_of_one_person_get_one_position_and_others_get_others(parties, keying, tmp_path):
    parties = parties()
    made = align(parties, tmp_path / "journal.sqlite", keying=keying)
    check_positions(parties, made)
    assert all(made.alignment_id in said.alignments for row in described(parties) for said in row)
    assert set(parties.spent()) == {(made.zcdp_rho, 1)}
    assert made.zcdp_rho <= Fraction(1, 2)


@pytest.fixture
def without_pauses(monkeypatch):
    monkeypatch.setattr(asking, "_PAUSE_S", 0.0)


def few_people():
    return Aligning([[["a", "b", "c"], ["c", "a"]]])


def moments(path, keying):
    """Times before and after a call during an alignment; with points, which take longer, every fifth."""
    parties, told = few_people(), []
    align(parties, path, watched(parties, told.append), keying=keying)
    return range(0, len(told), 5 if keying == "ddh" else 1)


def test_a_party_that_restarts_at_any_step_charges_once_and_gets_the_same_positions(
    tmp_path, without_pauses, keying
):
    for number in moments(tmp_path / "count.sqlite", keying):
        parties, told = few_people(), []

        def restarting(link, told=told, number=number):
            told.append(link)
            if len(told) == number + 1:
                link.restart()

        made = align(
            parties, tmp_path / f"{number}.sqlite", watched(parties, restarting), away_s=5.0, keying=keying
        )
        check_positions(parties, made)
        assert set(parties.spent()) == {(made.zcdp_rho, 1)}


def test_a_curator_that_dies_at_any_step_resumes_the_same_alignment(tmp_path, keying):
    for number in moments(tmp_path / "count.sqlite", keying):
        parties, told, path = few_people(), [], tmp_path / f"{number}.sqlite"

        def dying(link, told=told, number=number):
            told.append(link)
            if len(told) == number + 1:
                raise Died

        with pytest.raises(Died):
            align(parties, path, watched(parties, dying), keying=keying)
        made = align(parties, path, keying=keying)
        check_positions(parties, made)
        assert set(parties.spent()) == {(made.zcdp_rho, 1)}
        assert align(parties, path, keying=keying) == made


def test_other_rows_or_other_identifiers_have_no_alignment(tmp_path):
    parties = two_parties()
    align(parties, tmp_path / "journal.sqlite")
    parties.slices[0][0][0] = "another person"
    said = described(Aligning(parties.slices, ledgers=parties.ledgers))
    assert not said[0][0].alignments
    assert said[0][1].alignments


@pytest.mark.parametrize(
    ("policy", "section", "refusal"),
    [
        ({"max_alignment_rho": Fraction(0)}, {}, "set max_alignment_rho"),
        ({"max_alignment_rho": Fraction(1, 4)}, {}, "more than max_alignment_rho"),
        ({"lifetime_rho": Fraction(1, 4)}, {}, "left of lifetime_rho"),
        ({"min_records": 45}, {}, "fewer records"),
        ({}, {"match": [["key:exact"], ["key:digits"]]}, "more match keys than max_match_keys"),
        ({}, {"match": [["born:date"]]}, "'born', which this party does not have"),
    ],
)
def test_a_party_refuses_an_alignment_that_its_policy_does_not_allow(tmp_path, policy, section, refusal):
    parties = Aligning(two_parties().slices, replace(POLICY, **policy))
    with pytest.raises(PolicyError, match=refusal):
        align(parties, tmp_path / "journal.sqlite", **section)
    assert all(spent == 0 for spent, _ in parties.spent())


def test_rows_without_an_identifier_and_repeated_ones_are_placed_alone_or_not_at_all(tmp_path):
    parties = Aligning([[["a", "", "a", "b", ""], ["b", "", "c"]]])
    made = align(parties, tmp_path / "journal.sqlite")
    ((first, second),) = parties.placements(made.alignment_id)
    assert first.positions[2] == -1
    assert first.positions[3] == second.positions[0]
    alone = [*first.positions[[0, 1, 4]], *second.positions[[1, 2]]]
    assert len({*alone, first.positions[3]}) == 6


def test_an_alignment_under_a_stricter_adjacency_has_more_noise_at_the_same_cost(tmp_path):
    loose, strict = (
        align(
            Aligning(two_parties().slices, replace(POLICY, adjacencies=frozenset({adjacency}))),
            tmp_path / f"{adjacency.value}.sqlite",
            adjacency=adjacency,
        )
        for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE)
    )
    assert strict.sigma == pytest.approx(loose.sigma * 2**0.5)
    assert strict.zcdp_rho == pytest.approx(loose.zcdp_rho)


def test_across_slices_a_person_is_complete_only_in_the_first_slice_that_has_the_person(keying, tmp_path):
    slices = [
        [people(range(0, 20), 1), people(range(5, 25), 2)],
        [people(range(10, 40), 3), people(range(10, 35), 4)],
    ]
    parties = Aligning(slices)
    made = align(parties, tmp_path / "journal.sqlite", across_slices="first", keying=keying)
    complete = []
    for row, placements in zip(slices, parties.placements(made.alignment_id), strict=True):
        pairs = [
            dict(zip(placement.positions.tolist(), held, strict=True))
            for held, placement in zip(row, placements, strict=True)
        ]
        shared = pairs[0].keys() & pairs[1].keys()
        assert all(pairs[0][position] == pairs[1][position] for position in shared)
        complete.append({pairs[0][position] for position in shared})
    assert complete == [
        {f"id-{number}" for number in range(5, 20)},
        {f"id-{number}" for number in range(20, 35)},
    ]
