"""Random releases: no record loses more than was charged, and answers have the noise that was stated.

Each release of a mechanism is one seed. For the whole file, about 900 statistical checks raise a false alarm
with probability 1e-9 each; the other checks are exact. `tests/soak/audit.py` runs more seeds.
"""

import math

import numpy as np
import pytest

from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from support.audit_cases import MAKERS, case_of
from support.auditing import alarms, audited, replayed, worst_squared_shift

RUNS = 8
"""Releases of each mechanism."""

MECHANISMS = [
    pytest.param(place, id=f"{make().name} {make().describe()['variant']} {place}")
    for place, make in enumerate(MAKERS)
]


def seeds_of(place):
    return range(place, place + RUNS * len(MAKERS), len(MAKERS))


@pytest.mark.slow
@pytest.mark.parametrize("place", MECHANISMS)
def test_no_record_of_any_table_loses_more_than_every_ledger_and_the_accountant_state(place, monkeypatch):
    ratios = []
    for seed in seeds_of(place):
        case = case_of(seed)
        run = audited(monkeypatch, case.mechanism, case.table, case.trial, case.workload)
        accountant, *ledgers = run.stated
        assert len(set(ledgers)) == 1, (seed, str(case))
        assert ledgers[0] <= accountant <= case.trial.granted, (seed, str(case))
        assert alarms(run) == set(), (seed, str(case))
        mu = math.sqrt(worst_squared_shift(run))
        ratios.append(mu**2 / (2 * ledgers[0]))
        if case.budget.epsilon is not None:
            assert gaussian_epsilon(mu, case.budget.delta) <= case.budget.epsilon, (seed, str(case))
    # The audit has power: in some table, a record loses nearly all that is stated.
    assert max(ratios) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("place", MECHANISMS)
def test_a_mechanism_uses_the_answers_of_the_parties_and_nothing_else_of_the_table(place, monkeypatch):
    case = case_of(place)
    run = audited(monkeypatch, case.mechanism, case.table, case.trial, case.workload)
    other = Table(case.table.domain, tuple(np.zeros_like(column) for column in case.table.columns))
    again = replayed(case.mechanism, run, other, case.workload)
    for clique in case.workload.cliques:
        assert again.model.marginal(clique).tolist() == run.fitted.model.marginal(clique).tolist()
