"""What measurements tell of a record, beside noise that is drawn here."""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.results.evidence import Evidence, Known
from dpmosaic.synthesis.attacking.residuals import Residuals, least_mu
from support.parties import random_table

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4})
TABLE = random_table(DOMAIN, 40)
PAIRS, HALVES, ENDS = (0, 0, 1), (0, 0, 1, 1), (0, 1, 1, 2)
"""Groups of the codes of b, and two of those of c."""

SIGMAS = {
    View(clique, groups, interaction=True): sigma
    for clique, groups, sigma in (
        (("a",), (), 3.0),
        (("c",), (), 2.0),
        (("a", "b"), (), 5.0),
        (("b", "c"), (), 1.5),
        (("a", "b", "c"), (), 4.0),
        (("b", "c"), (PAIRS, ENDS), 1.2),
        (("a", "c"), ((), HALVES), 2.5),
    )
}
NO_GROUPS = {view: sigma for view, sigma in SIGMAS.items() if not view.groups}


def noisy(view, table, sigma, rng):
    cells = view.counted(table) + sigma * rng.standard_normal(view.cells(table.domain))
    return view.of_cells(cells, table.domain)


def residuals(rng, scale=1.0, sigmas=SIGMAS, table=TABLE):
    found = {view: Known(noisy(view, table, scale * sigma, rng), sigma) for view, sigma in sigmas.items()}
    known = {view.clique: one for view, one in found.items() if not view.groups}
    grouped = {view: one for view, one in found.items() if view.groups}
    return Residuals.of(Evidence(table.domain, float(table.record_count), known, grouped=grouped), table)


def contribution(codes, sigmas=SIGMAS):
    """What a record adds to all interactions, each over the deviation of its noise."""
    found = []
    for view, sigma in sigmas.items():
        cell = np.zeros(DOMAIN.shape(view.clique))
        cell[tuple(codes[DOMAIN.position(name)] for name in view.clique)] = 1.0
        groups = view.of_codes(cell.ravel(), DOMAIN)
        found.append(interaction(groups, view.shape(DOMAIN)) / sigma)
    return np.concatenate(found)


RECORDS = list(itertools.product(range(2), range(3), range(4)))


def test_the_mu_of_a_removed_record_is_the_norm_of_what_it_adds():
    mu, agree = residuals(np.random.default_rng(0)).mu(Adjacency.ADD_REMOVE)
    assert agree == ()
    for codes in RECORDS:
        assert np.linalg.norm(contribution(codes)) == pytest.approx(mu)


@pytest.mark.parametrize("sigmas", [SIGMAS, NO_GROUPS, {view: 1.0 for view in SIGMAS if view.groups}])
def test_the_worst_two_records_are_those_of_brute_force(sigmas):
    distances = [
        np.linalg.norm(contribution(one, sigmas) - contribution(other, sigmas))
        for one, other in itertools.combinations(RECORDS, 2)
    ]
    mu, _ = residuals(np.random.default_rng(0), sigmas=sigmas).mu(Adjacency.REPLACE_ONE)
    assert mu == pytest.approx(max(distances))


def errors_of(found):
    return np.concatenate([found.errors[view] / sigma for view, sigma in SIGMAS.items()])


def test_a_score_is_the_inner_product_of_contribution_and_errors():
    found = residuals(np.random.default_rng(1))
    scores = found.scores(tuple(np.array(RECORDS).T))
    assert scores == pytest.approx([contribution(codes) @ errors_of(found) for codes in RECORDS])


@pytest.mark.parametrize("name", DOMAIN.names)
def test_scores_and_gains_of_a_column_are_inner_products_of_records_with_each_of_its_values(name):
    """Up to what does not depend on the value: differences between values are compared."""
    found, place = residuals(np.random.default_rng(1)), DOMAIN.position(name)
    columns = tuple(np.array(RECORDS).T)
    each = np.array(
        [
            [contribution((*codes[:place], value, *codes[place + 1 :])) for value in range(DOMAIN[name].size)]
            for codes in RECORDS
        ]
    )
    own = np.array([contribution(codes) for codes in RECORDS])
    for got, expected in (
        (found.scores_by_value(name, columns), each @ errors_of(found)),
        (found.gains(name, columns[place]), np.einsum("nvd,nd->nv", each, own)),
    ):
        assert np.diff(got, axis=1) == pytest.approx(np.diff(expected, axis=1))


@pytest.mark.slow
def test_the_lower_bound_exceeds_mu_as_often_as_stated():
    """In more than 31 of 400 draws at .05 with probability 1e-2, in none with 1e-9."""
    rng = np.random.default_rng(2)
    mu, _ = residuals(rng).mu(Adjacency.ADD_REMOVE)
    above = sum(least_mu(residuals(rng), mu, 0.05) > mu for _ in range(400))
    assert 0 < above <= 31


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_bound_follows_the_noise_that_was_drawn(scale):
    wide = Domain.coded({"a": 60, "b": 50})
    pair = View(("a", "b"), interaction=True)
    found = residuals(np.random.default_rng(3), scale, {pair: 4.0}, random_table(wide, 100))
    mu, _ = found.mu(Adjacency.ADD_REMOVE)
    assert found.scale == pytest.approx(scale, rel=0.05)
    assert 0.9 * mu / scale < least_mu(found, mu, 0.01) < mu / scale


@pytest.mark.parametrize("view", [view for view in SIGMAS if view.clique == ("b", "c")])
def test_less_noise_in_one_measurement_of_many_is_found_and_named(view):
    found = residuals(np.random.default_rng(4))
    assert found.less_noise()[0] > 0.01
    exact = Residuals(DOMAIN, {**found.errors, view: np.zeros(view.cells(DOMAIN))}, found.sigmas)
    assert exact.less_noise() == (0.0, view.clique)


def test_rows_of_another_table_have_more_noise_than_stated():
    found = residuals(np.random.default_rng(5))
    assert found.more_noise() > 1e-3
    assert not math.isclose(found.scale, 2, rel_tol=0.2)
    assert residuals(np.random.default_rng(5), 3.0).more_noise() < 1e-9
