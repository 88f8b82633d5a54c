"""Sums over the real table: exact where noise is none, unbiased with the stated variance where it is."""

import itertools
import math

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.inside_bins import divide
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.grouping import group_sums
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.curator.analysis import terms as module
from dpmosaic.curator.analysis import totals as totals_module
from dpmosaic.curator.analysis.terms import Support
from dpmosaic.curator.analysis.totals import Sums
from dpmosaic.curator.analysis.unmeasured.inside import inside_bins
from dpmosaic.curator.analysis.unmeasured.variation import ALONE, LEAST_KAPPA, kappa_of, typical
from dpmosaic.curator.results.evidence import Evidence, Known

DOMAIN = Domain((CodedAttribute("a", 3), CodedAttribute("b", 4), CodedAttribute("c", 2)))
EVERY = np.array(list(itertools.product(*map(range, DOMAIN.sizes))))
PAIRS = tuple(itertools.combinations(DOMAIN.names, 2))
DRAWS = 400
"""Draws of noise: a variance of 1.6 times the stated one is found with probability 99 %."""
ALL = (*((name,) for name in DOMAIN), *PAIRS)


def totals(measured, support, values, inside=None):
    return Sums.of(measured, support).totals(values, inside)


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
    # Neither do constants: the records that may be anywhere move a function's mean.
    assert np.all(np.diag(found.unexplained) < 1e-6 * np.diag(found.sampling))


def test_what_was_not_measured_is_taken_from_the_release():
    real, other = joint(1), joint(2)
    triple = (EVERY.sum(axis=1) % 2)[:, None].astype(float)
    found = totals(evidence(real, 1e-6, np.random.default_rng(0), cliques=()), released(other), triple)
    assert found.values == pytest.approx(other @ triple)
    assert found.reach == pytest.approx(0, abs=1e-9)
    share = float(other @ triple[:, 0]) / 5000
    assert found.sampling[0, 0] == pytest.approx(5000 * share * (1 - share))


@pytest.mark.parametrize("directly", [True, False])
def test_noise_and_rest_are_the_minimum(monkeypatch, directly):
    monkeypatch.setattr(module, "_DIRECT_VALUES", 10**6 if directly else 0)
    monkeypatch.setattr(module, "_RESIDUAL_TOLERANCE", 1e-10)
    real, functions = joint(1), np.random.default_rng(4).standard_normal((len(EVERY), 2))
    known = evidence(real, 20.0, np.random.default_rng(0))
    found = totals(known, released(real), functions)
    spread = 0.99 * real + 0.01 * real.sum() / len(real)
    features = np.hstack([basis(clique) for clique in ALL])
    target = functions - real @ functions / real.sum()
    centred = features - spread @ features / spread.sum()
    target_centred = target - spread @ target / spread.sum()
    records, variance = real.sum(), prior_of(spread, typical(known))
    parts = np.linalg.solve(
        records * centred.T @ variance @ centred + 20.0**2 * np.eye(centred.shape[1]),
        records * centred.T @ variance @ target_centred,
    )
    rest = target_centred - centred @ parts
    assert np.diag(found.noise) == pytest.approx(20.0**2 * (parts**2).sum(axis=0), rel=1e-6)
    assert np.diag(found.unexplained) == pytest.approx(records * np.diag(rest.T @ variance @ rest), rel=1e-6)


def prior_of(spread, kappa):
    """The prior's variance of a function as a matrix: projections in the metric of the records."""
    metric, found = np.diag(spread), LEAST_KAPPA**2 * np.diag(spread)
    means = {}
    for names in (*((name,) for name in DOMAIN), *PAIRS):
        cells = indicators(names)
        means[names] = cells @ np.linalg.solve(cells.T @ metric @ cells, cells.T @ metric)
    one = np.eye(len(EVERY))
    for name in DOMAIN:
        found += ALONE**2 * metric @ means[name,]
    for first, second in PAIRS:
        alone = (one - means[second,]) @ (one - means[first,]) @ means[first, second]
        found += kappa**2 * alone.T @ metric @ sizes_of(spread, first, second) @ alone
    return found


