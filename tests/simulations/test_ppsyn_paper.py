"""PPSyn by the paper's text, which reads exact marginals: only in simulation, and labelled."""

import itertools
import math

import numpy as np
import pytest

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.curator.mechanisms.ppsyn.paper import ExactMarginal, spread
from dpmosaic.curator.mechanisms.ppsyn.partition_choice import first_rise
from dpmosaic.curator.mechanisms.ppsyn.partitions import UniformSpread, sequence_of
from dpmosaic.curator.mechanisms.ppsyn.ppsyn import PPSyn
from dpmosaic.simulations.simulate import simulate

pytestmark = pytest.mark.slow

DOMAIN = dpmosaic.Domain.coded({"a": 6, "b": 5, "c": 4})
BUDGET = dpmosaic.Budget(zcdp_rho=0.2)


def table(records=3000, seed=0):
    rng = np.random.default_rng(seed)
    first = np.minimum(rng.geometric(0.4, records), 6) - 1
    second = np.where(rng.random(records) < 0.7, first % 5, rng.integers(0, 5, records))
    return dpmosaic.Table.from_codes(DOMAIN, np.column_stack([first, second, rng.integers(0, 4, records)]))


def paper_run(real, budget=BUDGET, seed=3):
    return simulate(real, epsilon=budget, protocol="theorem", mechanism=PPSyn.of_the_paper(), seed=seed)


def test_labels_a_result_made_from_exact_marginals():
    result = paper_run(table())
    assert not result.certificate.differentially_private
    assert any("read exact marginals without noise" in label for label in result.certificate.labels)
    assert result.certificate.selected_by == "exact marginals, read without noise"


def test_does_not_label_a_mechanism_that_reads_no_exact_marginals():
    labels = simulate(table(), epsilon=BUDGET, protocol="theorem", mechanism="independent").certificate.labels
    assert labels
    assert not any("read exact" in label for label in labels)


@pytest.mark.parametrize("protocol", ["masked", "trusted", "indicator", "indicator-mle"])
def test_refuses_every_other_protocol(protocol):
    with pytest.raises(DataError, match="use the protocol 'theorem'"):
        simulate(table(), epsilon=BUDGET, protocol=protocol, mechanism=PPSyn.of_the_paper())


def test_spends_the_grant_like_algorithm_1():
    result = paper_run(table())
    steps = result.certificate.steps
    rounds = result.fitted.rounds
    assert len(rounds) > 1
    assert steps["select"] == pytest.approx(0.1 * 0.2 / 50 * len(rounds))
    assert steps["round"] == pytest.approx(sum(done.zcdp_rho for done in rounds))
    granted = result.certificate.promise.zcdp_rho_granted
    assert granted * 0.99 < result.certificate.promise.zcdp_rho_spent <= granted


def test_the_first_round_costs_as_in_algorithms_2_to_4():
    real = table()
    result = paper_run(real)
    done = result.fitted.rounds[0]
    marginal = real.marginal(done.clique).reshape(DOMAIN.shape(done.clique)).astype(float)
    sequence = sequence_of(marginal.shape, UniformSpread(marginal))
    ways = result.fitted.measurements[:3]
    clipped = {m.clique[0]: m.values for m in ways}
    model = np.outer(clipped[done.clique[0]], clipped[done.clique[1]]) / real.record_count
    contribution = np.abs(marginal - model).sum()
    rhos = [math.inf]
    for count in range(1, marginal.size + 1):
        room = 0.7 * contribution - sequence.error(count)
        rhos.append(count**2 / (math.pi * room**2) if room > 0 else math.inf)
        if rhos[-1] > rhos[-2]:
            break
    # The model is that of a fit, not the product of noisy counts.
    assert done.zcdp_rho == pytest.approx(min(rhos), rel=0.1)


def test_cells_of_an_interval_share_its_noisy_sum_equally():
    counts = np.array([4.0, 1.0, 9.0, 3.0, 0.0])
    found = spread(counts, np.array([0, 1, 0, 1, 1]), np.array([3.0, -1.0]))
    assert found.tolist() == [8.0, 1.0, 8.0, 1.0, 1.0]


def test_intervals_of_one_attribute_hold_codes_of_neighbouring_counts():
    """Line 1 of Algorithm 3: 2 and 3 lie apart, and their counts next to each other."""
    domain = dpmosaic.Domain.coded({"a": 5})
    marginal = ExactMarginal.of(domain, ("a",), np.array([50.0, 2.0, 20.0, 3.0, 51.0]))
    labels = marginal.labels(3)
    assert labels[1] == labels[3]
    assert labels[0] == labels[4]
    assert len({labels[0], labels[1], labels[2]}) == 3
    assert marginal.sequence.error(3) == pytest.approx(1 + 1)


def test_is_more_accurate_than_independence_for_dependent_attributes():
    real = table()
    pairs = list(itertools.combinations(DOMAIN.names, 2))
    alone = simulate(real, epsilon=BUDGET, protocol="theorem", mechanism="independent", seed=3)

    def off(found):
        return sum(np.abs(found.fitted.model.marginal(c) - real.marginal(c)).sum() for c in pairs)

    assert off(paper_run(real)) < 0.7 * off(alone)


def test_the_sensitivity_of_the_papers_score_grows_with_the_records():
    """By a record, over all neighbouring tables of 2 x 2 cells: no sensitivity bounds it."""

    def score(joint):
        counts = np.array(joint, dtype=float).reshape(2, 2)
        model = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        contribution = np.abs(counts - model).sum()
        sequence = sequence_of((2, 2), UniformSpread(counts))
        return contribution / first_rise(sequence, contribution, 0.7, False).zcdp_rho if contribution else 0.0

    largest = []
    for records in (4, 8, 16):
        change = 0.0
        for places in itertools.combinations_with_replacement(range(4), records):
            joint = np.bincount(places, minlength=4)
            change = max(
                [change, *(abs(score(joint) - score(joint - np.eye(4)[k])) for k in np.flatnonzero(joint))]
            )
        largest.append(change)
    assert largest[1] > 2 * largest[0]
    assert largest[2] > 2 * largest[1]
