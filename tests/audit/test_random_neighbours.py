"""A random row or person, added to a random table, shows only in noisy counts; see `replayed_noise`."""

import numpy as np
import pytest

from support import leaks
from support.random_rows import (
    as_related,
    people_and_neighbour,
    said_of_a_study,
    study_and_neighbour,
    table_and_neighbour,
)
from support.replayed_noise import alarms
from support.shown import in_python, people_in_python

pytestmark = pytest.mark.slow

SETTINGS = {"mechanism": "independent", "anyway": True, "progress": False}


@pytest.mark.parametrize("seed", range(30))
def test_an_odd_row_among_times_shows_only_in_noisy_counts(seed):
    rng = np.random.default_rng(seed)
    tables = table_and_neighbour(rng)
    release = in_python(**SETTINGS, epsilon=float(rng.choice([3, 30, 300])))
    assert alarms(release, *tables) - {"refused"} == set()


@pytest.mark.parametrize("seed", range(16))
def test_an_odd_person_in_an_order_shows_only_in_noisy_counts(seed):
    rng = np.random.default_rng(seed)
    tables, options = people_and_neighbour(rng), {"epsilon": float(rng.choice([10, 30, 300]))}
    if seed % 2:
        options |= {"key": "who", "order": "begun", "per_person": ["sex"]}
        options |= {"series": "ward"} if rng.random() < 0.5 else {}
    else:
        tables = [as_related(rows) for rows in tables]
        options |= {"relations": {"stays": {"who": "people"}, "events": {"stay": "stays"}}}
        options |= {"order": {"stays": "begun", "events": "at"}}
        options |= {"within": {"events": ("begun", "ended")}} if rng.random() < 0.3 else {}
    release = people_in_python(**SETTINGS, **options, drop_incomplete=True)
    # What numbers of rows cost stands in the certificate of the whole alone.
    assert alarms(release, *tables) - {"cost", "refused"} == set()


def alarms_of_a_study(seed):
    rng = np.random.default_rng(seed)
    tables, options = study_and_neighbour(rng), {"epsilon": float(rng.choice([10, 30, 300]))}
    release = people_in_python(**SETTINGS | said_of_a_study(rng) | options, drop_incomplete=True)
    # What numbers of rows cost stands in the certificate of the whole alone.
    return alarms(release, *tables) - {"cost"}


STUDIES = range(24)


@pytest.mark.parametrize("seed", STUDIES)
def test_a_person_who_contradicts_what_is_said_of_rows_shows_only_in_noisy_counts(seed):
    assert alarms_of_a_study(seed) == set()


def test_a_planted_fault_in_the_order_of_rows_is_found(monkeypatch):
    leaks.a_text_decides_the_order_of_all_rows(monkeypatch)
    assert any("counts" in alarms_of_a_study(seed) for seed in STUDIES)
