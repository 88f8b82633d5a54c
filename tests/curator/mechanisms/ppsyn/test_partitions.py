import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.boxes import box_labels
from dpmosaic.curator.mechanisms.ppsyn.partition_choice import Partitioned, first_rise
from dpmosaic.curator.mechanisms.ppsyn.partitions import (
    Merging,
    Splitting,
    UniformSpread,
    WithinBoxDeviation,
    sequence_of,
)

SHAPES = [(1,), (7,), (4, 3), (5, 1), (3, 2, 4)]


def counts(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 20, shape).astype(float)


def masses(shape, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.full(n, 0.5)) + 1e-4 for n in shape]


def shares(shape, seed=0):
    return [mass / mass.sum() for mass in masses(shape, seed)]


ERRORS = {
    "spread": lambda shape: UniformSpread(counts(shape)),
    "within-box deviation": lambda shape: WithinBoxDeviation(shares(shape)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ERRORS)
def test_partitions_grow_by_one_box_that_one_cut_makes_and_cover_all_cells_once(shape, kind):
    error = ERRORS[kind](shape)
    sequence = sequence_of(shape, error)
    cells = math.prod(shape)
    assert sequence.largest() == cells
    assert sequence.error(cells + 1) is None
    assert sequence.error(cells) == pytest.approx(0, abs=1e-15)
    for count in range(1, cells + 1):
        boxes = sequence.boxes(count)
        assert len(boxes) == count
        assert set(box_labels(shape, boxes).tolist()) == set(range(count))
        assert sequence.error(count) == pytest.approx(sum(map(error.error, boxes)), abs=1e-9)
        if count > 1:
            earlier = sequence.boxes(count - 1)
            assert len(set(boxes) - set(earlier)) == 2
            assert len(set(earlier) - set(boxes)) == 1


def test_the_error_of_an_even_spread_is_that_of_definition_9():
    table = counts((4, 3))
    box = ((1, 4), (0, 2))
    inside = table[1:4, 0:2]
    assert UniformSpread(table).error(box) == pytest.approx(np.abs(inside - inside.sum() / 6).sum())


def test_a_box_hides_the_differences_of_records_in_it():
    """By enumeration of codes: of all codes that differ, those in the same interval."""
    first, second = shares((6, 5), 4)
    box = ((1, 4), (0, 2))
    roots = []
    for mass, (low, high) in zip((first, second), box, strict=True):
        pairs = itertools.product(range(len(mass)), repeat=2)
        differ = {(i, j): mass[i] * mass[j] for i, j in pairs if i != j}
        together = sum(p for (i, j), p in differ.items() if low <= i < high and low <= j < high)
        # Given that the first record lies in the interval, over the same for any record.
        held = mass[low:high].sum()
        roots.append(math.sqrt(together / held / sum(differ.values())))
    expected = first[1:4].sum() * second[:2].sum() * (1 - (1 - roots[0]) * (1 - roots[1]))
    assert WithinBoxDeviation([first, second]).error(box) == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(6,), (4, 3), (3, 2, 4)])
def test_one_box_hides_all_and_so_does_every_box_that_spans_an_attribute(shape):
    deviation = WithinBoxDeviation(shares(shape))
    assert deviation.error(tuple((0, n) for n in shape)) == pytest.approx(1)
    for axis in range(len(shape)):
        box = tuple((0, n) if k == axis else (0, 1) for k, n in enumerate(shape))
        mass = math.prod(float(s[0]) for k, s in enumerate(shares(shape)) if k != axis)
        assert deviation.error(box) == pytest.approx(mass)


@pytest.mark.parametrize("kind", ERRORS)
def test_the_best_cut_is_the_best_of_all(kind):
    shape = (8, 6)
    error = ERRORS[kind](shape)
    for box, axis in [(((0, 8), (0, 6)), 0), (((2, 7), (1, 4)), 0), (((2, 7), (1, 4)), 1)]:
        low, high = box[axis]
        gains = {}
        for at in range(low + 1, high):
            parts = [
                tuple(side if k == axis else s for k, s in enumerate(box)) for side in ((low, at), (at, high))
            ]
            if kind == "spread":
                gains[at] = error.error(box) - sum(map(error.error, parts))
            else:
                mass = shares(shape)
                left, right = (mass[axis][slice(*part[axis])].sum() for part in parts)
                other = mass[1 - axis][slice(*box[1 - axis])].sum()
                gains[at] = other * 2 * left * right / (1 - (mass[axis] ** 2).sum())
        gain, at = error.best_split(box, axis)
        assert gain == pytest.approx(max(gains.values()))
        assert gains[at] == pytest.approx(gain)


