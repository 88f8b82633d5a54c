"""The certificate of a release: what was promised, what was spent on what, and how far off the result may be.

Everything in it is public: plans, scales of noise, costs and bounds computed from noisy values.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...common.card import read_json
from ...common.data.domain import Clique
from ...common.errors import DataError
from ..mechanisms.parts.bounds import ErrorBound
from ..mechanisms.parts.fitted import Round
from .json_values import OPTIONAL, read, written
from .statements import Promise, Signatures, StatedCharge, StatedMeasurement, StatedModel, StatedPlan

FORMAT = "dpmosaic certificate 1"
_SIGNED = "signed"
"""The part that holds terms and signatures; the rest is what is signed."""


@dataclass(frozen=True)
class Certificate:
    """What is said of a release to everybody.

    Attributes:
        differentially_private: as stated; a certificate with labels is not.
        labels: why it is no private release; empty where it is one.
        created: when, in ISO form.
        versions: of the software.
        plan: what was asked for.
        promise: what was promised and spent.
        steps: what each step spent, zCDP.
        charges: every access to the data.
        measurements: all noisy marginals, in the order they were taken.
        selected_by: what marginals were selected by; empty where none were.
        rounds: what the rounds did.
        error_bounds: on the error of the synthetic rows.
        model: the fitted model.
        signed: terms and signatures; None for a simulation.
    """

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
    signed: Signatures | None = field(default=None, metadata=OPTIONAL)

    def __post_init__(self) -> None:
        if "dpmosaic" not in self.versions:
            raise ValueError("expected the version of dpmosaic")
        parts = (self.measurements, self.error_bounds, self.charges, self.rounds, self.plan.workload)
        cliques = [self.model.cliques, *(tuple(one.clique for one in part) for part in parts)]
        if not set(itertools.chain.from_iterable(itertools.chain(*cliques))) <= set(self.plan.attributes):
            raise ValueError("expected marginals of the plan's attributes, got another attribute")

    @classmethod
    def load(cls, path: Path) -> Certificate:
        """Reads a certificate's file.

        Raises:
            DataError: it cannot be read, or holds no certificate.
        """
        return cls.from_json(read_json(path))

    @classmethod
    def from_json(cls, form: object) -> Certificate:
        """Reads a certificate.

        Args:
            form: what `to_json` made.

        Raises:
            DataError: of another format, or damaged; says where.
        """
        if not isinstance(form, dict) or form.get("format") != FORMAT:
            raise DataError(f"expected a certificate of the format {FORMAT!r}, got another; fix the path")
        return read(cls, {key: part for key, part in form.items() if key != "format"}, "certificate")

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"format": FORMAT, **written(self)}

    def digest(self) -> bytes:
        """SHA-256 of all that the certificate says, without the signatures on it."""
        said = {key: part for key, part in self.to_json().items() if key != _SIGNED}
        return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).digest()

    def with_signatures(self, signatures: Signatures) -> Certificate:
        """The same certificate, signed."""
        return replace(self, signed=signatures)

    @property
    def records(self) -> int:
        """Of all slices; public."""
        return sum(self.plan.record_counts)

    @property
    def confidence(self) -> float:
        """Of each error bound; 0 where there is none."""
        return max((bound.confidence for bound in self.error_bounds), default=0.0)

    @property
    def sigmas(self) -> Mapping[Clique, float]:
        """Measured clique -> standard deviation of one count, the smallest where it was measured twice."""
        found: dict[Clique, float] = {}
        for measured in self.measurements:
            found[measured.clique] = min(measured.sigma, found.get(measured.clique, float("inf")))
        return found

    @property
    def titles(self) -> Mapping[str, str]:
        """The title of each step that was charged; its name where the certificate states none."""
        stated = {step.name: step.title for step in self.plan.steps}
        return {name: stated.get(name, name) for name in self.steps}
