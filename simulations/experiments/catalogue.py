"""All experiments by name; each paper has a module in `papers`, which is registered here."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.errors import DataError
from .experiment import Experiment
from .papers import absyn, dp_select, ppsyn, privbayes, randdpgen_figures, randdpgen_tables

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *randdpgen_tables.EXPERIMENTS,
        *randdpgen_figures.EXPERIMENTS,
        *absyn.EXPERIMENTS,
        *ppsyn.EXPERIMENTS,
        *privbayes.EXPERIMENTS,
        *dp_select.EXPERIMENTS,
    )
}


def experiment_named(name: str) -> Experiment:
    """The experiment of this name.

    Raises:
        DataError: the experiment does not exist; lists those that do.
    """
    if name not in EXPERIMENTS:
        raise DataError(f"experiment: expected one of {', '.join(EXPERIMENTS)}; got {name!r}")
    return EXPERIMENTS[name]
