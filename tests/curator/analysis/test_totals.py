"""Sums over the real table: exact where noise is none, unbiased with the stated variance where it is."""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CodedAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import freedom, interaction
from dpmosaic.common.data.table import Table
from dpmosaic.curator.analysis import totals as module
from dpmosaic.curator.analysis.totals import LEAST_KAPPA, Support, kappa_of, totals
from dpmosaic.curator.results.evidence import Evidence, Known

DOMAIN = Domain((CodedAttribute("a", 3), CodedAttribute("b", 4), CodedAttribute("c", 2)))
EVERY = np.array(list(itertools.product(*map(range, DOMAIN.sizes))))
PAIRS = tuple(itertools.combinations(DOMAIN.names, 2))
ALL = (*((name,) for name in DOMAIN), *PAIRS)


def joint(seed, records=5000):
    """A random joint distribution, in records, shape (24,)."""
    shares = np.random.default_rng(seed).gamma(1.0, size=len(EVERY))
    return records * shares / shares.sum()


def near(cells):
    """A distribution with relative errors of about 5 %."""
    other = cells * (1 + 0.05 * np.random.default_rng(5).standard_normal(len(cells)))
    return other * (cells.sum() / other.sum())


def marginal(cells, clique):
    kept = [DOMAIN.names.index(name) for name in clique]
    others = tuple(axis for axis in range(3) if axis not in kept)
    return cells.reshape(DOMAIN.sizes).sum(axis=others).ravel()


def evidence(cells, sigma, rng, cliques=ALL):
    known = {}
    for clique in cliques:
        shape = DOMAIN.shape(clique)
        noise = sigma * rng.standard_normal(math.prod(shape))
        known[clique] = Known(interaction(marginal(cells, clique) + noise, shape), sigma)
    return Evidence(DOMAIN, float(cells.sum()), known)


def released(cells):
    return Support(DOMAIN.names, EVERY, cells)


def of_pairs(seed, count):
    """Random functions that are sums of functions of two attributes, shape (24, count)."""
    rng, found = np.random.default_rng(seed), np.zeros((len(EVERY), count))
    for one, other in itertools.combinations(range(3), 2):
        shape = (DOMAIN.sizes[one], DOMAIN.sizes[other], count)
        found += rng.standard_normal(shape)[EVERY[:, one], EVERY[:, other]]
    return found


def test_without_noise_sums_of_measured_interactions_are_those_of_the_table():
    real, other, functions = joint(1), joint(2), of_pairs(3, 5)
    found = totals(evidence(real, 1e-6, np.random.default_rng(0)), released(other), functions)
    assert found.values == pytest.approx(real @ functions, rel=1e-3)
    assert found.released == pytest.approx(other @ functions)
    assert found.reach == pytest.approx(1, abs=1e-4)
    assert np.all(np.diag(found.unexplained) < 1e-4 * np.diag(found.sampling) * 5000)


def test_what_was_not_measured_is_taken_from_the_release():
    real, other = joint(1), joint(2)
    triple = (EVERY.sum(axis=1) % 2)[:, None].astype(float)
    found = totals(evidence(real, 1e-6, np.random.default_rng(0), cliques=()), released(other), triple)
    assert found.values == pytest.approx(other @ triple)
    assert found.kappa == 1
    assert found.reach == pytest.approx(0, abs=1e-9)
    share = float(other @ triple[:, 0]) / 5000
    assert found.sampling[0, 0] == pytest.approx(5000 * share * (1 - share))


@pytest.mark.parametrize("directly", [True, False])
def test_noise_and_rest_are_the_minimum(monkeypatch, directly):
    monkeypatch.setattr(module, "_DIRECT_CELLS", 1000 if directly else 0)
    monkeypatch.setattr(module, "_RESIDUAL_TOLERANCE", 1e-10)
    real, functions = joint(1), np.random.default_rng(4).standard_normal((len(EVERY), 2))
    known = evidence(real, 20.0, np.random.default_rng(0))
    found = totals(known, released(real), functions)
    spread = 0.99 * real + 0.01 * real.sum() / len(real)
    features = np.hstack([basis(clique) for clique in ALL])
    target = functions - real @ functions / real.sum()
    centred = features - spread @ features / spread.sum()
    target_centred = target - spread @ target / spread.sum()
    price = real.sum() * kappa_of(known, DOMAIN.names) ** 2
    squares = centred.T @ (spread[:, None] * centred)
    parts = np.linalg.solve(
        price * squares + 20.0**2 * np.eye(len(squares)),
        price * centred.T @ (spread[:, None] * target_centred),
    )
    rest = target - centred @ parts
    assert np.diag(found.noise) == pytest.approx(20.0**2 * (parts**2).sum(axis=0), rel=1e-6)
    assert np.diag(found.unexplained) == pytest.approx(price * (spread @ rest**2), rel=1e-6)