def sizes_of(spread, first, second):
    """By how much errors in functions of a pair differ from those in trends and common codes, as a matrix."""

    def onto(functions):
        weighed = functions.T * spread
        return functions @ np.linalg.pinv(weighed @ functions) @ weighed

    asked, others = zip(*(asked_of(spread, name) for name in (first, second)), strict=True)
    found = others[0] * others[1] * np.eye(len(EVERY))
    for one, name, other in ((0, second, 1), (1, first, 0)):
        share = others[other] * (1 - others[one])
        found += share * sum(onto(part[:, None] * indicators((name,))) for part in asked[one])
    both = (1 - others[0]) * (1 - others[1])
    return found + both * sum(onto((a * b)[:, None]) for a, b in itertools.product(*asked))


def asked_of(spread, name):
    """The trend and the common code at each combination, uncorrelated; and the size of errors in others."""
    codes = EVERY[:, DOMAIN.names.index(name)]
    shares = np.bincount(codes, spread) / spread.sum()
    root = np.sqrt(spread)
    functions = np.column_stack([np.ones(len(EVERY)), codes, codes == shares.argmax()])
    apart = np.linalg.qr(root[:, None] * functions)
    kept = np.abs(np.diagonal(apart.R)) > 1e-9 * root.max()
    found = (apart.Q / root[:, None])[:, kept].T[1:]
    return found, min(1.0, len(found) / (1 / (shares**2).sum() - 1))


def indicators(names, groups=()):
    """Which cell of some attributes each combination is in, shape (24, cells)."""
    places = [DOMAIN.names.index(name) for name in names]
    codes = np.ravel_multi_index(EVERY[:, places].T, DOMAIN.shape(names))
    cells = np.eye(DOMAIN.cells(names))
    return np.column_stack([group_sums(cell, DOMAIN.shape(names), groups) for cell in cells]).T[codes]


def test_an_estimate_is_the_mean_of_the_gaussian_posterior():
    """With the release as the prior's mean, and measurements of codes and of groups of codes."""
    real, other, functions = joint(1), near(joint(1)), of_pairs(3, 3)
    rng, sigma, groups = np.random.default_rng(2), 60.0, ((0, 1, 1), (0, 0, 1, 1))
    singles = evidence(real, sigma, rng, cliques=[(name,) for name in DOMAIN])
    pairs = {("a", "c"): (), ("a", "b"): groups}
    known, grouped = dict(singles.known), {}
    for names, groups_of in pairs.items():
        view = View(names, groups_of, interaction=True)
        counts = indicators(names, groups_of).T @ real
        one = Known(interaction(counts + sigma * rng.standard_normal(len(counts)), view.shape(DOMAIN)), sigma)
        if groups_of:
            grouped[view] = one
        else:
            known[names] = one
    measured = Evidence(DOMAIN, float(real.sum()), known, grouped=grouped)
    found = totals(measured, released(other), functions)

    records, spread = other.sum(), 0.99 * other + 0.01 * other.sum() / len(other)
    centre = np.eye(len(EVERY)) - np.outer(np.ones(len(EVERY)), spread / spread.sum())
    covariance = records * centre.T @ prior_of(spread, typical(measured)) @ centre
    seen, values = [], []
    for view, one in measured.views.items():
        shape = view.shape(DOMAIN)
        cells = indicators(view.clique, view.groups)
        kept = np.linalg.svd(np.array([interaction(unit, shape) for unit in np.eye(math.prod(shape))]))
        axes = kept[0][:, kept[1] > 0.5]
        seen.append(axes.T @ cells.T)
        values.append(axes.T @ one.values)
    observe, observed = np.vstack(seen), np.concatenate(values)
    gain = (
        covariance
        @ observe.T
        @ np.linalg.inv(observe @ covariance @ observe.T + sigma**2 * np.eye(len(observed)))
    )
    mean = other + gain @ (observed - observe @ other)
    assert found.values == pytest.approx(functions.T @ mean, rel=1e-4)
    posterior = functions.T @ (covariance - gain @ observe @ covariance) @ functions
    assert found.covariance(population=False) == pytest.approx(
        posterior, rel=1e-3, abs=1e-3 * posterior.max()
    )


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
    """Of 400 draws of noise, mean and variance; each of 8 checks fails by chance once in 15,000."""
    real, functions = joint(1), of_pairs(3, 2)
    other = near(real)
    rng, errors = np.random.default_rng(7), []
    for _ in range(DRAWS):
        found = totals(evidence(real, 40.0, rng), released(other), functions)
        # What the measurements leave of a function is no matter of noise.
        errors.append((found.values - real @ functions, found.noise))
    away = np.array([error for error, _ in errors])
    noise = errors[0][1]
    bias = np.sqrt(np.diag(found.unexplained))
    assert np.all(np.abs(away.mean(axis=0)) < 3 * bias + 4 * np.sqrt(np.diag(noise) / DRAWS))
    assert away.var(axis=0) == pytest.approx(np.diag(noise), rel=4 * math.sqrt(2 / DRAWS))
    assert np.cov(away.T)[0, 1] == pytest.approx(
        noise[0, 1], abs=4 * np.sqrt(np.prod(np.diag(noise)) * 2 / DRAWS)
    )


