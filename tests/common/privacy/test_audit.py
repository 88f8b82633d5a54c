"""An audit: the best adversary distinguishes neighbouring tables from noisy marginals.

The audit measures, over many runs on two neighbouring tables, how often a threshold test is right, and turns
that into a lower bound on epsilon with Clopper-Pearson intervals. For a correct program the bound exceeds
the promise with probability at most 2e-6 for each audit (two intervals of failure 1e-6). Three planted bugs
show that the audit detects them.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import differences
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.messages import Introduction
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.common.privacy.cost import Adjacency, gaussian_sigma, grid_of
from dpmosaic.common.privacy.noise import noisy_counts
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire.streams import decode_answer
from dpmosaic.party.policies.policy import Policy
from support.parties import party_of
from support.terms import RELEASE_ID, alone, terms_of

EPSILON, DELTA, RUNS = 1.0, 1e-5, 40_000
SIGMA = gaussian_sigma(Budget(EPSILON, DELTA).granted(gaussian_only=True), Adjacency.ZERO_OUT)
WITH, WITHOUT = np.array([5, 7, 2]), np.array([5, 6, 2])


def audited_epsilon(noisy_with, noisy_without, threshold=(WITH[1] + WITHOUT[1]) / 2):
    """Lower bound on epsilon from a threshold, by default half-way between the two counts.

    A mu-GDP mechanism forces quantile(1 - false alarms) - quantile(misses) <= mu on every test, so upper
    bounds on both error rates give a lower bound on mu, and that one on epsilon at DELTA.
    """
    rates = []
    for errors in (noisy_with < threshold, noisy_without >= threshold):
        wrong, runs = errors.sum(), len(errors)
        rates.append(stats.beta.ppf(1 - 1e-6, wrong + 1, runs - wrong))
    mu = stats.norm.isf(rates[1]) - stats.norm.ppf(rates[0])
    return gaussian_epsilon(mu, DELTA) if mu > 0 else 0.0


def noisy_cell(counts, sigma, seed, runs=RUNS):
    tables = np.broadcast_to(counts, (runs, len(counts)))
    return noisy_counts(tables, sigma, RandomStream.from_seed(seed))[:, 1] / grid_of(sigma)


def test_a_noisy_marginal_passes_the_audit_and_the_audit_has_power():
    found = audited_epsilon(noisy_cell(WITH, SIGMA, 1), noisy_cell(WITHOUT, SIGMA, 2))
    assert 0.6 * EPSILON < found <= EPSILON


def test_the_audit_detects_half_the_noise():
    assert audited_epsilon(noisy_cell(WITH, SIGMA / 2, 1), noisy_cell(WITHOUT, SIGMA / 2, 2)) > EPSILON


def test_the_audit_detects_a_doubled_sensitivity():
    doubled = noisy_cell(np.array([5, 8, 2]), SIGMA, 1)
    assert audited_epsilon(doubled, noisy_cell(WITHOUT, SIGMA, 2)) > EPSILON


PAIR = (2, 2)
PAIR_WITH, PAIR_WITHOUT = np.array([5, 7, 2, 4]), np.array([5, 6, 2, 4])


def noisy_interaction(counts, sigma, seed):
    """The one difference that is released of a pair of binary attributes."""
    tables = np.broadcast_to(counts, (RUNS, 4))
    noisy = noisy_counts(tables, sigma, RandomStream.from_seed(seed)) / grid_of(sigma)
    return noisy @ np.array([differences(cell, PAIR)[0] for cell in np.eye(4)])


def test_an_interaction_at_half_the_noise_passes_the_audit_and_its_cells_would_not():
    sigma = gaussian_sigma(Budget(EPSILON, DELTA).granted(gaussian_only=True), Adjacency.ZERO_OUT, PAIR)
    assert sigma == pytest.approx(SIGMA / 2, rel=1e-4)
    sent = [noisy_interaction(counts, sigma, seed) for seed, counts in ((1, PAIR_WITHOUT), (2, PAIR_WITH))]
    # The record's cell counts negatively.
    threshold = (5 - 6 - 2 + 4 + 5 - 7 - 2 + 4) / 2
    assert 0.6 * EPSILON < audited_epsilon(*sent, threshold) <= EPSILON
    assert audited_epsilon(noisy_cell(WITH, sigma, 1), noisy_cell(WITHOUT, sigma, 2)) > 1.5 * EPSILON


def test_the_audit_detects_noise_drawn_twice_from_one_key():
    """Two answers under one key: their difference has no noise and distinguishes the tables."""
    first = noisy_counts(np.broadcast_to(WITH, (200, 3)), SIGMA, RandomStream.from_seed(3))
    again = noisy_counts(np.broadcast_to(WITHOUT, (200, 3)), SIGMA, RandomStream.from_seed(3))
    difference = (first - again)[:, 1] / grid_of(SIGMA)
    assert audited_epsilon(WITHOUT[1] + np.tile(difference, 100), np.full(20_000, WITHOUT[1])) > EPSILON


@pytest.mark.parametrize(
    ("protocol", "form"),
    [
        ("trusted", AnswerForm.HISTOGRAM),
        ("indicator", AnswerForm.HISTOGRAM),
        ("indicator", AnswerForm.RECORD_WISE),
        ("masked", AnswerForm.SHARE),
    ],
)
def test_a_party_never_draws_one_noise_for_two_queries(protocol, form):
    """Equal answers would show a key used twice; by chance two agree with a probability under 1e-7.

    A single party has no masks: its answers differ only by noise.
    """
    domain = Domain.coded({"a": 3})
    table = Table.from_codes(domain, np.repeat([0, 1, 2], [5, 7, 2])[:, None])
    policy = Policy(frozenset({protocol}), frozenset(Adjacency), Fraction(10), Fraction(10), 1, 10)
    identity = Identity.from_seed(bytes(32))
    party = party_of("p", table, policy, identity=identity)
    plan = alone(domain, 14, "p", identity.public)
    if protocol == "masked":
        plan = MaskedPlan(plan.domain, plan.roster, 0, Ring(32))
    accepted = party.accept(encode_terms(terms_of(protocol=protocol, granted=10.0, plan=plan)))
    if protocol == "masked":
        party.introduce(Introduction(RELEASE_ID, (accepted,)))
    rows = table.record_count if form is AnswerForm.RECORD_WISE else 1
    answers = set()
    for number in range(20):
        query = MarginalQuery(RELEASE_ID, str(number), form, View(("a",)), SIGMA)
        (block,) = decode_answer(party.answer(query), rows, 3, rows)
        answers.add(block.tobytes())
    assert len(answers) == 20