def basis(clique):
    """An orthonormal basis of the interaction's space as functions of a record, shape (24, dimension)."""
    found = np.ones((1, 1))
    for name in clique:
        size = DOMAIN[name].size
        contrasts = np.linalg.svd(np.eye(size) - 1 / size)[0][:, : size - 1]
        found = np.kron(found, contrasts)
    kept = [EVERY[:, DOMAIN.names.index(name)] for name in clique]
    return found[np.ravel_multi_index(kept, DOMAIN.shape(clique))]


@pytest.mark.slow
def test_estimates_are_unbiased_with_the_stated_noise():
    """Of 2000 draws of noise, mean and variance; each of 8 checks fails by chance once in 15,000."""
    real, functions = joint(1), of_pairs(3, 2)
    other = near(real)
    rng, errors = np.random.default_rng(7), []
    for _ in range(2000):
        found = totals(evidence(real, 40.0, rng), released(other), functions)
        # What the measurements leave of a function is no matter of noise.
        errors.append((found.values - real @ functions, found.noise))
    away = np.array([error for error, _ in errors])
    noise = errors[0][1]
    bias = np.sqrt(np.diag(found.unexplained))
    assert np.all(np.abs(away.mean(axis=0)) < 3 * bias + 4 * np.sqrt(np.diag(noise) / 2000))
    assert away.var(axis=0) == pytest.approx(np.diag(noise), rel=4 * math.sqrt(2 / 2000))
    assert np.cov(away.T)[0, 1] == pytest.approx(noise[0, 1], abs=4 * np.sqrt(np.prod(np.diag(noise)) / 1000))


@pytest.mark.slow
@pytest.mark.parametrize("everywhere", [True, False], ids=["smoothed", "as the rows are"])
def test_estimates_are_unbiased_where_a_release_follows_the_noise(monkeypatch, everywhere):
    """Most of 40 codes have no records; a release has those where noise is positive.

    Of 300 draws: the mean error is within 5 of its deviations, by chance but for once in a million; without
    smoothing, it is beyond 10.
    """
    if not everywhere:
        monkeypatch.setattr(module, "_smoothed", lambda support, thin, single: support.weights)
    domain = Domain.coded({"value": 40, "group": 2})
    codes = np.array([(value, group) for value in range(40) for group in range(2)])
    real = np.where(codes[:, 0] < 4, 500.0, 0.0)
    function = np.where(codes[:, 1] == 0, codes[:, 0], 0.0)[:, None].astype(float)
    rng, errors = np.random.default_rng(5), []
    for _ in range(300):
        noisy = real + 20.0 * rng.standard_normal(len(real))
        known = {
            clique: Known(interaction(counts, domain.shape(clique)), sigma)
            for clique, counts, sigma in (
                (("value",), noisy.reshape(40, 2).sum(axis=1), 20.0 * math.sqrt(2)),
                (("group",), noisy.reshape(40, 2).sum(axis=0), 20.0 * math.sqrt(40)),
                (("value", "group"), noisy, 20.0),
            )
        }
        kept = np.maximum(noisy, 0)
        support = Support(domain.names, codes, kept * (real.sum() / kept.sum()))
        found = totals(Evidence(domain, float(real.sum()), known), support, function)
        errors.append(float(found.values[0] - real @ function[:, 0]))
    error = np.mean(errors) / (np.std(errors) / math.sqrt(len(errors)))
    assert abs(error) < 5 if everywhere else error > 10


@pytest.mark.slow
def test_the_noise_of_the_number_of_records_is_part_of_the_stated_noise():
    """Of 1000 draws of all noise, the variance; each of 4 checks fails by chance once in 15,000."""
    real, functions = joint(1), np.column_stack([np.ones(len(EVERY)), EVERY[:, 0] == 0, of_pairs(3, 2)])
    rng, away, records = np.random.default_rng(7), [], float(real.sum())
    for _ in range(1000):
        counted = records + 200.0 * rng.standard_normal()
        known = evidence(real, 40.0, rng).known
        other = near(real) * (counted / records)
        found = totals(Evidence(DOMAIN, counted, known, records_sigma=200.0), released(other), functions)
        away.append(found.values - real @ functions)
    assert np.var(away, axis=0) == pytest.approx(np.diag(found.noise), rel=4 * math.sqrt(2 / 1000))


