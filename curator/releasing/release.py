"""Makes a release: runs the mechanism, draws rows, bounds their error, issues the certificate."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.extensions import origin
from ...common.labels import LabelSearch, label_search
from ...common.measurement import Measurement
from ...common.privacy.rounding import float_below
from ...common.protocols.chosen import Chosen
from ...common.protocols.dropouts.plan import MAY_DROP_OUT
from ...common.protocols.partition import Partition
from ...common.protocols.registry import Protocol, protocol_named
from ...common.release_spec import ReleaseSpec
from ...common.terms import Purpose
from ..certificates.certificate import Certificate
from ..certificates.checking import Opinions, opinions_beside
from ..certificates.issuing import issue
from ..certificates.json_values import to_json_values
from ..certificates.privacy_loss import prepare_check
from ..certificates.statements import (
    StatedPlan,
    StatedStep,
    WeightedClique,
    stated_alignment,
    stated_bins,
    stated_parties,
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
    """A release over a table: its description with the table's domain, the mechanism and the workload.

    Attributes:
        domain: domain of the table, with the chosen codes; with the value `absent` if it counts people of any
            party.
        spec: what it promises, by which protocol.
        mechanism: configured mechanism.
        workload: marginals to preserve.
        chosen: codes that an earlier release chose, whose cost is a part of the budget; None for none.
        before: noisy one-way marginals from which it chose them.
        records: number of rows, released with noise before; None if the parties state theirs.
        records_sigma: standard deviation of that noise.
        unseen: what a first step may not have seen of the columns that it learned.
        prior: a public table of the same domain that is known beforehand; None for none.
        prior_sigma: standard deviation of the noise with which cells of its pairs were measured; 0 for none.
    """

    domain: Domain
    spec: ReleaseSpec
    mechanism: Mechanism
    workload: Workload
    chosen: Chosen | None = None
    before: tuple[Measurement, ...] = ()
    records: int | None = None
    records_sigma: float = 0.0
    unseen: tuple[Unseen, ...] = ()
    prior: Table | None = None
    prior_sigma: float = 0.0

    def __post_init__(self) -> None:
        self.spec.check_protocol(self.protocol)
        if self.spec.may_drop_out and (self.domain.open or self.chosen is not None):
            raise DataError(
                f"{MAY_DROP_OUT}: expected a domain that states all codes, since a release that chooses "
                "codes needs all parties, got another; state them, or leave it out"
            )

    def with_spec(self, **changes: Any) -> ReleaseOrder:
        """The same order with other options of its description, by name."""
        return replace(self, spec=replace(self.spec, **changes))

    @property
    def protocol(self) -> Protocol:
        """The measurement protocol.

        Raises:
            DataError: there is none of that name.
        """
        return protocol_named(self.spec.protocol)

    @property
    def labels(self) -> LabelSearch | None:
        """The open categories whose labels are to be looked for; None if there are none.

        Raises:
            BudgetError: there are, and the budget has no delta.
        """
        return label_search(self.domain, self.spec.budget)

    @property
    def labels_delta(self) -> float:
        """What labels take of delta: those that are to be looked for, or chosen ones."""
        if self.labels is not None:
            return self.labels.delta
        return 0.0 if self.chosen is None else self.chosen.labels_delta

    @property
    def granted(self) -> Fraction:
        """Upper limit of all costs, zCDP, without what an earlier release spent of the same budget."""
        whole = self.mechanism.granted(self.spec.budget.without_delta(self.labels_delta))
        if self.chosen is None:
            return whole
        # Parties are sent floats.
        return Fraction(float_below(whole - Fraction(self.chosen.zcdp_rho)))

    def proposal(self, release_id: str) -> Proposal:
        """The release as it is proposed to parties."""
        purpose = Purpose(
            self.domain.digest(),
            json.dumps(to_json_values(self.mechanism.describe()), sort_keys=True),
            self.workload.in_words,
            self.workload.digest(),
            self.labels,
            max_attributes=most_attributes(self.mechanism, self.workload),
            unreviewed=self.domain.unreviewed,
        )
        return Proposal(release_id, self.spec, self.granted, purpose, counted=self.records is not None)


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
    partition: Partition,
    measurer: Measurer,
    stream: RandomStream,
    cost_factor: int = 1,
    seeded: bool = False,
    report: Report = ignore,
    checks: Executor | None = None,
    named: bool = True,
) -> Released:
    """Makes a release with a measurer.

    The second opinion on epsilon is computed while the rows are drawn and bounded.

    Args:
        order: specification of the release.
        partition: which party holds what, as its parties signed it.
        measurer: measurer under the order's grant.
        stream: randomness of the mechanism's choices and of the rows.
        cost_factor: what the parties are charged, as a multiple of the measurer's charges.
        seeded: whether the stream comes from a known seed, which labels the release.
        report: called after every step.
        checks: where the second opinion is computed; by default in a thread.
        named: whether the certificate names the parties; else they are simulated.
    """
    measurer.before = order.before
    measurer.prior, measurer.prior_sigma = order.prior, order.prior_sigma
    with ThreadPoolExecutor(1) as beside, one_thread():
        if checks is None and order.spec.budget.delta is not None:
            beside.submit(prepare_check)
        fitted = order.mechanism.run(measurer, order.workload, stream.child("mechanism"), report)
        fitted = with_sampling_error(fitted, measurer)
        plan = stated_plan(order, partition, fitted.steps, named)
        if measurer.prior is not None:
            plan = replace(plan, prior=measurer.prior.digest())
        opinions: Callable[[], Opinions] = dict
        if measurer.not_private is None:
            opinions = opinions_beside(checks or beside, plan, measurer.accountant, measurer.observers)
        # A noisy number improves while the mechanism measures.
        records = measurer.record_count
        rows = order.spec.rows or default_rows(order.domain, records)
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
        dropouts=measurer.dropouts,
    )
    return Released(synthetic, fitted, certificate)


def _packages(order: ReleaseOrder, measurer: Measurer) -> dict[str, str]:
    """Versions of other packages that bring the mechanism or measure by the protocol, by name."""
    found = (origin(order.mechanism), origin(measurer))
    return dict(package for package in found if package is not None)


def stated_plan(
    order: ReleaseOrder, partition: Partition, steps: tuple[Step, ...] = (), named: bool = True
) -> StatedPlan:
    """The plan that the certificate states.

    Args:
        order: specification of the release.
        partition: see `make_release`.
        steps: steps of the mechanism, as planned.
        named: see there.
    """
    workload = zip(order.workload.cliques, order.workload.weights, strict=True)
    spec = order.spec.over(partition)
    return StatedPlan(
        spec=spec,
        attributes={name: order.domain[name].size for name in order.domain},
        domain_digest=order.domain.digest(),
        privacy_unit=spec.unit.over_slices(partition.slice_count),
        mechanism=to_json_values(order.mechanism.describe()),
        workload=tuple(WeightedClique(clique, weight) for clique, weight in workload),
        steps=tuple(StatedStep(step.name, step.title, float(step.share)) for step in steps),
        alignment=stated_alignment(partition.alignment, spec.unit),
        unreviewed=order.domain.unreviewed,
        bins=stated_bins(order.chosen),
        labels=order.labels,
        records_sigma=order.records_sigma,
        unseen=order.unseen,
        **stated_parties(partition) | ({} if named else {"names": ()}),
    )
