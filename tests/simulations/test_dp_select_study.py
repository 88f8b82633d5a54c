"""The experiments of the DP-Select paper, on a table whose label follows one attribute."""

from collections import Counter

import numpy as np
import pytest

from dpmosaic.common.attribute import CategoricalAttribute, NumericAttribute
from dpmosaic.common.domain import Domain
from dpmosaic.common.table import Table
from dpmosaic.simulations import dp_select_study as study

DOMAIN = Domain(
    (
        NumericAttribute("age", 0, 80, bins=16),
        CategoricalAttribute("job", ("x", "y", "z")),
        CategoricalAttribute("rich", ("no", "yes")),
    )
)


def people(records, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 16, records)
    rich = (age >= 10) ^ (rng.random(records) < 0.05)
    return Table.from_codes(
        DOMAIN, np.column_stack([age, rng.integers(0, 3, records), rich.astype(np.int64)])
    )


def test_a_tree_that_learnt_from_the_same_distribution_is_right_where_the_label_can_be_known():
    assert study.tree_accuracy(people(4000), people(2000, seed=1), "rich") == pytest.approx(0.95, abs=0.02)


def test_a_tree_that_learnt_from_noise_is_not():
    rng = np.random.default_rng(0)
    noise = Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, 4000) for n in DOMAIN.sizes]))
    assert study.tree_accuracy(noise, people(2000, seed=1), "rich") < 0.7


def test_every_method_meets_every_epsilon_and_seed_and_sweeps_change_one_thing():
    cells = list(study.comparison((0.5, 8.0), (1, 2, 3)))
    assert len(cells) == len(set((c.epsilon, c.seed, c.method.name) for c in cells)) == 6 * len(study.METHODS)
    counts = Counter(cell.sweep for cell in study.sweeps(seeds=(1,)))
    assert counts == {"gan": 4, "pool": 4, "distance": 3, "sections": 4, "at_once": 4}
    for cell in study.sweeps(seeds=(1,)):
        changed = dict(cell.method.settings.items() - study.EXPONENTIAL.settings.items())
        assert set(changed) <= {cell.sweep}
    assert len(list(study.quick())) == len(study.METHODS) + 10


def marked(method):
    central = method.mechanism in ("dp-gan", "dp-select")
    return pytest.param(method, id=method.name, marks=[pytest.mark.gan] if central else [])


@pytest.mark.parametrize("method", [marked(method) for method in study.METHODS])
def test_every_method_of_the_comparison_runs_and_says_how_long_each_step_took(method):
    cell = study.Cell("comparison", 8.0, method, 1)
    outcome = study.released(cell, people(900), "rich", study.QUICK)
    assert 0.3 < outcome.majority < 0.8
    assert 0 <= outcome.accuracy <= 1
    assert sum(outcome.parts.values()) <= outcome.seconds
    assert ("dp-gan" in outcome.parts) == (method.mechanism in ("dp-gan", "dp-select"))
