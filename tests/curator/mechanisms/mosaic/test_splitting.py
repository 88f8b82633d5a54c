"""The budget split over the workload's interactions and larger ones, by predicted errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import freedom
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.curator.mechanisms.mosaic.budget_split import Splitting

RECORDS, TOTAL = 4000, Fraction(1, 200)
E = math.sqrt(2 / math.pi)
NOISE_LEFT = 0.7
"""Of the variance of an interaction, after all marginals are fitted together."""


def table(seed=0):
    """Six attributes of three codes that mostly follow a hidden one."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, RECORDS)
    columns = [np.where(rng.random(RECORDS) < 0.5, hidden, rng.integers(0, 3, RECORDS)) for _ in range(6)]
    return Table.from_codes(Domain.coded(dict.fromkeys("abcdef", 3)), np.column_stack(columns))


def predicted(known, cliques, parts):
    """The error of all pairs, cell by cell, if the parts of the budget measure them once more."""
    errors = {}
    for clique, part in zip(cliques, parts, strict=True):
        shape, one_way = known.domain.shape(clique), len(clique) == 1
        cells = math.prod(shape)
        price = (1.0 if one_way else NOISE_LEFT) * freedom(shape) / 2
        before = known.precision(clique) if one_way else 1 / known.average_of(clique).variance
        tau = np.full(cells, float(RECORDS)) if one_way else known.effect(clique).deviations(RECORDS)
        errors[clique] = E * np.sum(tau / np.sqrt(1 + tau**2 * (before + part / price)))
    pairs = [clique for clique in cliques if len(clique) == 2]
    return sum(math.hypot(errors[a, b], errors[(a,)], errors[(b,)]) for a, b in pairs)


@pytest.fixture
def prepared(facts, measured, scored_triples):
    """A split problem with triples of these distances from the model."""

    def prepare(distances):
        known = measured(table(), 40.0)
        scored_triples(known, table(seed=1), distances, 20.0)
        given = facts(known.domain, RECORDS, TOTAL)
        workload = Workload.all_kway(known.domain, 2)
        return Splitting(given, known, workload), known

    return prepare


def of_workload(known):
    return [*((name,) for name in known.domain.names), *known.chosen]


def risen(known, parts, alone):
    cliques = of_workload(known)
    before, after = (predicted(known, cliques, of[: len(cliques)]) for of in (alone, parts))
    return after / before - 1


@pytest.mark.parametrize("count", [1, 3, 10, 20])
def test_larger_interactions_raise_the_workload_s_predicted_error_by_little(count, prepared):
    """By one in a hundred, or by a fortieth of the expected L1 sampling error of all pairs: of nine cells."""
    more = list(itertools.islice(itertools.combinations("abcdef", 3), count))
    splitting, known = prepared(dict.fromkeys(more, 700.0))
    alone, some = splitting.split(of_workload(known), float(TOTAL))
    parts, tolerated = splitting.split(of_workload(known), float(TOTAL), more)
    assert not some
    assert parts.sum() == pytest.approx(float(TOTAL))
    assert parts.min() >= 0
    cliques = of_workload(known)
    sampling = math.comb(6, 2) * E * math.sqrt(RECORDS * 9)
    tolerated_share = max(0.01, sampling / 40 / predicted(known, cliques, alone))
    # The split sorts cells into a few classes of deviations, the prediction here does not.
    assert risen(known, parts, alone) <= tolerated_share + 0.002
    assert tolerated == bool(parts[-count:].any())


def test_an_interaction_of_most_records_may_cost_more(prepared):
    more = [("a", "b", "c")]
    splitting, known = prepared({more[0]: 0.9 * RECORDS})
    alone, _ = splitting.split(of_workload(known), float(TOTAL))
    parts, tolerated = splitting.split(of_workload(known), float(TOTAL), more)
    assert tolerated
    share = known.size(more[0]) / RECORDS
    assert share > 0.5
    assert risen(known, parts, alone) <= 0.15 * (share - 0.25) + 0.002
    splitting, known = prepared({more[0]: 0.1 * RECORDS})
    assert splitting.split(of_workload(known), float(TOTAL), more)[0][-1] < parts[-1]


def test_without_larger_interactions_none_has_a_part(prepared):
    splitting, known = prepared({})
    parts, some = splitting.split(of_workload(known), float(TOTAL))
    assert not some
    assert len(parts) == len(of_workload(known))
    assert parts.sum() == pytest.approx(float(TOTAL))


def test_the_gain_of_a_larger_interaction_rises_with_its_distance(prepared):
    more = [("a", "b", "c"), ("b", "c", "d"), ("d", "e", "f")]
    splitting, known = prepared(dict(zip(more, (200.0, 700.0, 2000.0), strict=True)))
    gains = splitting.gains(of_workload(known), float(TOTAL), more)
    assert len(gains) == len(of_workload(known)) + 3
    assert gains[-3] < gains[-2] < gains[-1]