@pytest.mark.slow
@pytest.mark.parametrize("everywhere", [True, False], ids=["smoothed", "as the rows are"])
def test_estimates_are_unbiased_where_a_release_follows_the_noise(monkeypatch, everywhere):
    """Most of 40 codes have no records; a release has those where noise is positive.

    Of 300 draws: the mean error is within 5 of its deviations, by chance but for once in a million; without
    smoothing, it is beyond 8.
    """
    if not everywhere:
        monkeypatch.setattr(
            module, "_spread_thin_combinations", lambda support, thin, single: support.weights
        )
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
    assert abs(error) < 5 if everywhere else error > 8


@pytest.mark.slow
def test_the_noise_of_the_number_of_records_is_part_of_the_stated_noise():
    """Of 400 draws of all noise, the variance; each of 4 checks fails by chance once in 15,000."""
    real, functions = joint(1), np.column_stack([np.ones(len(EVERY)), EVERY[:, 0] == 0, of_pairs(3, 2)])
    rng, away, records = np.random.default_rng(7), [], float(real.sum())
    for _ in range(DRAWS):
        counted = records + 200.0 * rng.standard_normal()
        known = evidence(real, 40.0, rng).known
        other = near(real) * (counted / records)
        found = totals(Evidence(DOMAIN, counted, known, records_sigma=200.0), released(other), functions)
        away.append(found.values - real @ functions)
    assert np.var(away, axis=0) == pytest.approx(np.diag(found.noise), rel=4 * math.sqrt(2 / DRAWS))


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


def test_few_measured_cells_are_solved_directly_and_once_however_many_cells_a_pair_has(monkeypatch):
    domain = Domain.coded({"x": 60, "y": 60})
    codes = np.array(list(itertools.product(range(60), repeat=2)))
    known = {(name,): Known(np.zeros(60), 10.0) for name in domain}
    support = Support(domain.names, codes, np.full(3600, 2.0))
    functions = codes[:, :1] * codes[:, 1:] * 1.0
    iterated = module.Terms._conjugate_gradients
    prepared = []
    equations = module.Terms._equations
    monkeypatch.setattr(module.Terms, "_conjugate_gradients", None)
    monkeypatch.setattr(module.Terms, "_equations", lambda terms: prepared.append(1) or equations(terms))
    sums = Sums.of(Evidence(domain, 7200.0, known, {domain.names: 0.8}), support)
    directly = sums.totals(functions)
    assert sums.totals(functions).values == pytest.approx(directly.values)
    assert len(prepared) == 1
    monkeypatch.setattr(module.Terms, "_conjugate_gradients", iterated)
    monkeypatch.setattr(module, "_DIRECT_VALUES", 0)
    monkeypatch.setattr(module, "_RESIDUAL_TOLERANCE", 1e-10)
    assert sums.totals(functions).covariance(False) == pytest.approx(directly.covariance(False), rel=1e-6)