def test_combinations_without_records_count_as_unknown():
    rare = np.where(EVERY[:, 0] == 0, 0.01, 1.0) * joint(1)
    empty = np.where(EVERY[:, 0] == 0, 0.0, rare)
    empty *= rare.sum() / empty.sum()
    first = (EVERY[:, 0] == 0)[:, None].astype(float)
    found = totals(evidence(rare, 20.0, np.random.default_rng(0)), released(empty), first)
    error = math.sqrt(found.noise[0, 0] + found.unexplained[0, 0])
    assert found.released == pytest.approx(0)
    assert 5 < error < 100
    assert found.values[0] == pytest.approx(rare @ first[:, 0], abs=3 * error)


def test_many_functions_are_answered_in_blocks(monkeypatch):
    real, functions = joint(1), np.random.default_rng(4).standard_normal((len(EVERY), 7))
    known = evidence(real, 30.0, np.random.default_rng(0))
    whole = totals(known, released(real), functions)
    monkeypatch.setattr(module, "_VALUES_AT_ONCE", 100)
    parts = totals(known, released(real), functions)
    assert parts.values == pytest.approx(whole.values, rel=1e-3)


def test_values_inside_bins_add_what_no_code_tells():
    real, constant = joint(1), np.zeros((len(EVERY), 1))
    inside = 4.0 * real.sum() * np.ones((1, 1))
    found = totals(evidence(real, 1e-6, np.random.default_rng(0)), released(real), constant, inside)
    assert found.unexplained[0, 0] == pytest.approx(4.0 * (LEAST_KAPPA * real.sum()) ** 2)
    assert found.sampling[0, 0] == pytest.approx(4.0 * real.sum())


def test_kappa_is_the_noise_of_a_typical_pair():
    records = 1000.0
    sigmas = dict(zip(PAIRS, (10.0, 40.0, 90.0), strict=True))
    known = {pair: Known(np.zeros(DOMAIN.cells(pair)), sigma) for pair, sigma in sigmas.items()}
    lengths = [
        math.sqrt(2 / math.pi) * sigma * math.sqrt(freedom(DOMAIN.shape(pair))) * DOMAIN.cells(pair)
        for pair, sigma in sigmas.items()
    ]
    assert kappa_of(Evidence(DOMAIN, records, known), DOMAIN.names) == pytest.approx(
        np.median(lengths) / records
    )
    assert kappa_of(Evidence(DOMAIN, 1e9, known), DOMAIN.names) == LEAST_KAPPA
    assert kappa_of(Evidence(DOMAIN, records, {}), DOMAIN.names) == 1


def test_kappa_is_at_least_the_bound_of_a_pair_that_was_not_measured():
    known = {("a", "b"): Known(np.zeros(12), 10.0)}
    looked = Evidence(DOMAIN, 1e9, known, {("b", "c"): 0.3, ("a", "b"): 0.9})
    assert kappa_of(looked, ("a",)) == kappa_of(looked, ("a", "b")) == LEAST_KAPPA
    assert kappa_of(looked, ("b", "c")) == 0.3
    assert kappa_of(looked, ("a", "c")) == kappa_of(looked, DOMAIN.names) == 1


def test_repeated_combinations_are_as_good_as_one():
    real, functions = joint(1), of_pairs(3, 2)
    known = evidence(real, 30.0, np.random.default_rng(0))
    table = Table.from_codes(DOMAIN, np.repeat(EVERY, real.round().astype(int), axis=0))
    cells = table.marginal(DOMAIN.names).astype(float)
    rows = Support(DOMAIN.names, np.column_stack(table.columns).astype(np.int64), np.ones(table.record_count))
    each = np.repeat(functions, real.round().astype(int), axis=0)
    one, other = totals(known, released(cells), functions), totals(known, rows, each)
    # Only records that may be anywhere are spread otherwise.
    assert one.values == pytest.approx(other.values, rel=2e-2, abs=60)
    assert np.diag(one.noise) == pytest.approx(np.diag(other.noise), rel=0.1)
