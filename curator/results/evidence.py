"""The noisy measurements of a release, as intervals need them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.interactions import interaction
from ...common.data.view import View
from ...common.measurement import Measurement, mean_by_precision
from ..certificates.certificate import Certificate
from ..certificates.unseen import Unseen
from ..mechanisms.parts.fitted import FittedModel
from ..pgm import archive
from ..report.distributions import Measured

EVIDENCE = "evidence.npz"
"""File of the evidence of a release."""

_MOST_NUMBER = 2.0**96
"""More than any count, or any noise of it, and so few that floats hold its powers."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of one interaction of the table: an unbiased estimate.

    Attributes:
        values: shape (n_r,): the interaction (`common/data/interactions`) with noise.
        sigma: the noise is the interaction of independent Gaussian noise of this standard deviation.
    """

    values: NDArray[np.float64]
    sigma: float

    def average_with(self, other: Known) -> Known:
        """The inverse-variance weighted mean of two independent estimates."""
        return Known(*mean_by_precision((self.values, self.sigma), (other.values, other.sigma)))


@dataclass(frozen=True, eq=False)
class Evidence(archive.Archived):
    """Unbiased noisy estimates of interactions, from all measurements of a release; public like the release.

    Attributes:
        domain: domain of the synthetic table.
        records: number of records of the table, as the release knows it.
        records_sigma: standard deviation of its noise; 0 if it is public.
        known: measured interactions, of one and more attributes.
        bounds: of pairs, the release's bounds on the L1 distance between release and table, as shares of the
            records. Of a pair without one nothing says how far the release is from the table.
        unseen: what noise may hide of columns that a first step learned.
        grouped: measured interactions of groups of codes, by their views.
    """

    format: ClassVar[str] = "dpmosaic evidence 1"
    kind: ClassVar[str] = "evidence"

    domain: Domain
    records: float
    known: Mapping[Clique, Known]
    bounds: Mapping[Clique, float] = field(default_factory=dict)
    records_sigma: float = 0.0
    unseen: Mapping[str, Unseen] = field(default_factory=dict)
    grouped: Mapping[View, Known] = field(default_factory=dict)

    @property
    def margins(self) -> dict[str, Measured]:
        """The shares of the codes of each attribute that was measured, without bias."""
        found = {}
        for name in self.domain:
            known = self.known.get((name,))
            if known is not None and self.records > 0:
                shares = 1 / self.domain[name].size + known.values / self.records
                found[name] = Measured(shares, known.sigma / self.records)
        return found

    @property
    def views(self) -> dict[View, Known]:
        """All measured interactions, of codes and of groups of codes."""
        return {View(clique, interaction=True): one for clique, one in self.known.items()} | {**self.grouped}

    @classmethod
    def of_release(
        cls, fitted: FittedModel, certificate: Certificate, records: float | None = None
    ) -> Evidence:
        """The evidence of a release with its certificate.

        Args:
            fitted: the release.
            certificate: its certificate.
            records: number of records; None for that of the certificate.
        """
        plan = certificate.plan
        found = cls.of(fitted, certificate.records if records is None else records, plan.records_sigma)
        return replace(found, unseen={one.name: one for one in plan.unseen})

    @classmethod
    def of(cls, fitted: FittedModel, records: float, records_sigma: float = 0.0) -> Evidence:
        """The evidence of a release.

        Measurements of boxes or of a sample, those whose noise is not Gaussian and those whose cells have
        different noise are left out: the noise of their interactions is not of the form that intervals need.
        """
        domain, found = fitted.model.domain, dict[View, Known]()
        for measurement in fitted.measurements:
            uneven = measurement.sampled or not measurement.gaussian or measurement.sigmas is not None
            if uneven or measurement.view.boxes:
                continue
            for view, one in _interactions_of(domain, measurement):
                found[view] = one if view not in found else found[view].average_with(one)
        known = {view.clique: one for view, one in found.items() if not view.groups}
        grouped = {view: one for view, one in found.items() if view.groups}
        bounds: dict[Clique, float] = {}
        for bound in fitted.bounds:
            # A marginal is no further than a larger one that contains it.
            for pair in combinations(bound.clique, 2):
                bounds[pair] = min(bounds.get(pair, math.inf), bound.l1 / records)
        return cls(domain, records, known, bounds, records_sigma, grouped=grouped)

    def _parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        form = {
            "domain": self.domain.to_json(),
            "records": float(self.records),
            "records_sigma": self.records_sigma,
            "cliques": list(self.known),
            "sigmas": [known.sigma for known in self.known.values()],
            "unseen": [asdict(one) for one in self.unseen.values()],
            "bounds": [[*pair, bound] for pair, bound in self.bounds.items()],
            "grouped": [[view.clique, view.groups, one.sigma] for view, one in self.grouped.items()],
        }
        arrays = {f"values_{place}": known.values for place, known in enumerate(self.known.values())}
        arrays |= {f"grouped_{place}": one.values for place, one in enumerate(self.grouped.values())}
        return form, arrays

    @classmethod
    def _of_parts(cls, form: Mapping[str, Any], arrays: archive.Arrays) -> Evidence:
        domain = Domain.from_json(form["domain"])
        known, grouped = {}, {}
        for place, (clique, sigma) in enumerate(zip(form["cliques"], form["sigmas"], strict=True)):
            view = View(domain.canonical(clique), interaction=True)
            known[view.clique] = _known_of(domain, view, arrays[f"values_{place}"], sigma)
        for place, (clique, groups, sigma) in enumerate(form.get("grouped", ())):
            view = View(domain.canonical(clique), tuple(map(tuple, groups)), interaction=True)
            view.check(domain)
            grouped[view] = _known_of(domain, view, arrays[f"grouped_{place}"], sigma)
        bounds = {domain.canonical(pair): float(bound) for *pair, bound in form["bounds"]}
        records, sigma = float(form["records"]), float(form.get("records_sigma", 0.0))
        if not all(0 <= number <= _MOST_NUMBER for number in (records, sigma, *bounds.values())):
            raise ValueError("records, a sigma or a bound that no release has")
        unseen = {one["name"]: Unseen(**one) for one in form.get("unseen", ())}
        return cls(domain, records, known, bounds, sigma, unseen, grouped)


def _known_of(domain: Domain, view: View, values: NDArray[np.float64], sigma: Any) -> Known:
    read = archive.counts(values)
    if (
        read.shape != (view.cells(domain),)
        or not 0 < float(sigma) <= _MOST_NUMBER
        or np.any(np.abs(read) > _MOST_NUMBER)
    ):
        raise ValueError("an interaction of another shape, or a number that no release has")
    return Known(read, float(sigma))


def _interactions_of(domain: Domain, measurement: Measurement) -> list[tuple[View, Known]]:
    """All interactions that a measurement determines."""
    measured, shape = measurement.view, measurement.view.shape(domain)
    clique, groups = measured.clique, measured.groups or ((),) * len(shape)
    if measured.interaction:
        return [(measured, Known(interaction(measurement.values, shape), measurement.sigma))]
    cells, found = measurement.values.reshape(shape), []
    for mask in range(1, 1 << len(clique)):
        kept = [axis for axis in range(len(clique)) if mask >> axis & 1]
        summed = cells.sum(axis=tuple(axis for axis in range(len(clique)) if axis not in kept))
        if min(summed.shape) > 1:
            # Each cell is a sum of so many cells with independent noise.
            sigma = measurement.sigma * (cells.size / summed.size) ** 0.5
            parts = tuple(groups[axis] for axis in kept)
            view = View(tuple(clique[axis] for axis in kept), parts if any(parts) else (), interaction=True)
            found.append((view, Known(interaction(summed.ravel(), summed.shape), sigma)))
    return found
