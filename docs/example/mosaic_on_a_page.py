"""Sections 1 to 7 of docs/mosaic-algorithm.md for the pairs of one trusted table, in numpy and scipy.

Written from that page alone: it shares no step with the product but the standard one of section 7, which
fits a graphical model (Private-PGM) and draws rows. It leaves out what only other tables need (the survey,
coupling, predictions and groups), the reference error and averages of scores, and error bounds.
tests/test_mosaic_on_a_page.py compares both.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import gammaln, logsumexp

from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.structure.junction_tree import size_mb
from dpmosaic.curator.pgm.supplemented import SupplementedModel

ONE_WAY, SCORES, ROUND, ROUNDS, MODEL_MB = 0.1, 0.03, 0.03, 4, 8.0
EXPECTED_L1 = math.sqrt(2 / math.pi)
SIZES = np.geomspace(1e-4, 2, 48)
TYPICAL, NONE = np.geomspace(1e-3, 2, 40), (np.arange(20) + 0.5) / 20
EVENNESS = np.array([0.1, 0.25, 0.5, 1, 2, 4, 16, 64])


# 1. What is asked, and what it costs


def interaction(cells):
    """What sums to zero along every axis."""
    for axis in range(cells.ndim):
        cells = cells - cells.mean(axis=axis, keepdims=True)
    return cells


def freedom(shape):
    """The share of noise that an interaction keeps."""
    return math.prod(1 - 1 / n for n in shape)


class Charged:
    """A private table: whatever is asked of it is charged, in zCDP."""

    def __init__(self, table, rho, rng):
        self.table, self.left, self.rng = table, rho, rng

    def counts(self, clique):
        """A marginal, of attributes by their numbers."""
        names = tuple(self.table.domain.names[a] for a in clique)
        return self.table.marginal(names).astype(float).reshape(self.table.domain.shape(names))

    def measure(self, clique, rho):
        """An interaction with noise, and the variance of a cell's noise."""
        self.left -= rho
        counts = self.counts(clique)
        f = freedom(counts.shape)
        noise = self.rng.normal(0, math.sqrt(f / (2 * rho)), counts.shape)
        return interaction(counts + noise), f * f / (2 * rho)

    def score(self, references, rho):
        """L1 distances from these marginals with noise, and its standard deviation."""
        self.left -= rho
        sigma = math.sqrt(len(references) / (2 * rho))
        away = {c: np.abs(self.counts(c) - np.rint(cells)).sum() for c, cells in references.items()}
        return {c: distance + self.rng.normal(0, sigma) for c, distance in away.items()}, sigma


# 2. One-way counts


def chain_posterior(noisy, v):
    """Posterior means and variances of many counts: they keep their neighbour's level, or jump."""
    sigma, n = math.sqrt(np.median(v)), len(noisy)
    seen = np.quantile(np.maximum(noisy, 0), np.linspace(0, 1, min(n, 128)))
    levels = np.concatenate([sigma * np.arange(0, 6, 0.2), seen, seen + sigma / 2, seen - sigma / 2])
    levels = np.unique(np.maximum(levels, 0))
    levels = levels[levels <= max(seen[-1], 6 * sigma) + sigma]
    likely = -((noisy[:, None] - levels) ** 2) / (2 * v[:, None])
    likely = np.exp(likely - likely.max(axis=1, keepdims=True))
    weights, stays, before = np.full(len(levels), 1 / len(levels)), 0.5, -math.inf
    for _ in range(60):
        forward, scales = np.empty_like(likely), np.empty(n)
        reached = weights
        for i in range(n):
            forward[i] = reached * likely[i]
            scales[i] = forward[i].sum()
            forward[i] /= scales[i]
            reached = stays * forward[i] + (1 - stays) * weights
        ahead, jumps, stayed = np.ones(len(levels)), np.zeros(len(levels)), 0.0
        posterior = np.empty_like(likely)
        for i in reversed(range(n)):
            posterior[i] = forward[i] * ahead / (forward[i] @ ahead)
            if i:
                met = likely[i] * ahead / scales[i]
                jump = (1 - stays) * weights * met
                stayed += stays * (forward[i - 1] @ met)
                ahead, jumps = stays * met + jump.sum(), jumps + jump
        means = posterior @ levels
        left = (posterior * (levels - means[:, None]) ** 2).sum(axis=1)
        jumps += posterior[0]
        weights, stays = jumps / jumps.sum(), float(np.clip(stayed / (n - 1), 1e-3, 0.98))
        if np.log(scales).sum() - before < 1e-3:
            break
        before = np.log(scales).sum()
    lost = (means - noisy) ** 2 > 16 * v
    return np.where(lost, noisy, means), np.where(lost, v, left)


