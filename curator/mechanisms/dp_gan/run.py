"""Trains a DP-GAN on records in one place: what `dp-gan` and `dp-select` share."""

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
    """Noisy one-way marginals: new ones at this cost, or those of a checkpoint, which are charged again.

    Raises:
        DataError: the checkpoint is another training's; nothing was charged.
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
    """A trained generator.

    Guarantee: that of the steps, which are charged here, before a record is touched. With a judge that looks
        at private records: none.

    Args:
        settings: of the networks.
        measurer: that holds the records.
        steps: what is taken and charged.
        start: noisy one-way marginals; public.
        stream: randomness.
        report: called after each tenth of the steps.
        judge: says how bad a snapshot is, one after each tenth; the last one is taken where there is none.
    """
    import torch

    from .encoding import RecordEncoding
    from .model import GeneratorModel
    from .training import Training

    if settings.device == "cuda" and not torch.cuda.is_available():
        raise DataError("device: expected a GPU that PyTorch can use, found none; take 'cpu'")
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

    def tell() -> None:
        if checkpoint is not None:
            checkpoint.keep(start, training.state())
        if judge is not None:
            snapshot = model()
            judged.append((judge(snapshot), snapshot))
        report(Progress(f"{TRAINING}: step {training.taken} of {steps.steps}", (), 0, spent))

    training.run(encoding.encode(table), tell)
    return min(judged, key=lambda pair: pair[0])[1] if judged else model()


def _checkpoint(settings: GanSettings, measurer: HoldsRecords) -> Checkpoint | None:
    """The file named in the settings, for this training alone."""
    if settings.checkpoint is None:
        return None
    training = {
        "parameters": {name: value for name, value in settings.described().items() if name != "device"},
        "granted": str(measurer.accountant.granted),
        "order": measurer.budget.order.alpha,
        "domain": measurer.domain.digest(),
        "records": measurer.record_count,
    }
    return Checkpoint(Path(settings.checkpoint), training)
