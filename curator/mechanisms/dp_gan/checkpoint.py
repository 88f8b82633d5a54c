"""The state of a training that may stop, in a file: noisy values and networks trained on them, no record.

A training that goes on starts from what the stopped one had measured and learnt. So that one promise
covers both, the file says what the stopped one was to be, and its one-way marginals are charged again in
place of new ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ....common.errors import DataError
from ....common.measurement import Measurement
from ....common.privacy.budget import Charge


@dataclass(frozen=True, eq=False)
class Start:
    """What a training starts from.

    Attributes:
        one_way: noisy one-way marginals.
        charges: what they cost.
    """

    one_way: tuple[Measurement, ...]
    charges: tuple[Charge, ...]


class Checkpoint:
    """A checkpoint's file.

    Args:
        path: of the file; it need not be there yet.
        training: what is trained on what, as plain values: another training's file is refused.
    """

    def __init__(self, path: Path, training: Mapping[str, Any]) -> None:
        self._path = path
        self._training = dict(training)

    def start(self) -> Start | None:
        """What the training of the file started from; None where there is no file.

        Raises:
            DataError: it is no checkpoint of this training.
        """
        if not self._path.exists():
            return None
        return _start(self._read())

    def state(self, device: str) -> dict[str, Any] | None:
        """The networks and how far they are; None where there is no file."""
        if not self._path.exists():
            return None
        state: dict[str, Any] = self._read(device)["state"]
        return state

    def keep(self, start: Start, state: Mapping[str, Any]) -> None:
        """Writes the file; a crash leaves the old one.

        Raises:
            DataError: it cannot be written.
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
            raise DataError(f"{self._path} is no checkpoint; remove it or name another file") from cause
        if not same:
            raise DataError(
                f"the checkpoint {self._path} is of a training with another table, budget or parameters; "
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
            Measurement((name,), values.numpy(), sigma, rho) for name, values, sigma, rho in form["measured"]
        ),
        tuple(Charge(step, clique, Fraction(rho), sigmas) for step, clique, rho, sigmas in form["charged"]),
    )
