"""Reads the model of a release, whichever mechanism made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...common.errors import DataError
from ..mechanisms.parts import records
from ..mechanisms.parts.released import ReleasedModel
from ..mechanisms.privbayes import network
from ..pgm import archive, model, supplemented

_LOADERS: Mapping[str, Callable[[str | Path], ReleasedModel]] = {
    model.FORMAT: model.MarkovRandomField.load,
    supplemented.FORMAT: supplemented.SupplementedModel.load,
    network.FORMAT: network.BayesianNetwork.load,
    records.FORMAT: records.SelectedRecords.load,
}


def load_model(path: str | Path) -> ReleasedModel:
    """Reads `model.npz` of a release.

    The model gives marginals (`marginal`) and further rows (`generate`), which cost no budget. The generator
    of the mechanism dp-gan cannot be read back: its weights are written for the record.

    Args:
        path: of the file.

    Returns:
        The model, with the same marginals as when it was released; one seed gives the same rows.

    Raises:
        DataError: the file cannot be read, or holds no model that can be loaded.
    """
    kind = archive.format_of(path)
    if kind == archive.GENERATOR:
        raise DataError(
            f"{path} holds the generator of dp-gan, which cannot be loaded: work with the release's rows"
        )
    if kind not in _LOADERS:
        raise DataError(f"{path} holds a model of another version; load it with the one that wrote it")
    return _LOADERS[kind](path)
