import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.mosaic.mosaic import Mosaic
from dpmosaic.simulations import time_limit as module
from dpmosaic.simulations.time_limit import lateness, limited


@pytest.fixture(autouse=True)
def _fast_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "speed", lambda: 2.5 * 1.3333)


def test_more_is_counted_in_a_second_of_a_fast_machine() -> None:
    assert limited(Mosaic(max_model_mb=3.0), 30.0) == Mosaic(max_model_mb=3.0, time_limit=40.0)


@pytest.mark.parametrize(("seconds", "counted"), [(0.01, 0.013), (1, 1.3), (100, 130.0), (86400, 120000.0)])
def test_counted_seconds_have_two_digits(seconds: float, counted: float) -> None:
    assert limited(Mosaic(), seconds) == Mosaic(time_limit=counted)


@pytest.mark.parametrize("mechanism", [Mosaic(), Mosaic(time_limit=5.0), Independent()])
def test_without_seconds_a_mechanism_stays_as_it_is(mechanism: Mosaic | Independent) -> None:
    assert limited(mechanism, None) is mechanism


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_refuses_a_limit_that_is_no_positive_number(seconds: float) -> None:
    with pytest.raises(DataError, match="time limit: expected a number above 0"):
        limited(Mosaic(), seconds)


def test_refuses_a_limit_beside_the_parameter() -> None:
    with pytest.raises(DataError, match=r"expected either seconds of this machine or .* got both"):
        limited(Mosaic(time_limit=5.0), 5.0)


def test_refuses_a_limit_of_another_mechanism() -> None:
    with pytest.raises(DataError, match="expected the mechanism 'mosaic', got 'independent'"):
        limited(Independent(), 5.0)


@pytest.mark.parametrize(("asked", "taken"), [(None, 1e6), (10.0, 3.0), (10.0, 15.0)])
def test_a_release_in_about_the_asked_time_is_not_late(asked: float | None, taken: float) -> None:
    assert lateness(asked, taken) is None


def test_a_late_release_says_what_was_asked_and_what_it_took() -> None:
    said = lateness(10.0, 15.1)
    assert said is not None
    assert said.startswith("the release took 15.1 s, and the time limit was 10 s")
