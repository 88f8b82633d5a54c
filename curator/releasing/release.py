"""Makes a release: runs the mechanism, draws rows, bounds their error, issues the certificate."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

from ...common.about import About
from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique, Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.extensions import origin
from ...common.labels import LabelSearch, label_search
from ...common.measurement import Measurement
from ...common.messages import Purpose
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from ...common.protocols.aligned import Alignment
from ...common.protocols.chosen import Chosen
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.partition import Partition
from ...common.protocols.registry import Protocol
from ..certificates.certificate import Certificate
from ..certificates.checking import Opinions, opinions_beside
from ..certificates.issuing import issue
from ..certificates.json_values import to_json_values
from ..certificates.privacy_loss import prepare_check
from ..certificates.statements import (
    StatedPlan,
    StatedStep,
    WeightedClique,
    stated_about,
    stated_alignment,
    stated_bins,
    stated_roles,
)
from ..certificates.unseen import Unseen
from ..measurers.measurer import Measurer
from ..mechanisms.largest import most_attributes
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.parts.fitted import FittedModel, Report, ignore
from ..mechanisms.parts.steps import Step
from ..pgm.blas import one_thread
from .agreement import Proposal
from .obedience import obedient
from .row_count import default_rows
from .sampling_error import with_sampling_error


@dataclass(frozen=True)
class ReleaseOrder:
    """The specification of a release.

    Attributes:
        domain: domain of the table, with the chosen codes; with the value `absent` if it counts people of any
            party.
        protocol: measurement protocol.
        adjacency: which tables are neighbours.
        mechanism: configured mechanism.
        workload: marginals to preserve.
        budget: privacy budget of the release.
        collusions: tolerated collusions; None for the protocol's default.
        rows: number of synthetic rows; None for as many as the table has, up to a limit (`default_rows`).
        rows_per_person: rows of one person in one slice that the promise covers, or `ALL_ROWS`.
        check: check of openings (`MaskedPlan`); empty for none.
        chosen: codes that an earlier release chose, whose cost is a part of the budget; None for none.
        before: noisy one-way marginals from which it chose them.
        about: the reason of the release, for the people who decide on it.
        sample: rows of the largest slice that products between parties use (`MaskedPlan`); None for a limit.
        records: number of rows, released with noise before; None if the parties state theirs.
        records_sigma: standard deviation of that noise.
        unseen: what a first step may not have seen of the columns that it learned.
    """

    domain: Domain
    protocol: Protocol
    adjacency: Adjacency
    mechanism: Mechanism
    workload: Workload
    budget: Budget
    collusions: int | None = None
    rows: int | None = None
    rows_per_person: int = 1
    check: str = ""
    chosen: Chosen | None = None
    before: tuple[Measurement, ...] = ()
    about: About = field(default_factory=About)
    sample: int | None = None
    records: int | None = None
    records_sigma: float = 0.0
    unseen: tuple[Unseen, ...] = ()

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise DataError(f"rows: expected at least 1, got {self.rows}; ask for more")
        if self.rows_per_person < ALL_ROWS:
            raise DataError(f"rows_per_person: expected at least 1, got {self.rows_per_person}; cover more")
        if self.collusions is not None and not self.protocol.tolerates_collusions:
            raise DataError(
                f"collusions: the protocol {self.protocol.name!r} tolerates none; leave them out or choose "
                "'masked'"
            )
        if self.sample is not None and not (self.sample >= 1 and self.protocol.tolerates_collusions):
            raise DataError(
                f"sample: expected at least 1 row and the protocol 'masked', got {self.sample} and "
                f"{self.protocol.name!r}; leave it out"
            )
        if self.check and not self.protocol.tolerates_collusions:
            raise DataError(
                f"check: the protocol {self.protocol.name!r} opens nothing; leave it out or choose 'masked'"
            )

    @property
    def labels(self) -> LabelSearch | None:
        """The open categories whose labels are to be looked for; None if there are none.

        Raises:
            BudgetError: there are, and the budget has no delta.
        """
        return label_search(self.domain, self.budget)

    @property
    def labels_delta(self) -> float:
        """What labels take of delta: those that are to be looked for, or chosen ones."""
        if self.labels is not None:
            return self.labels.delta
        return 0.0 if self.chosen is None else self.chosen.labels_delta

    @property
    def granted(self) -> Fraction:
        """Upper limit of all costs, zCDP, without what an earlier release spent of the same budget."""
        whole = self.mechanism.granted(self.budget.without_delta(self.labels_delta))
        return whole if self.chosen is None else _floored(whole - Fraction(self.chosen.zcdp_rho))

    def proposal(self, release_id: str) -> Proposal:
        """The release as it is proposed to parties."""
        purpose = Purpose(
            self.budget,
            self.domain.digest(),
            json.dumps(to_json_values(self.mechanism.describe()), sort_keys=True),
            self.workload.in_words,
            self.workload.digest(),
            self.rows_per_person,
            self.labels,
            self.about,
            max_attributes=most_attributes(self.mechanism, self.workload),
            unreviewed=self.domain.unreviewed,
        )
        return Proposal(
            release_id,
            self.protocol,
            self.adjacency,
            self.granted,
            purpose,
            self.collusions,
            self.check,
            sample=self.sample,
            counted=self.records is not None,
        )


@dataclass(frozen=True)
class Layout:
    """Which party holds what, and which roles it trusts; public.

    Attributes:
        record_counts: records of each slice, or positions if its parties are aligned.
        parties: attributes of each party, slice by slice.
        names: names of the parties, slice by slice; empty in a simulation.
        masked: plan of the protocol `masked`; None with any other protocol.
        alignment: alignment of the parties' rows; None if the parties of a slice hold the same records.
    """

    record_counts: tuple[int, ...]
    parties: tuple[tuple[Clique, ...], ...]
    names: tuple[tuple[str, ...], ...] = ()
    masked: MaskedPlan | None = None
    alignment: Alignment | None = None

    @classmethod
    def of(cls, plan: Partition) -> Layout:
        """The layout that the parties of a release signed."""
        return cls(
            tuple(entries[0].record_count for entries in plan.slices),
            tuple(tuple(entry.attributes for entry in entries) for entries in plan.slices),
            tuple(tuple(entry.name for entry in entries) for entries in plan.slices),
            plan if isinstance(plan, MaskedPlan) else None,
            plan.alignment,
        )


@dataclass(frozen=True)
class Released:
    """The result of a release.

    Attributes:
        synthetic: the synthetic table, coded.
        fitted: model, measurements, rounds, and bounds on the error of the synthetic rows.
        certificate: certificate of the release; public.
    """

    synthetic: Table
    fitted: FittedModel
    certificate: Certificate


def make_release(
    order: ReleaseOrder,
    layout: Layout,
    measurer: Measurer,
    stream: RandomStream,
    cost_factor: int = 1,
    seeded: bool = False,
    report: Report = ignore,
    checks: Executor | None = None,
) -> Released:
    """Makes a release with a measurer.

    The second opinion on epsilon is computed while the rows are drawn and bounded.

    Args:
        order: specification of the release.
        layout: which party holds what.
        measurer: measurer under the order's grant.
        stream: randomness of the mechanism's choices and of the rows.
        cost_factor: what the parties are charged, as a multiple of the measurer's charges.
        seeded: whether the stream comes from a known seed, which labels the release.
        report: called after every step.
        checks: where the second opinion is computed; by default in a thread.
    """
    measurer.before = order.before
    with ThreadPoolExecutor(1) as beside, one_thread():
        if checks is None and order.budget.delta is not None:
            beside.submit(prepare_check)
        fitted = order.mechanism.run(measurer, order.workload, stream.child("mechanism"), report)
        fitted = with_sampling_error(fitted, measurer)
        plan = stated_plan(order, layout, fitted.steps)
        opinions: Callable[[], Opinions] = dict
        if measurer.not_private is None:
            opinions = opinions_beside(checks or beside, plan, measurer.accountant, measurer.observers)
        # A noisy number improves while the mechanism measures.
        records = measurer.record_count
        rows = order.rows or default_rows(order.domain, records)
        synthetic = fitted.model.generate(rows, stream.child("rows").generator())
        synthetic = obedient(synthetic, fitted, stream.child("rules").generator())
        fitted = fitted.bounded_for(synthetic, records, order.records_sigma)
    certificate = issue(
        plan,
        measurer.accountant,
        fitted,
        not_private=measurer.not_private,
        cost_factor=cost_factor,
        seeded=seeded,
        observers=measurer.observers,
        packages=_packages(order, measurer),
        opinions=opinions(),
    )
    return Released(synthetic, fitted, certificate)


def _packages(order: ReleaseOrder, measurer: Measurer) -> dict[str, str]:
    """Versions of other packages that bring the mechanism or measure by the protocol, by name."""
    found = (origin(order.mechanism), origin(measurer))
    return dict(package for package in found if package is not None)


def stated_plan(order: ReleaseOrder, layout: Layout, steps: tuple[Step, ...] = ()) -> StatedPlan:
    """The plan that the certificate states.

    Args:
        order: specification of the release.
        layout: which party holds what.
        steps: steps of the mechanism, as planned.
    """
    workload = zip(order.workload.cliques, order.workload.weights, strict=True)
    unit = PrivacyUnit(order.adjacency, order.rows_per_person)
    return StatedPlan(
        attributes={name: order.domain[name].size for name in order.domain},
        domain_digest=order.domain.digest(),
        record_counts=layout.record_counts,
        parties=layout.parties,
        protocol=order.protocol.name,
        adjacency=order.adjacency.value,
        rows_per_person=order.rows_per_person,
        privacy_unit=unit.over_slices(len(layout.record_counts)),
        mechanism=to_json_values(order.mechanism.describe()),
        workload=tuple(WeightedClique(clique, weight) for clique, weight in workload),
        budget=order.budget,
        steps=tuple(StatedStep(step.name, step.title, float(step.share)) for step in steps),
        names=layout.names,
        alignment=stated_alignment(layout.alignment, unit),
        unreviewed=order.domain.unreviewed,
        bins=stated_bins(order.chosen),
        labels=order.labels,
        about=stated_about(order.about),
        records_sigma=order.records_sigma,
        unseen=order.unseen,
        **stated_roles(layout.masked),
    )


def _floored(rho: Fraction) -> Fraction:
    """The largest float that is at most this number; parties are sent floats."""
    nearest = float(rho)
    return Fraction(nearest if nearest <= rho else math.nextafter(nearest, -math.inf))