def onto_simplex(counts, total):
    """The closest counts that are not negative and have this sum."""
    descending = np.sort(counts)[::-1]
    over = (np.cumsum(descending) - total) / np.arange(1, len(counts) + 1)
    return np.maximum(counts - over[np.flatnonzero(descending > over)[-1]], 0)


def dirichlet_posterior(noisy, v, total):
    """For each evenness: posterior means and variances of few counts of this sum, and its evidence."""
    n, unit, found = len(noisy), total / len(noisy), []
    noisy, v = noisy / unit, v * n / (n - 1) / unit**2
    places, sigma = (np.arange(128) + 0.5) / 128, np.sqrt(v)

    def moments(a, tilt):
        middle = noisy + tilt * v
        low = np.maximum(middle - 7 * sigma, 0)
        falls = np.minimum(7 * sigma, 40 * v / np.maximum(-middle, 1e-300))
        width = np.where(middle < 0, falls, middle + 7 * sigma) - low
        x = low[:, None] + width[:, None] * places**6
        logs = (a - 1) * np.log(x) - (x - middle[:, None]) ** 2 / (2 * v[:, None])
        p = np.exp(logs - logs.max(axis=1, keepdims=True)) * 6 / 128 * places**5
        mass = p.sum(axis=1)
        means = (p * x).sum(axis=1) / mass
        logs = np.log(mass * width) + logs.max(axis=1) + tilt * noisy + tilt**2 * v / 2
        return means, (p * (x - means[:, None]) ** 2).sum(axis=1) / mass, logs

    for a in EVENNESS:
        reach = 8 * max(1 / sigma.min(), 1 / v.min())
        while not moments(a, -reach)[0].sum() < n < moments(a, reach)[0].sum():
            reach *= 2
        tilt = brentq(lambda t, a=a: moments(a, t)[0].sum() - n, -reach, reach)
        means, spread, logs = moments(a, tilt)
        evidence = logs.sum() - tilt * n - math.log(2 * math.pi * spread.sum()) / 2
        evidence += gammaln(n * a) - n * gammaln(a) - (n * a - 1) * math.log(n)
        found.append((unit * means, unit**2 * (spread - spread**2 / spread.sum()), evidence))
    return [np.array(parts) for parts in zip(*found, strict=True)]


def one_way_counts(noisy, total):
    """Means and variances of the counts of all attributes, from noisy ones and the variances of noise."""
    few = {a: dirichlet_posterior(*known, total) for a, known in noisy.items() if len(known[0]) < 32}
    likely = np.array([np.exp(evidence - evidence.max()) for _, _, evidence in few.values()])
    frequent = np.full(len(EVENNESS), 1 / len(EVENNESS))
    for _ in range(50 if few else 0):
        weights = likely * frequent / (likely @ frequent)[:, None]
        frequent = (weights.sum(axis=0) + 1 / len(EVENNESS)) / (len(weights) + 1)
    found = {}
    for place, (a, (means, spread, _)) in enumerate(few.items()):
        mean = weights[place] @ means
        found[a] = mean * total / mean.sum(), weights[place] @ (spread + (means - mean) ** 2)
    for a in noisy.keys() - few.keys():
        mean, spread = chain_posterior(*noisy[a])
        found[a] = onto_simplex(mean, total), spread
    return found


# 3. The posterior of one interaction