def test_many_functions_are_answered_in_blocks(monkeypatch):
    real, functions = joint(1), np.random.default_rng(4).standard_normal((len(EVERY), 7))
    known = evidence(real, 30.0, np.random.default_rng(0))
    whole = totals(known, released(real), functions)
    monkeypatch.setattr(totals_module, "_VALUES_AT_ONCE", 100)
    parts = totals(known, released(real), functions)
    assert parts.values == pytest.approx(whole.values, rel=1e-3)


def test_values_inside_bins_add_what_no_code_tells():
    real, constant = joint(1), np.zeros((len(EVERY), 1))
    inside = 4.0 * real.sum() * np.ones((1, 1))
    found = totals(evidence(real, 1e-6, np.random.default_rng(0)), released(real), constant, inside)
    assert found.unexplained[0, 0] == pytest.approx(4.0 * (LEAST_KAPPA * real.sum()) ** 2)
    assert found.sampling[0, 0] == pytest.approx(4.0 * real.sum())


@pytest.mark.parametrize("bins", [1, 2, 4, 8, 16])
def test_the_error_inside_bins_covers_that_of_an_exponential_density(bins):
    """By its closed form: means of bins of a density that falls to e^-4, against evenly spread values."""
    edges = np.linspace(0, 4, bins + 1)
    below, mean_below = 1 - np.exp(-edges), 1 - np.exp(-edges) * (1 + edges)
    shares = np.diff(below) / below[-1]
    off = np.diff(mean_below).sum() / below[-1] - shares @ (edges[:-1] + edges[1:]) / 2
    domain = Domain((NumericAttribute("x", 0, 4, bins),))
    known = {("x",): Known(1000 * (shares - 1 / bins), 1.0)}
    counts = 1000 * shares
    relative = inside_bins(Evidence(domain, 1000.0, known), ("x",), np.arange(bins)[:, None], counts)
    deviation = math.sqrt(shares @ np.diff(edges) ** 2 / 12)
    assert abs(off) < relative * deviation < 4 * abs(off)


def test_the_last_bin_may_be_far_wider_than_the_density_that_is_drawn_in_it():
    """Thin neighbours make the density steep, and a mean of 1.0 and more becomes one near the bin's start."""
    bins = NumericAttribute("x", 0, 100, 4, edges=(0, 1, 2, 3, 100))
    known = {("x",): Known(np.array([200.0, 50.0, -150.0, -100.0]), 10.0)}
    counts, codes = np.array([450.0, 300.0, 100.0, 150.0]), np.arange(4)[:, None]
    relative = inside_bins(Evidence(Domain((bins,)), 1000.0, known), ("x",), codes, counts)
    drawn = divide(bins, counts, ())
    inside = math.sqrt(counts @ drawn.variances / 1000)
    # What matters of the column's mean: 15 % of the records may have one that is half as far as the middle.
    assert relative * inside == pytest.approx(0.15 * (51.5 - drawn.means[3]) / 2, rel=0.02)


def test_in_even_bins_the_ends_are_as_good_as_the_others():
    domain = Domain((NumericAttribute("x", 0, 40, 40),))
    known = {("x",): Known(np.zeros(40), 1.0)}
    counts = np.full(40, 25.0)
    assert inside_bins(Evidence(domain, 1000.0, known), ("x",), np.arange(40)[:, None], counts) == LEAST_KAPPA


def test_single_values_have_no_error_inside():
    domain = Domain((NumericAttribute("x", 0, 3, 4), CategoricalAttribute("g", ("a", "b"))))
    codes = np.array(list(itertools.product(range(4), range(2))))
    found = inside_bins(Evidence(domain, 1000.0, {}), ("x", "g"), codes, np.full(8, 125.0))
    assert found == LEAST_KAPPA


