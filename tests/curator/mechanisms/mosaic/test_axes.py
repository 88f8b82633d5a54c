"""Covariances along one attribute, and of the cells of several."""

import math

import numpy as np
import pytest

from dpmosaic.curator.mechanisms.mosaic.components import (
    Axis,
    along,
    expected_axis,
    expected_variances,
)
from dpmosaic.curator.mechanisms.mosaic.settings import SETTINGS

MARGIN = np.array([500.0, 20.0, 180.0, 0.0, 300.0])
SHARES = np.maximum(MARGIN, 1) / np.maximum(MARGIN, 1).sum()


def covariance(size, seed):
    factors = np.random.default_rng(seed).normal(size=(size, size))
    factors -= factors.mean(axis=0)
    return factors @ factors.T


@pytest.mark.parametrize("smooth", [0.0, 0.7, 1.0])
def test_no_interaction_varies_along_ones_and_the_trace_is_one(monkeypatch, smooth):
    monkeypatch.setitem(vars(SETTINGS), "smooth", smooth)
    found = expected_axis(MARGIN).covariance
    assert np.allclose(found.sum(axis=0), 0)
    assert np.allclose(found, found.T)
    assert np.trace(found) == pytest.approx(1)
    assert np.linalg.eigvalsh(found)[0] > -1e-12


def test_without_a_smooth_part_it_is_the_covariance_of_a_multinomial(monkeypatch):
    monkeypatch.setitem(vars(SETTINGS), "smooth", 0.0)
    multinomial = np.diag(SHARES) - np.outer(SHARES, SHARES)
    assert np.allclose(expected_axis(MARGIN).covariance, multinomial / np.trace(multinomial))


def test_the_smooth_part_correlates_neighbours_and_separates_the_ends(monkeypatch):
    monkeypatch.setitem(vars(SETTINGS), "smooth", 1.0)
    found = expected_axis(np.full(20, 50.0)).covariance
    deviations = np.sqrt(np.diag(found))
    correlations = found / np.outer(deviations, deviations)
    assert np.diag(correlations, 1).min() > 0.5
    assert correlations[0, -1] < -0.2


def test_the_eigenvectors_reproduce_the_covariance():
    found = Axis.of(covariance(6, 1))
    assert np.allclose(found.vectors @ np.diag(found.variances) @ found.vectors.T, found.covariance)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(5))


def test_a_binary_attribute_has_one_direction():
    found = expected_axis(np.array([900.0, 100.0]))
    assert np.abs(found.vectors[:, 0]).tolist() == pytest.approx([math.sqrt(0.5)] * 2)


def test_matrices_are_applied_along_their_own_axis():
    rng = np.random.default_rng(2)
    tensor, matrices = rng.normal(size=(2, 3, 4)), [rng.normal(size=(5, n)) for n in (2, 3, 4)]
    assert np.allclose(along(tensor, matrices), np.einsum("abc,xa,yb,zc->xyz", tensor, *matrices))


@pytest.mark.parametrize("sizes", [(3, 4), (2, 5, 3)])
def test_the_expected_l1_norm_of_such_cells_is_one(sizes):
    """Against the covariance of all cells: a normal cell has sqrt(2 / pi) times its deviation."""
    found = [Axis.of(covariance(size, seed)) for seed, size in enumerate(sizes)]
    variances = expected_variances(found)
    assert variances.shape == tuple(size - 1 for size in sizes)
    whole = np.ones((1, 1))
    for axis in found:
        whole = np.kron(whole, axis.vectors)
    cells = np.diag(whole @ np.diag(variances.ravel()) @ whole.T)
    assert math.sqrt(2 / math.pi) * np.sqrt(cells).sum() == pytest.approx(1)


def test_with_coupling_the_expected_l1_norm_is_one_and_variances_have_its_factors():
    found = [Axis.of(covariance(size, seed)) for seed, size in enumerate((9, 5))]
    coupling = np.random.default_rng(3).uniform(0.1, 3, (SETTINGS.ranks, SETTINGS.ranks))
    plain, variances = expected_variances(found), expected_variances(found, coupling)
    vectors = np.kron(found[0].vectors, found[1].vectors)
    cells = np.diag(vectors @ np.diag(variances.ravel()) @ vectors.T)
    assert math.sqrt(2 / math.pi) * np.sqrt(cells).sum() == pytest.approx(1)
    # Eigenvalues ascend, so the last coefficients have rank 0, and the first of nine the last rank.
    factors = variances / plain * (plain[-1, -1] / variances[-1, -1])
    assert factors[0, 0] == pytest.approx(coupling[SETTINGS.ranks - 1, 3] / coupling[0, 0])
    assert factors[-2, -3] == pytest.approx(coupling[1, 2] / coupling[0, 0])
