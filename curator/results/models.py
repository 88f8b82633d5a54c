"""Reads the model of a release by any mechanism."""

from __future__ import annotations

from pathlib import Path

from ...common.errors import DataError
from ..mechanisms.parts.records import SelectedRecords
from ..mechanisms.parts.released import ReleasedModel
from ..mechanisms.privbayes.network import BayesianNetwork
from ..pgm import archive
from ..pgm.model import MarkovRandomField
from ..pgm.supplemented import SupplementedModel

_MODELS = {
    one.format: one for one in (MarkovRandomField, SupplementedModel, BayesianNetwork, SelectedRecords)
}


def load_model(path: str | Path) -> ReleasedModel:
    """Reads `model.npz` of a release.

    The model gives marginals (`marginal`) and further rows (`generate`), which cost no budget. The generator
    of the mechanism dp-gan cannot be loaded; its weights are written for documentation only.

    Args:
        path: path of the file.

    Returns:
        The model, with the same marginals as when it was released, and the same rows from the same seed.

    Raises:
        DataError: the file cannot be read, or holds no loadable model.
    """
    kind = archive.format_of(path)
    if kind == archive.GENERATOR:
        raise DataError(
            f"{path}: expected a model, got the generator of dp-gan, which cannot be loaded; use the "
            "release's rows"
        )
    if kind not in _MODELS:
        raise DataError(
            f"{path}: expected a model of this version, got another; load it with the version that wrote it"
        )
    found: ReleasedModel = _MODELS[kind].load(path)
    return found