def test_the_error_of_a_pair_is_learned_from_those_that_were_measured():
    """Of six attributes 14 of 15 pairs are measured, with a correlation of .2 and noise of .004.

    If any size was as likely before, the mean square of n exact normal numbers is theirs times n / (n - 3).
    """
    domain, records = Domain.coded({name: 2 for name in "abcdef"}), 10_000.0
    rng, known = np.random.default_rng(0), {}
    for name in domain:
        known[(name,)] = Known(np.zeros(2), 1.0)
    for pair in itertools.combinations(domain.names, 2):
        counts = records * np.array([0.3, 0.2, 0.2, 0.3]) + 20.0 * rng.standard_normal(4)
        known[pair] = Known(interaction(counts, (2, 2)), 20.0)
    del known["a", "b"]
    found = Evidence(domain, records, known, {("a", "b"): 0.6})
    assert typical(found) == pytest.approx(0.2 * math.sqrt(14 / 11), rel=0.05)
    assert kappa_of(found, ("c", "d")) == typical(found)
    assert kappa_of(found, ("a", "b")) == pytest.approx(0.15)
    without = Evidence(domain, records, known)
    assert kappa_of(without, ("a", "b")) == typical(without)


def test_by_chance_noise_does_not_make_pairs_small():
    """Of ten pairs with correlations of .15 and noise of .2, one draw in ten has less than noise alone.

    Sizes that are found are above .1 in each of 200 draws, and even about the real one.
    """
    domain, records, found = Domain.coded({name: 2 for name in "abcde"}), 4000.0, []
    rng = np.random.default_rng(0)
    for _ in range(200):
        known = {(name,): Known(np.zeros(2), 1.0) for name in domain}
        for pair in itertools.combinations(domain.names, 2):
            away = 0.15 * rng.choice([-1, 1])
            counts = records / 4 * (1 + away * np.array([1, -1, -1, 1])) + 400.0 * rng.standard_normal(4)
            known[pair] = Known(interaction(counts, (2, 2)), 400.0)
        found.append(typical(Evidence(domain, records, known)))
    assert min(found) > 0.1
    assert np.median(found) == pytest.approx(0.2, abs=0.05)


def test_without_measured_pairs_anything_may_be_in_a_pair():
    known = {(name,): Known(np.zeros(DOMAIN[name].size), 10.0) for name in DOMAIN}
    assert typical(Evidence(DOMAIN, 1000.0, known)) == 1


def test_an_error_in_many_codes_is_small_in_each_of_them():
    """Of eight even codes, other functions than the trend and one code have 2 / 7 of their variance."""
    names, codes = ("x", "y"), np.array(list(itertools.product(range(8), repeat=2)))
    domain = Domain(tuple(CodedAttribute(name, 8) for name in names))
    noisy = Known(np.zeros(64), 1e9)
    trend = np.arange(8) - 3.5
    # Orthogonal to the trend, and zero at the code that is taken as the most common one of equals.
    other = np.array([0, 1, -2, 1, 0, 0, 0, 0.0])
    functions = np.column_stack(
        [trend[codes[:, 0]] * trend[codes[:, 1]], other[codes[:, 0]] * trend[codes[:, 1]]]
    )
    functions = np.column_stack([functions, other[codes[:, 0]] * other[codes[:, 1]]])
    # Of a measured pair alone there is nothing else that table and release, two samples, differ in.
    for known, base in (({}, LEAST_KAPPA**2), ({names: noisy}, 2 / 6400)):
        given = Evidence(domain, 6400.0, known, {names: 1.0})
        found = totals(given, Support(names, codes, np.full(64, 100.0)), functions)
        relative = np.diag(found.unexplained) / np.diag(found.sampling) / 6400
        kappa = kappa_of(given, names)
        assert relative == pytest.approx(base + kappa**2 * np.array([1, 2 / 7, 4 / 49]))


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
