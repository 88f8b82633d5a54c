"""Rounds that may each take twice as many marginals as the one before."""

import math

import pytest

from dpmosaic.curator.mechanisms.parts.schedule import Schedule


@pytest.mark.parametrize("candidates", [1, 6, 15, 1000])
def test_rounds_together_may_take_all_candidates_and_each_about_twice_as_many(candidates):
    schedule = Schedule(4, 16.0)
    most = [schedule.most(number, candidates) for number in range(1, 5)]
    assert sum(most) >= candidates
    assert most == [math.ceil(candidates * part / 15) for part in (1, 2, 4, 8)]


def test_the_models_limit_grows_evenly_to_the_whole():
    assert [Schedule(4, 16.0).limit_mb(number) for number in range(1, 5)] == [4.0, 8.0, 12.0, 16.0]