def test_merging_takes_the_neighbours_that_lose_least_each_time():
    """Algorithm 3 written out."""
    table = counts((9,), 3)
    error = UniformSpread(table)
    sequence = Merging(9, error)
    parts = [((i, i + 1),) for i in range(9)]
    for count in range(8, 0, -1):
        merged = [
            (*parts[:u], ((parts[u][0][0], parts[u + 1][0][1]),), *parts[u + 2 :])
            for u in range(len(parts) - 1)
        ]
        losses = [sum(map(error.error, some)) for some in merged]
        parts = list(merged[int(np.argmin(np.round(losses, 9)))])
        assert sequence.boxes(count) == tuple(parts)


def test_splitting_cuts_the_box_that_gains_most_along_each_axis_in_turn():
    """Algorithm 4 written out: every box and every cut along the axis whose turn it is."""
    table = counts((4, 5), 2)
    error = UniformSpread(table)
    sequence = Splitting((4, 5), error)
    for count in range(1, 20):
        before, after = set(sequence.boxes(count)), set(sequence.boxes(count + 1))
        turns = [(count - 1) % 2, count % 2]
        axis = next(a for a in turns if any(box[a][1] - box[a][0] > 1 for box in before))
        best = -math.inf
        for box in before:
            low, high = box[axis]
            for at in range(low + 1, high):
                sides = ((low, at), (at, high))
                parts = [tuple(s if k == axis else box[k] for k in range(2)) for s in sides]
                best = max(best, error.error(box) - sum(map(error.error, parts)))
        gained = sum(map(error.error, before)) - sum(map(error.error, after))
        assert gained == pytest.approx(best)


def partitioned(shape=(5, 4), **known):
    return Partitioned(sequence_of(shape, WithinBoxDeviation(shares(shape))), math.prod(shape), 1.0, **known)


@pytest.mark.parametrize("eta", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("boxes", [0, 5, 12])
def test_the_cheapest_partition_is_the_cheapest_of_all(eta, boxes):
    candidate = partitioned(boxes=boxes)
    before = candidate.sequence.error(boxes) if boxes else 1.0
    needs = {}
    for count in range(1, 21):
        hidden = candidate.sequence.error(count) / before
        if hidden < eta:
            needs[count] = count / (eta - hidden)
    count, root = candidate.cheapest(eta)
    assert root == pytest.approx(min(needs.values()))
    assert needs[count] == pytest.approx(root)
    assert count > boxes


def test_a_marginal_measured_in_single_cells_is_measured_in_single_cells_again():
    assert partitioned(boxes=20).cheapest(0.7) == (20, 20 / 0.7)


@pytest.mark.parametrize("noise", [0.01, 3.0, 40.0, 1e4])
def test_the_finest_worthwhile_partition_has_the_least_error(noise):
    candidate = partitioned(boxes=3, contribution=600.0)
    errors = [600.0 * candidate.sequence.error(count) + count * noise for count in range(1, 21)]
    assert errors[candidate.finest_worthwhile(noise) - 1] == pytest.approx(min(errors))


@pytest.mark.parametrize("merging", [False, True])
@pytest.mark.parametrize("contribution", [15.0, 60.0, 200.0])
def test_the_papers_budget_is_the_last_before_it_rises(merging, contribution):
    """Lines 4 to 14 of Algorithm 3, and 4 to 22 of Algorithm 4, written out."""
    shape = (12,) if merging else (4, 3)
    sequence = sequence_of(shape, UniformSpread(counts(shape, 5)))
    order = list(range(12, 0, -1)) if merging else list(range(1, 13))
    best = None
    for count in order:
        room = 0.7 * contribution - sequence.error(count)
        rho = count**2 / (math.pi * room**2) if room > 0 else math.inf
        if best is not None and rho > best[1]:
            break
        best = count, rho
    found = first_rise(sequence, contribution, 0.7, merging)
    assert (found.boxes, found.zcdp_rho) == pytest.approx(best)


def test_noise_at_the_required_budget_takes_what_the_partition_leaves_of_the_share():
    """Theorem 4: the expected error is eta times the contribution, for the paper's sigma at that budget."""
    table = counts((4, 3), 5)
    sequence = sequence_of((4, 3), UniformSpread(table))
    found = first_rise(sequence, 60.0, 0.7, False)
    sigma = math.sqrt(1 / (2 * found.zcdp_rho))
    expected = sequence.error(found.boxes) + found.boxes * sigma * math.sqrt(2 / math.pi)
    assert expected == pytest.approx(0.7 * 60)