@dataclass
class Interaction:
    """What is known of a pair: cells are those of its marginal."""

    records: int
    reference: np.ndarray
    score: tuple = ()  # distance, deviation, and the cells with which the table was compared
    measured: tuple = ()  # values, and the variance of a cell
    prior: tuple = (math.inf, 0.0)  # the typical size, and the share that is none
    axes: tuple = ()  # of both attributes: variances and vectors

    def profile(self):
        """Deviations of cells for a size of 1."""
        roots = np.sqrt(np.maximum(self.reference, 1))
        return roots / (EXPECTED_L1 * roots.sum())

    def components(self):
        """Deviations for a size of 1, values, the variance of their noise, and how much each counts."""
        (values, v), f = self.measured, freedom(self.reference.shape)
        away = interaction(values - self.reference)
        found = [(self.profile(), away, v, f)]
        if self.axes:
            (one, first), (other, second) = self.axes
            cells = [np.sqrt(vectors**2 @ variances).sum() for variances, vectors in self.axes]
            deviations = np.sqrt(np.outer(one, other)) / (EXPECTED_L1 * math.prod(cells))
            found.append((deviations, first.T @ away @ second, v / f, 1.0))
        return found

    def log_likelihoods(self):
        """Of each component and size, shape (components, sizes)."""
        found = []
        for deviations, away, v, count in self.components() if self.measured else ():
            squares = (self.records * SIZES[:, None] * deviations.ravel()) ** 2 + v
            each = count * np.log(squares / count) + away.ravel() ** 2 * count / squares
            found.append(-0.5 * each.sum(axis=1))
        logs = np.array(found or [np.zeros(len(SIZES))])
        if self.score:
            distance, sigma, compared = self.score
            apart = np.abs(interaction(self.reference - compared)).sum()
            expected = np.hypot(self.records * SIZES, apart)
            v = sigma**2 + (0.3 * expected) ** 2
            logs = logs - (max(distance, -3 * sigma) - expected) ** 2 / (2 * v) - np.log(v) / 2
        return logs

    def log_none(self):
        """Log-probability of each size where there is nothing but sampling error."""
        counts = np.maximum(self.reference, 0)
        cells = np.minimum(EXPECTED_L1 * np.sqrt(counts), 2 * counts).sum()
        sampled = math.sqrt(freedom(counts.shape)) * cells / self.records
        return normalised(-0.5 * (np.log(SIZES / sampled) / 0.3) ** 2)

    def posterior(self):
        """The probability of each component and size."""
        typical, none = self.prior
        some = math.log1p(-none) + log_some(typical)
        return np.exp(
            normalised(
                self.log_likelihoods() + np.logaddexp(some, math.log(max(none, 1e-300)) + self.log_none())
            )
        )

    def size(self):
        """Posterior mean of the expected L1 norm, in records."""
        return self.records * float(self.posterior().sum(axis=0) @ SIZES)

    def coefficients(self, component, weights):
        """Posterior means and variances of a component's variables, given weights of the sizes."""
        deviations, away, v, _ = component
        prior = (self.records * SIZES[:, None, None] * deviations) ** 2
        kept = prior / (prior + v)
        mean = np.tensordot(weights, kept, 1)
        return mean * away, v * mean + np.tensordot(weights, (kept - mean) ** 2, 1) * away**2

    def estimate(self):
        """Posterior means of the cells, and their standard deviations."""
        posterior, parts = self.posterior(), []
        for number, component in enumerate(self.components()):
            share = posterior[number].sum()
            z, v = self.coefficients(component, posterior[number] / max(share, 1e-300))
            if number:
                (_, first), (_, second) = self.axes
                z, v = first @ z @ second.T, first**2 @ v @ (second**2).T
            parts.append((share, z, v))
        mean = sum(share * z for share, z, _ in parts)
        variance = sum(share * (v + (z - mean) ** 2) for share, z, v in parts)
        return self.reference + mean, np.sqrt(np.maximum(variance, 0.1 * self.measured[1]))


def normalised(logs):
    """Logarithms of probabilities."""
    return logs - logsumexp(logs)


def log_some(typical):
    """Log-probability of each size of an interaction that is more than sampling error."""
    return normalised(np.log(SIZES) - 3 * np.log1p(SIZES / typical))


# 4. What all interactions say of each


def learn_sizes(pool):
    """Learns the typical size and the share that is none from interactions, and sets their priors."""
    logs = np.array([logsumexp(each.log_likelihoods(), axis=0) for each in pool])
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    some = likely @ np.exp([log_some(typical) for typical in TYPICAL]).T
    none = (likely * np.exp([each.log_none() for each in pool])).sum(axis=1)[:, None]
    weights = np.array([np.log((1 - share) * some + share * none).sum(axis=0) for share in NONE])
    weights = np.exp(normalised(weights))
    for each in pool:
        each.prior = float(weights.sum(axis=0) @ TYPICAL), float(weights.sum(axis=1) @ NONE)


