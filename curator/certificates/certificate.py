"""The certificate of a release: promise, charges and error bounds.

Everything in it is public: plans, scales of noise, costs and bounds computed from noisy values.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ...common.data.domain import Clique
from ...common.promises.dropout import Dropout
from ..mechanisms.parts.bounds import ErrorBound
from ..mechanisms.parts.fitted import Round
from .json_values import OPTIONAL
from .signed_record import SignedRecord
from .statements import Promise, Signatures, StatedCharge, StatedMeasurement, StatedModel, StatedPlan


@dataclass(frozen=True)
class Certificate(SignedRecord):
    """The public record of a release.

    Attributes:
        differentially_private: whether the promise holds as stated; false if there are labels.
        labels: why the result is not a private release; empty if it is.
        created: time in ISO format.
        versions: version of each software package.
        plan: the release as it was ordered.
        promise: granted and spent budget.
        steps: cost of each step, zCDP.
        charges: every access to the data.
        measurements: all noisy marginals, in order.
        selected_by: values by which marginals were selected; empty if none were selected.
        rounds: record of each round.
        error_bounds: bounds on the error of the synthetic rows.
        model: the fitted model.
        dropouts: parties that dropped out; the answers to later queries are without their records.
        outputs: name of each published file -> its SHA-256, as hexadecimal digits.
        signed: terms and signatures; None for a simulation.
    """

    format: ClassVar[str] = "dpmosaic certificate 1"
    called: ClassVar[str] = "a certificate"
    remedy: ClassVar[str] = "read it by the version of the software that wrote it, or name another file"

    differentially_private: bool
    labels: tuple[str, ...]
    created: str
    versions: Mapping[str, str]
    plan: StatedPlan
    promise: Promise
    steps: Mapping[str, float]
    charges: tuple[StatedCharge, ...]
    measurements: tuple[StatedMeasurement, ...]
    selected_by: str
    rounds: tuple[Round, ...]
    error_bounds: tuple[ErrorBound, ...]
    model: StatedModel
    outputs: Mapping[str, str]
    dropouts: tuple[Dropout, ...] = field(default=(), metadata=OPTIONAL)
    signed: Signatures | None = field(default=None, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if "dpmosaic" not in self.versions:
            raise ValueError("expected the version of dpmosaic, found none")
        parts = (self.measurements, self.error_bounds, self.charges, self.rounds, self.plan.workload)
        cliques = [self.model.cliques, *(tuple(one.clique for one in part) for part in parts)]
        if not set(itertools.chain.from_iterable(itertools.chain(*cliques))) <= set(self.plan.attributes):
            raise ValueError("expected marginals of the plan's attributes, got another attribute")

    def with_outputs(self, outputs: Mapping[str, str]) -> Certificate:
        """The same certificate for these published files."""
        return replace(self, outputs=dict(outputs))

    def with_signatures(self, signatures: Signatures) -> Certificate:
        """The same certificate with signatures."""
        return replace(self, signed=signatures)

    def names(self, chose: Certificate) -> bool:
        """Whether another certificate is that of the release that chose codes for this one."""
        return self.plan.bins is not None and chose.digest().hex() == self.plan.bins.certificate

    @property
    def records(self) -> int:
        """Number of records of all slices, a noisy number if parties are aligned; public."""
        if self.plan.alignment is None:
            return sum(self.plan.record_counts)
        return sum(map(self.plan.alignment.alignment.record_count, range(len(self.plan.parties))))

    @property
    def confidence(self) -> float:
        """Confidence of each error bound; 0 if there are none."""
        return max((bound.confidence for bound in self.error_bounds), default=0.0)

    @property
    def sigmas(self) -> Mapping[Clique, float]:
        """Measured clique -> smallest standard deviation of one count over its measurements of codes."""
        found: dict[Clique, float] = {}
        for measured in self.measurements:
            if measured.groups:
                continue
            found[measured.clique] = min(measured.sigma, found.get(measured.clique, float("inf")))
        return found

    @property
    def titles(self) -> Mapping[str, str]:
        """The title of each charged step; its name if the certificate states no title."""
        stated = {step.name: step.title for step in self.plan.steps}
        return {name: stated.get(name, name) for name in self.steps}
