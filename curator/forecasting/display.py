"""A forecast as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Console

from ...common.privacy.rounding import text_above
from ...common.showing.printable import printable
from ...common.showing.tables import terminal_table
from .by_files import trips_text
from .forecast import Forecast
from .outlook import MarginalOutlook
from .resources import Resources

_MARGINALS_SHOWN = 20


def print_forecast(console: Console, forecast: Forecast) -> None:
    """Prints promise, steps, traffic, time, and the noisiest marginals of the workload."""
    promised = [f"rho {float(forecast.granted):.6g}"]
    if forecast.epsilon is not None:
        promised.insert(
            0, f"epsilon {text_above(forecast.epsilon, 6)} at delta {text_above(forecast.delta or 0.0, 3)}"
        )
    console.print(f"Promise: {', '.join(promised)}. Nothing was measured or charged.")
    if forecast.bins_rho is not None:
        console.print(
            f"A release before chooses bins for rho {forecast.bins_rho:.4g}; below, their number is as "
            "planned and their widths are equal."
        )
    steps = (
        (
            step.title,
            step.name,
            str(step.times),
            str(step.marginals),
            f"{step.zcdp_rho:.4g}",
            f"{step.query_zcdp_rho:.3g}",
            "" if step.sigmas is None else _range(*step.sigmas),
        )
        for step in forecast.outlook.steps
    )
    of_steps = "step", "charged as", "times, at most", "marginals, at most", "rho", "of one query", "sigma"
    console.print(terminal_table(of_steps, steps))
    each = zip(forecast.parties, forecast.traffic.received, forecast.traffic.sent, strict=True)
    parties = ((name, f"{received / 2**20:.1f}", f"{sent / 2**20:.1f}") for name, received, sent in each)
    console.print(terminal_table(("party or dealer", "receives, MiB at most", "sends, MiB at most"), parties))
    roles = ((cost.name, f"{cost.cpu_s:.0f}", f"{cost.peak_mb:.0f}") for cost in forecast.costs)
    console.print(terminal_table(("role", "processor seconds, about", "memory, MB, about"), roles))
    console.print(
        f"About {forecast.seconds:.0f} s if each role has a processor of its own, for links of "
        f"{forecast.link_mib_s:g} MiB/s and a latency of {1e3 * forecast.latency_s:.0f} ms."
    )
    for name, trips in forecast.round_trips.items():
        console.print(f"To {printable(name)}: {trips_text(trips)}.")
    if forecast.sampling is not None:
        console.print(
            f"Marginals across parties are counted on {sum(forecast.sampling.sampled):,} of "
            f"{sum(forecast.sampling.records):,} rows; that moves each by a total variation distance of at "
            f"most {forecast.sampling_error:.3g}, in addition to noise."
        )
    for line in _at_the_curator(forecast.resources):
        console.print(line)
    found = sorted(forecast.outlook.marginals, key=lambda marginal: -marginal.largest_error)
    of_marginals = "marginal, if it is measured", "cells", "sigma", "total variation from noise"
    console.print(terminal_table(of_marginals, map(_cells_of, found[:_MARGINALS_SHOWN])))
    if len(found) > _MARGINALS_SHOWN:
        console.print(f"{len(found) - _MARGINALS_SHOWN} more marginals are less noisy; --json shows all.")


def _cells_of(marginal: MarginalOutlook) -> tuple[str, ...]:
    """The cells of a marginal's row."""
    name, cells = " x ".join(marginal.clique), str(marginal.cells)
    if math.isinf(marginal.least_sigma):
        return name, cells, "never measured", ""
    sigma = _range(marginal.least_sigma, marginal.largest_sigma)
    return name, cells, sigma, _range(marginal.least_error, marginal.largest_error)


def _at_the_curator(needed: Resources) -> Iterator[str]:
    """Bounds of memory and time of the mechanism, and what cannot be foreseen."""
    model = "" if needed.model_mb is None else f", the model up to {needed.model_mb:g} MiB"
    yield f"At the curator: noisy marginals up to {needed.marginals_mb:,.1f} MiB{model}."
    if needed.training is not None:
        yield (
            f"Training: {needed.training.steps:,} steps, each over a share of about "
            f"{needed.training.sample_rate:g} of the records, with noise "
            f"{needed.training.noise_multiplier:.3g}; its seconds cannot be foreseen."
        )
    elif needed.fit_s is not None:
        fits = f"{needed.fits} fits" if needed.fits else "no fit of a model"
        yield f"Time of the mechanism: {fits} at most, about {needed.fit_s:,.0f} s with drawing rows at most."


def _range(least: float, largest: float) -> str:
    return f"{least:.3g}" if f"{least:.3g}" == f"{largest:.3g}" else f"{least:.3g} to {largest:.3g}"