def expected_covariance(counts):
    """Covariance of an interaction's cells along an attribute, before any is known."""
    p = np.maximum(counts, 1) / np.maximum(counts, 1).sum()
    middle, centred = np.cumsum(p) - p / 2, np.eye(len(p)) - p[:, None]
    smooth = centred @ (np.outer(p, p) * np.exp(-2 * np.abs(middle[:, None] - middle))) @ centred.T
    counted = np.diag(p) - np.outer(p, p)
    return 0.3 * counted / np.trace(counted) + 0.7 * smooth / np.trace(smooth)


def axis_of(covariance):
    """Variances and vectors, without that of ones, along which no interaction varies."""
    variances, vectors = np.linalg.eigh(covariance / np.trace(covariance))
    return np.maximum(variances[1:], 1e-12), vectors[:, 1:]


def learn_axes(pairs, axes):
    """Learns the covariance along each attribute from measured pairs, and sets their axes."""
    pairs = {c: pair for c, pair in pairs.items() if pair.measured and 2 < max(pair.reference.shape) <= 512}
    prior = {
        a: expected_covariance(pair.reference.sum(axis=1 - place))
        for c, pair in pairs.items()
        for place, a in enumerate(c)
    }
    axes = {a: axes.get(a) or axis_of(covariance) for a, covariance in prior.items()} if axes else {}
    for _ in range(2 if axes else 4):
        axes = axes or {a: axis_of(covariance) for a, covariance in prior.items()}
        sums = {a: 30 * covariance for a, covariance in prior.items()}
        for c, pair in pairs.items():
            pair.axes = tuple(axes[a] for a in c)
            weights, component = pair.posterior().sum(axis=0), pair.components()[-1]
            means, variances = pair.coefficients(component, weights)
            expected = float(weights @ (pair.records * SIZES) ** 2) * component[0] ** 2
            for place, a in enumerate(c):
                z, v, e = (np.moveaxis(part, place, 0) for part in (means, variances, expected))
                scale = axes[a][0][:, None] / e
                inner = (z * scale) @ z.T + np.diag((v * scale).sum(axis=1))
                sums[a] += axes[a][1] @ inner @ axes[a][1].T
        axes = {a: axis_of(total) for a, total in sums.items()}
    for c, pair in pairs.items():
        pair.axes = tuple(axes[a] for a in c)
    return axes


# 5. The value of information


def split(deviations, known, price, marginals, total):
    """The parts of a budget that minimise the expected error of the workload, and the gains."""
    amounts = total * np.concatenate([[0], np.geomspace(1e-7, 1, 120)])
    errors, slopes = np.empty((2, len(amounts), len(price)))
    for i, tau in enumerate(deviations):
        left = tau / np.sqrt(1 + (known[i] + amounts[:, None] / price[i]) * tau**2)
        errors[:, i] = EXPECTED_L1 * left.sum(axis=1)
        slopes[:, i] = EXPECTED_L1 / 2 * (left**3).sum(axis=1) / price[i]
    inside = marginals >= 0
    weights = importance = np.bincount(marginals[inside], minlength=len(price)).astype(float)
    for _ in range(4):
        low, high = -80.0, 80.0
        for _ in range(60):
            middle = (low + high) / 2
            chosen = np.maximum((slopes * weights > math.exp(middle)).sum(axis=0), 1) - 1
            low, high = (middle, high) if amounts[chosen].sum() > total else (low, middle)
        chosen = np.maximum((slopes * weights > math.exp(high)).sum(axis=0), 1) - 1
        now = errors[chosen, np.arange(len(price))]
        each = np.where(inside, now[marginals], 0)
        share = each / np.maximum(np.sqrt((each**2).sum(axis=1, keepdims=True)), 1e-300)
        gradient = np.bincount(marginals[inside], share[inside], len(price))
        weights = np.maximum(gradient, 0.05 * importance)
    without = np.array([EXPECTED_L1 * tau.sum() for tau in deviations])
    return amounts[chosen] * total / max(amounts[chosen].sum(), 1e-300), importance * (without - now)


