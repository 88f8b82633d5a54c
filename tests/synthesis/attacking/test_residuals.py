"""What measurements tell of a record, beside noise that is drawn here."""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.results.evidence import Evidence, Known
from dpmosaic.synthesis.attacking.residuals import Residuals, least_mu
from support.parties import random_table

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4})
TABLE = random_table(DOMAIN, 40)
SIGMAS = {("a",): 3.0, ("c",): 2.0, ("a", "b"): 5.0, ("b", "c"): 1.5, ("a", "b", "c"): 4.0}


def residuals(rng, scale=1.0, sigmas=SIGMAS, domain=DOMAIN, table=TABLE):
    known = {}
    for clique, sigma in sigmas.items():
        noise = scale * sigma * rng.standard_normal(domain.cells(clique))
        known[clique] = Known(interaction(table.marginal(clique) + noise, domain.shape(clique)), sigma)
    return Residuals.of(Evidence(domain, float(table.record_count), known), table)


def contribution(codes):
    """What a record adds to all interactions, each over the deviation of its noise."""
    found = []
    for clique, sigma in SIGMAS.items():
        shape = DOMAIN.shape(clique)
        cell = np.zeros(shape)
        cell[tuple(codes[DOMAIN.position(name)] for name in clique)] = 1.0
        found.append(interaction(cell.ravel(), shape) / sigma)
    return np.concatenate(found)


RECORDS = list(itertools.product(range(2), range(3), range(4)))


def test_the_mu_of_a_removed_record_is_the_norm_of_what_it_adds():
    mu, agree = residuals(np.random.default_rng(0)).mu(Adjacency.ADD_REMOVE)
    assert agree == ()
    for codes in RECORDS:
        assert np.linalg.norm(contribution(codes)) == pytest.approx(mu)


def test_the_worst_two_records_are_those_of_brute_force():
    distances = [
        np.linalg.norm(contribution(one) - contribution(other))
        for one, other in itertools.combinations(RECORDS, 2)
    ]
    mu, _ = residuals(np.random.default_rng(0)).mu(Adjacency.REPLACE_ONE)
    assert mu == pytest.approx(max(distances))


def test_a_score_is_the_inner_product_of_contribution_and_errors():
    found = residuals(np.random.default_rng(1))
    errors = np.concatenate([found.errors[clique] / sigma for clique, sigma in SIGMAS.items()])
    scores = found.scores(tuple(np.array(RECORDS).T))
    assert scores == pytest.approx([contribution(codes) @ errors for codes in RECORDS])


def test_the_weight_of_a_column_is_what_a_value_adds_over_another():
    for place, name in enumerate(DOMAIN.names):
        truth = (1, 2, 3)
        other = tuple(0 if at == place else code for at, code in enumerate(truth))
        gained = contribution(truth) @ (contribution(truth) - contribution(other))
        assert residuals(np.random.default_rng(0)).weight(name) == pytest.approx(gained)


def test_the_lower_bound_exceeds_mu_as_often_as_stated():
    """In more than 31 of 400 draws at .05 with probability 1e-2, in none with 1e-9."""
    rng = np.random.default_rng(2)
    mu, _ = residuals(rng).mu(Adjacency.ADD_REMOVE)
    above = sum(least_mu(residuals(rng), mu, 0.05) > mu for _ in range(400))
    assert 0 < above <= 31


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_bound_follows_the_noise_that_was_drawn(scale):
    wide = Domain.coded({"a": 60, "b": 50})
    found = residuals(np.random.default_rng(3), scale, {("a", "b"): 4.0}, wide, random_table(wide, 100))
    mu, _ = found.mu(Adjacency.ADD_REMOVE)
    assert found.scale == pytest.approx(scale, rel=0.05)
    assert 0.9 * mu / scale < least_mu(found, mu, 0.01) < mu / scale


def test_less_noise_in_one_measurement_of_many_is_found_and_named():
    found = residuals(np.random.default_rng(4))
    assert found.less_noise()[0] > 0.01
    exact = Residuals(DOMAIN, {**found.errors, ("b", "c"): np.zeros(12)}, found.sigmas)
    chance, worst = exact.less_noise()
    assert (chance, worst) == (0.0, ("b", "c"))


def test_rows_of_another_table_have_more_noise_than_stated():
    found = residuals(np.random.default_rng(5))
    assert found.more_noise() > 1e-3
    assert not math.isclose(found.scale, 2, rel_tol=0.2)
    assert residuals(np.random.default_rng(5), 3.0).more_noise() < 1e-9
