"""Alignments over parties in this process: positions, charges, resumption and malicious messages."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.errors import PolicyError, ProtocolError
from support.aligning import Aligning, align, described


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
    for row, placed in zip(parties.slices, parties.placements(made.alignment_id), strict=True):
        sizes = {placement.size for placement in placed}
        assert len(sizes) == 1
        where = [
            dict(zip(held, placement.positions.tolist(), strict=True))
            for held, placement in zip(row, placed, strict=True)
        ]
        for one, other in itertools.combinations(where, 2):
            for name in one.keys() & other.keys():
                assert one[name] == other[name]
            for name in one.keys() - other.keys():
                assert one[name] not in other.values()
        for found in where:
            assert len(set(found.values())) == len(found)
            assert set(found.values()) <= set(range(sizes.pop() if sizes else placed[0].size))


@pytest.mark.parametrize("parties", [two_parties, three_parties, two_slices])
def test_rows_of_one_person_get_one_position_and_others_get_others(parties, tmp_path):
    parties = parties()
    made = align(parties, tmp_path / "journal.sqlite")
    check_positions(parties, made)
    assert all(made.alignment_id in said.alignments for row in described(parties) for said in row)
    assert set(parties.spent()) == {(made.zcdp_rho, 1)}
    assert made.zcdp_rho <= Fraction(1, 2)