# 6. The loop


class Run:
    """A release of one table."""

    def __init__(self, table, rho, rng):
        self.domain, self.records, self.rho = table.domain, table.record_count, rho
        self.table = Charged(table, rho, rng)
        self.ones = {(a,): () for a, size in enumerate(self.domain.sizes) if size > 1}
        self.pairs, self.chosen, self.axes = {}, [], {}

    def names(self, cliques):
        """The names of attributes."""
        return [tuple(self.domain.names[a] for a in c) for c in cliques]

    def measure(self, parts):
        """Measures interactions; each is averaged with earlier measurements of it."""
        for c, rho in parts.items():
            values, v = self.table.measure(c, rho)
            before = self.ones[c] if c in self.ones else self.pairs[c].measured
            if before:
                new = 1 / (1 / before[1] + 1 / v)
                values, v = new * (before[0] / before[1] + values / v), new
            if c in self.ones:
                self.ones[c] = values, v
            else:
                self.pairs[c].measured = values, v
        noisy = {c: (y + self.records / len(y), np.full(len(y), v)) for c, (y, v) in self.ones.items()}
        self.counts = one_way_counts(noisy, self.records)

    def learn_sizes(self):
        """Learns the priors of pairs in the model and outside it."""
        for inside in (True, False):
            if pool := [pair for c, pair in self.pairs.items() if (c in self.chosen) == inside]:
                learn_sizes(pool)

    def marginals(self, model, cliques):
        """The model's marginals of these pairs, without those that would need too large a table."""
        found = zip(cliques, model.marginals_within_limits(self.names(cliques)), strict=True)
        shape = self.domain.sizes
        return {c: m.reshape([shape[a] for a in c]) for c, m in found if m is not None}

    def refer(self, model, cliques):
        """Takes the model's marginals as references."""
        for c, cells in self.marginals(model, cliques).items():
            self.pairs[c].reference = cells

    def fit(self, chosen, start=None, tolerance=1e-2):
        """The graphical model of one-way counts and the estimates of these pairs."""
        targets = [
            (c, counts, np.sqrt(np.maximum(v, 0.1 * self.ones[c][1])))
            for c, (counts, v) in self.counts.items()
        ]
        for c in chosen:
            margins = [np.maximum(self.counts[(a,)][0], 1e-3) for a in c]
            self.pairs[c].reference = raked(self.pairs[c].reference, margins)
            targets.append((c, *(part.ravel() for part in self.pairs[c].estimate())))
        estimates = [
            Measurement(View(name), values, math.sqrt(np.mean(sigmas**2)), 0.0, sigmas=sigmas)
            for name, (_, values, sigmas) in zip(self.names(c for c, _, _ in targets), targets, strict=True)
        ]
        return estimate(self.domain, estimates, total=self.records, warm_start=start, tolerance=tolerance)

    def learned_fit(self, start, tolerance=1e-2):
        """The model of all chosen pairs, after learning from everything."""
        self.axes = learn_axes(self.pairs, self.axes)
        self.learn_sizes()
        return self.fit(self.chosen, start, tolerance)

    def split(self, total):
        """For each interaction its part of a budget, and its gain."""
        self.learn_sizes()
        cliques = [*self.ones, *self.pairs]
        place = {c: i for i, c in enumerate(cliques)}
        deviations, known, price = [], [], []
        for c in cliques:
            f = freedom([self.domain.sizes[a] for a in c])
            if c in self.ones:
                counts, v = self.counts[c]
                deviations.append(2 * np.sqrt(counts**2 + v))
            else:
                deviations.append(in_classes(self.pairs[c].size() * self.pairs[c].profile()))
            measured = self.ones[c] if c in self.ones else self.pairs[c].measured
            known.append(1 / measured[1] if measured else 0.0)
            price.append((1.0 if c in self.ones else 0.7) * f * f / 2)
        marginals = [
            [place.get(part, -1) for part in (one, other, one + other)]
            for one, other in itertools.combinations(self.ones, 2)
        ]
        parts, gains = split(deviations, np.array(known), np.array(price), np.array(marginals), total)
        return dict(zip(cliques, parts, strict=True)), dict(zip(cliques, gains, strict=True))

    def round(self, number, model):
        """Scores pairs, measures those with the largest gains, and fits the model to them."""
        candidates = [one + other for one, other in itertools.combinations(self.ones, 2)]
        references = self.marginals(model, [c for c in candidates if c not in self.chosen])
        each = self.rho * SCORES / (ROUNDS + 1)
        distances, sigma = self.table.score(references, each)
        for c, cells in references.items():
            self.pairs[c] = Interaction(self.records, cells, (distances[c], sigma, cells))
        total = self.table.left - each * (ROUNDS + 1 - number)
        parts, gains = self.split(total)
        worth = [c for c in references if parts[c] > 1e-6 * total and gains[c] > 0]
        most, new = math.ceil(len(candidates) * 2 ** (number - 1) / (2**ROUNDS - 1)), []
        for c in sorted(worth, key=lambda c: -gains[c]):
            size = size_mb(self.domain, self.names([*self.chosen, *new, c]))
            if len(new) < most and size <= MODEL_MB * number / ROUNDS:
                new.append(c)
        if not new:
            return model
        self.chosen += new
        self.measure(allocated(min(self.rho * ROUND, sum(parts[c] for c in new)), new, self.domain.sizes))
        return self.learned_fit(model)


