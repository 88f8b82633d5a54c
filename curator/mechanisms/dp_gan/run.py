"""Training of a DP-GAN on central records, for `dp-gan` and `dp-select`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ....common.crypto.randomness import RandomStream
from ....common.errors import DataError
from ....common.privacy.renyi import SampledGaussian
from ...measurers.capabilities import HoldsRecords
from ..independent import one_way_marginals
from ..parts.fitted import Progress, Report
from .checkpoint import Checkpoint, Start
from .settings import TRAINING, GanSettings, training_charge

if TYPE_CHECKING:
    from .model import GeneratorModel


def start_of(settings: GanSettings, measurer: HoldsRecords, budget: Fraction) -> Start:
    """Noisy one-way marginals: new ones with this budget, or those of a checkpoint, charged again.

    Raises:
        DataError: the checkpoint belongs to another training; nothing was charged.
    """
    checkpoint = _checkpoint(settings, measurer)
    found = None if checkpoint is None else checkpoint.start()
    if found is not None:
        measurer.charge(*found.charges)
        return found
    known = len(measurer.accountant.charges)
    measured = one_way_marginals(measurer, budget)
    return Start(tuple(measured), measurer.accountant.charges[known:])


def train(
    settings: GanSettings,
    measurer: HoldsRecords,
    steps: SampledGaussian,
    start: Start,
    stream: RandomStream,
    report: Report,
    judge: Callable[[GeneratorModel], float] | None = None,
) -> GeneratorModel:
    """Trains a generator.

    Guarantee: that of the steps, which are charged here before any record is read. None if `judge` reads
        private records.

    Args:
        settings: parameters of the training.
        measurer: a measurer that holds the records.
        steps: training steps to run and charge.
        start: noisy one-way marginals; public.
        stream: source of randomness.
        report: called with the progress after each tenth of the steps.
        judge: error of a snapshot after each tenth of the steps; the best is returned, else the last.
    """
    import torch

    from .encoding import RecordEncoding
    from .model import GeneratorModel
    from .training import Training

    if settings.device == "cuda" and not torch.cuda.is_available():
        raise DataError("device: expected a GPU that PyTorch can use, got none; use 'cpu'")
    table = measurer.records(training_charge(steps, measurer.budget.order.alpha))
    spent = measurer.accountant.spent_share
    encoding = RecordEncoding.of(measurer.domain, {m.clique[0]: m.values for m in start.one_way})
    checkpoint = _checkpoint(settings, measurer)
    training = Training(
        encoding,
        settings,
        steps,
        measurer.record_count,
        stream.child("training"),
        None if checkpoint is None else checkpoint.state(settings.device),
    )
    judged: list[tuple[float, GeneratorModel]] = []

    def model() -> GeneratorModel:
        return GeneratorModel(
            encoding, training.generator(), measurer.record_count, stream.child("marginals")
        )

    def on_tenth() -> None:
        if checkpoint is not None:
            checkpoint.save(start, training.state())
        if judge is not None:
            snapshot = model()
            judged.append((judge(snapshot), snapshot))
        report(Progress(f"{TRAINING}: step {training.taken} of {steps.steps}", (), 0, spent))

    training.run(encoding.encode(table), on_tenth)
    return min(judged, key=lambda pair: pair[0])[1] if judged else model()


def _checkpoint(settings: GanSettings, measurer: HoldsRecords) -> Checkpoint | None:
    """The checkpoint file of the settings, bound to this training; None if not set."""
    if settings.checkpoint is None:
        return None
    training = {
        "parameters": {
            name: value for name, value in settings.without_checkpoint().items() if name != "device"
        },
        "granted": str(measurer.accountant.granted),
        "order": measurer.budget.order.alpha,
        "domain": measurer.domain.digest(),
        "records": measurer.record_count,
    }
    return Checkpoint(Path(settings.checkpoint), training)
