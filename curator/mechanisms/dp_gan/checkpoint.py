"""Checkpoints of a training: noisy values and networks trained on them, no records.

A training that resumes starts from the measurements and networks of the stopped one. So that one promise
covers both, the file states the parameters of the stopped one, and its one-way marginals are charged again
instead of new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ....common.data.view import View
from ....common.errors import DataError
from ....common.measurement import Measurement
from ....common.privacy.budget import Charge


@dataclass(frozen=True, eq=False)
class Start:
    """The measurements that a training starts from.

    Attributes:
        one_way: noisy one-way marginals.
        charges: their charges.
    """

    one_way: tuple[Measurement, ...]
    charges: tuple[Charge, ...]


class Checkpoint:
    """The file of a checkpoint.

    Args:
        path: path of the file; it need not exist.
        training: parameters of the training, as plain values; the file of another training is refused.
    """

    def __init__(self, path: Path, training: Mapping[str, Any]) -> None:
        self._path = path
        self._training = dict(training)

    def start(self) -> Start | None:
        """The measurements that the training of the file started from; None without a file.

        Raises:
            DataError: the file is not a checkpoint of this training.
        """
        if not self._path.exists():
            return None
        return _start(self._read())

    def state(self, device: str) -> dict[str, Any] | None:
        """The networks and their progress; None without a file."""
        if not self._path.exists():
            return None
        state: dict[str, Any] = self._read(device)["state"]
        return state

    def save(self, start: Start, state: Mapping[str, Any]) -> None:
        """Writes the file; after a crash, the old one remains.

        Raises:
            DataError: the file cannot be written.
        """
        import torch

        beside = self._path.with_name(self._path.name + ".part")
        content = {"training": self._training, "start": _form(start), "state": dict(state)}
        try:
            torch.save(content, beside)
            beside.replace(self._path)
        except (OSError, RuntimeError) as cause:
            raise DataError(f"cannot write the checkpoint {self._path}; choose another path") from cause

    def _read(self, device: str = "cpu") -> dict[str, Any]:
        import torch

        try:
            content: dict[str, Any] = torch.load(self._path, map_location=device, weights_only=True)
            same = content["training"] == self._training and {"start", "state"} <= content.keys()
        except Exception as cause:
            raise DataError(f"{self._path} is not a checkpoint; remove it or name another file") from cause
        if not same:
            raise DataError(
                f"the checkpoint {self._path} is for a training with another table, budget or parameters; "
                "remove it or name another file"
            )
        return content


def _form(start: Start) -> dict[str, Any]:
    import torch

    return {
        "measured": [(m.clique[0], torch.from_numpy(m.values), m.sigma, m.zcdp_rho) for m in start.one_way],
        "charged": [(c.step, c.clique, str(c.zcdp_rho), c.sigmas) for c in start.charges],
    }


def _start(content: Mapping[str, Any]) -> Start:
    form = content["start"]
    return Start(
        tuple(
            Measurement(View((name,)), values.numpy(), sigma, rho)
            for name, values, sigma, rho in form["measured"]
        ),
        tuple(Charge(step, clique, Fraction(rho), sigmas) for step, clique, rho, sigmas in form["charged"]),
    )
