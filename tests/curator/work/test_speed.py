import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dpmosaic.curator.work import speed as module
from dpmosaic.curator.work.speed import REFERENCE_S, measure_speed, speed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, without a speed."""
    monkeypatch.setattr(module, "folder_of", lambda _: tmp_path)
    return tmp_path


@pytest.fixture
def measurements(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The speeds that are measured, one after another."""
    found: list[float] = []

    def measure(_: Callable[[], float]) -> float:
        found.append(2.0 + len(found))
        return found[-1]

    monkeypatch.setattr(module, "measure_speed", measure)
    return found


@pytest.mark.slow
def test_the_fastest_repetition_of_the_work_is_compared_with_the_reference() -> None:
    # Started at even places; the third repetition takes half of the reference, the others five times as long.
    lengths = [5.0, 5.0, 0.5, 5.0, 5.0, 5.0, 5.0, 5.0]
    ends = itertools.accumulate(
        itertools.chain.from_iterable((0.0, length * REFERENCE_S) for length in lengths)
    )
    assert measure_speed(lambda: next(ends)) == pytest.approx(2.0)


def test_the_speed_of_a_machine_is_measured_once(folder: Path, measurements: list[float]) -> None:
    assert [speed(), speed()] == [2.0, 2.0]
    assert measurements == [2.0]
    assert [path.name for path in folder.iterdir()] == ["speed.json"]


def test_the_file_names_no_machine(folder: Path, measurements: list[float]) -> None:
    speed()
    said = json.loads((folder / "speed.json").read_text())
    assert set(said) == {"machine", "speed"}
    assert set(said["machine"]) <= set("0123456789abcdef")


def test_another_machine_is_measured_again(
    folder: Path, measurements: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    speed()
    monkeypatch.setattr("platform.node", lambda: "another")
    assert [speed(), speed()] == [3.0, 3.0]


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b"none"])
def test_a_damaged_file_is_replaced(folder: Path, measurements: list[float], content: bytes) -> None:
    (folder / "speed.json").write_bytes(content)
    assert [speed(), speed()] == [2.0, 2.0]


@pytest.mark.parametrize("kept", ["0", "-1.0", "Infinity", "NaN", '"fast"', "null"])
def test_a_speed_that_is_no_positive_number_is_measured_again(
    folder: Path, measurements: list[float], kept: str
) -> None:
    speed()
    path = folder / "speed.json"
    path.write_text(path.read_text().replace("2.0", kept))
    assert [speed(), speed()] == [3.0, 3.0]


def test_without_a_folder_the_speed_is_measured_each_time(
    measurements: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "folder_of", lambda _: None)
    assert [speed(), speed()] == [2.0, 3.0]


def test_where_no_file_can_be_written_the_speed_is_measured_each_time(
    tmp_path: Path, measurements: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "folder_of", lambda _: tmp_path / "missing")
    assert [speed(), speed()] == [2.0, 3.0]