def mosaic(table, rho, rng):
    """Rows with the pairs of a table.

    Args:
        table: the private table.
        rho: budget, zCDP.
        rng: source of the noise and the rows.
    """
    run = Run(table, rho, rng)
    run.measure(allocated(ONE_WAY * rho, run.ones, table.domain.sizes))
    model = run.fit([])
    for number in range(1, ROUNDS + 1):
        model = run.round(number, model)
    left = run.table.left - rho * SCORES / (ROUNDS + 1)  # The product's last scores, for error bounds.
    parts, _ = run.split(left)
    run.measure({c: part for c, part in parts.items() if part > 1e-6 * left})
    run.refer(run.fit([]), run.chosen)
    largest = forest({c: run.pairs[c].size() for c in run.chosen}, len(table.domain))
    run.refer(run.fit(largest), [c for c in run.chosen if c not in largest])
    model = run.learned_fit(model, 1e-3)
    outside = [c for c, pair in run.pairs.items() if pair.measured and c not in run.chosen]
    run.refer(model, outside)
    ones = {c: np.maximum(cells, 1e-3) for c, cells in run.marginals(model, list(run.ones)).items()}
    wanted = {}
    for c, name in zip(outside, run.names(outside), strict=True):
        run.pairs[c].reference = np.maximum(run.pairs[c].reference, 1e-3)
        cells = raked(np.maximum(run.pairs[c].estimate()[0], 1e-3), [ones[(a,)] for a in c])
        wanted[name] = (cells * run.records / cells.sum()).ravel()
    return SupplementedModel(model, wanted).generate(run.records, rng)


def allocated(budget, cliques, sizes):
    """A budget in proportion to what minimises the sum of expected L1 errors."""
    shapes = {c: [sizes[a] for a in c] for c in cliques}
    errors = {c: (math.prod(s) * (freedom(s) if len(s) > 1 else 1)) ** (2 / 3) for c, s in shapes.items()}
    return {c: budget * error / sum(errors.values()) for c, error in errors.items()}


def raked(cells, margins):
    """A pair with nearly these one-way marginals."""
    cells = np.maximum(cells, 1e-9)
    for _ in range(2):
        for axis, margin in enumerate(margins):
            cells = cells * np.expand_dims(margin / cells.sum(axis=1 - axis), 1 - axis)
    return cells


def forest(sizes, attributes):
    """The pairs of a maximum spanning forest."""
    lengths = np.zeros((attributes, attributes))
    for c, size in sizes.items():
        lengths[c] = -size
    return list(zip(*minimum_spanning_tree(lengths).nonzero(), strict=True))


def in_classes(deviations):
    """Deviations of cells, in 24 classes of similar ones, to sum over them fast."""
    parts = np.array_split(np.sort(deviations, axis=None), min(24, deviations.size))
    return np.concatenate([np.full(len(part), math.sqrt(np.mean(part**2))) for part in parts])
