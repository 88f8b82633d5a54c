"""Bytes and seconds of one release: reserved, freed and refused."""

import pytest

from dpmosaic.common.errors import PolicyError
from dpmosaic.party.policies.allowance import Allowance, Processors, Quota
from dpmosaic.party.policies.policy import Policy


def test_bytes_are_reserved_up_to_the_limit_and_freed():
    quota = Quota(10, "max_memory_mb")
    quota.reserve({"a": 4, "b": 6})
    with pytest.raises(PolicyError, match="max_memory_mb"):
        quota.reserve({"c": 1})
    quota.free(["a", "never reserved"])
    quota.reserve({"c": 4})


def test_a_purpose_replaces_its_earlier_reservation():
    quota = Quota(10, "max_memory_mb")
    quota.reserve({"a": 10})
    quota.reserve({"a": 3})
    quota.reserve({"b": 7})


def test_a_refused_reservation_changes_nothing():
    quota = Quota(10, "max_memory_mb")
    quota.reserve({"a": 5})
    with pytest.raises(PolicyError):
        quota.reserve({"a": 1, "b": 10})
    with pytest.raises(PolicyError):
        quota.reserve({"c": 6})


def test_bytes_of_a_step_are_free_after_it_also_after_an_error():
    quota = Quota(10, "max_memory_mb")
    with pytest.raises(ZeroDivisionError), quota.during(10):
        raise ZeroDivisionError
    with quota.during(10), pytest.raises(PolicyError), quota.during(1):
        pass
    quota.reserve({"a": 10})


def test_the_limits_of_the_policy_are_in_mebibytes():
    allowance = Allowance.of(Policy(max_memory_mb=1, max_disk_mb=2), Processors(1))
    allowance.memory.reserve({"a": 1 << 20})
    allowance.disk.reserve({"a": 2 << 20})
    with pytest.raises(PolicyError, match="max_memory_mb"):
        allowance.memory.reserve({"b": 1})
    with pytest.raises(PolicyError, match="max_disk_mb"):
        allowance.disk.reserve({"b": 1})


def test_seconds_are_counted_also_for_a_step_that_fails_and_for_no_other_thread():
    now = [0.0]
    processors = Processors(3, clock=lambda: now[0])

    def failing():
        with processors.count_time():
            now[0] += 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    now[0] += 100
    processors.check()
    with processors.count_time():
        now[0] += 1
    with pytest.raises(PolicyError, match="max_cpu_seconds"):
        processors.check()


def test_a_long_step_is_stopped_within():
    now = [0.0]
    processors = Processors(3, clock=lambda: now[0])
    with processors.count_time():
        now[0] += 2
        processors.check()
        now[0] += 1
        with pytest.raises(PolicyError, match="max_cpu_seconds"):
            processors.check()
