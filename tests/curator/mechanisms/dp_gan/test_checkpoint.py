"""Checkpoints of a training."""

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra 'gan' is not installed")

from dpmosaic.common.data.view import View  # noqa: E402
from dpmosaic.common.errors import DataError  # noqa: E402
from dpmosaic.common.measurement import Measurement  # noqa: E402
from dpmosaic.common.privacy.budget import Charge  # noqa: E402
from dpmosaic.curator.mechanisms.dp_gan.checkpoint import Checkpoint, Start  # noqa: E402

pytestmark = pytest.mark.gan

START = Start(
    (Measurement(View(("a",)), np.array([3.5, -1.0]), 2.0, 0.125),),
    (Charge("one-way", ("a",), Fraction(1, 3), ((2.0,),)),),
)
STATE = {"taken": 4, "generator": {"w": torch.ones(2)}}
TRAINING = {"parameters": {"epochs": 2.0, "noise_multiplier": None}, "granted": "1/7"}


@pytest.fixture
def path(tmp_path):
    Checkpoint(tmp_path / "state.pt", TRAINING).save(START, STATE)
    return tmp_path / "state.pt"


def test_reads_back_what_was_saved(path):
    checkpoint = Checkpoint(path, TRAINING)
    start = checkpoint.start()
    assert start.charges == START.charges
    assert (start.one_way[0].clique, start.one_way[0].sigma, start.one_way[0].zcdp_rho) == (
        ("a",),
        2.0,
        0.125,
    )
    assert start.one_way[0].values.tolist() == [3.5, -1.0]
    state = checkpoint.state("cpu")
    assert state["taken"] == 4
    assert state["generator"]["w"].tolist() == [1.0, 1.0]


def test_a_missing_file_has_no_start(tmp_path):
    checkpoint = Checkpoint(tmp_path / "none.pt", TRAINING)
    assert checkpoint.start() is None
    assert checkpoint.state("cpu") is None


def test_refuses_the_file_of_another_training(path):
    for changed in ({**TRAINING, "granted": "2/7"}, {**TRAINING, "parameters": {"epochs": 3.0}}):
        with pytest.raises(DataError, match="another table, budget or parameters"):
            Checkpoint(path, changed).start()


def test_refuses_a_file_that_is_not_a_checkpoint(path, tmp_path):
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="is not a checkpoint; remove it"):
        Checkpoint(path, TRAINING).start()
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(DataError, match="is not a checkpoint"):
        Checkpoint(tmp_path / "list.pt", TRAINING).state("cpu")


def test_refuses_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match="cannot write the checkpoint"):
        Checkpoint(tmp_path / "missing" / "state.pt", TRAINING).save(START, STATE)


def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch):
    def torn(content, file):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", torn)
    with pytest.raises(DataError):
        Checkpoint(path, TRAINING).save(START, {"taken": 9})
    assert Checkpoint(path, TRAINING).state("cpu")["taken"] == 4
