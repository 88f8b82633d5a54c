"""A release by parties in this process, after another one that chooses bins where the domain needs it."""

from __future__ import annotations

import secrets
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction

from ...common.crypto.randomness import RandomStream
from ...common.data.workload import Workload
from ...curator.certificates.certificate import Certificate
from ...curator.measurers.size import Supposed
from ...curator.mechanisms.parts.fitted import Report
from ...curator.releasing.bins.choosing import choice_of
from ...curator.releasing.bins.order import bins_order
from ...curator.releasing.planning.bins_share import check_share
from ...curator.releasing.release import Released, ReleaseOrder, make_release
from ..stopping import running
from .participants import Participants


@dataclass(frozen=True)
class Made:
    """A release that was made.

    Attributes:
        order: its order, with chosen bins.
        released: the release.
        bins: certificate of the release that chose bins, from the same budget; None if the domain says all.
    """

    order: ReleaseOrder
    released: Released
    bins: Certificate | None


def release_among(
    among: Participants,
    order: ReleaseOrder,
    bins_share: float,
    stream: RandomStream,
    seeded: bool,
    report: Report,
    target: str | None = None,
    checks: Executor | None = None,
    release_id: str | None = None,
    supposed: Supposed | None = None,
) -> Made:
    """Makes a release, and before it one that chooses bins if the domain leaves some open.

    Args:
        among: the parties.
        order: order of the release.
        bins_share: share of the budget that chooses bins.
        stream: all randomness.
        seeded: whether the stream comes from a known seed, which labels the release.
        report: called after every step.
        target: attribute that chose the order's workload, and chooses it again for chosen bins; None if the
            workload was given.
        checks: where second opinions on epsilon are computed; by default in a thread.
        release_id: of the release; by default a new one.
        supposed: of the records, if every marginal is to improve their number; see `Measurer.suppose`.
    """
    bins = None
    if among.domain.open:
        order, bins = after_choice(order, among, bins_share, stream.child("bins"), seeded, report, checks)
        if target is not None:
            order = replace(order, workload=Workload.for_target(order.domain, target))
    begun = among.start(order, release_id or secrets.token_hex(16), stream.child("noise").generator())
    if supposed is not None:
        begun.measurer.suppose(supposed)
    before = Fraction(0) if order.chosen is None else Fraction(order.chosen.zcdp_rho)
    for spending in running():
        spending.measure(begun.measurer, float(order.granted / (order.granted + before)))
    released = make_release(
        order, begun.plan, begun.measurer, stream, begun.cost_factor, seeded, report, checks, named=False
    )
    return Made(order, released, bins)


def after_choice(
    order: ReleaseOrder,
    among: Participants,
    share: float,
    stream: RandomStream,
    seeded: bool,
    report: Report,
    checks: Executor | None,
) -> tuple[ReleaseOrder, Certificate]:
    """The order of a release with bins that a release before it chooses, and the certificate of that one.

    For the arguments see `release_among`.
    """
    choosing = bins_order(order, check_share(share))
    release_id = secrets.token_hex(16)
    started = among.start(choosing, release_id, stream.child("noise").generator())
    for spending in running():
        spending.measure(started.measurer, share)
    made = make_release(
        choosing,
        started.plan,
        started.measurer,
        stream,
        seeded=seeded,
        report=report,
        checks=checks,
        named=False,
    )
    started.certify(made.certificate)
    choice = choice_of(made, release_id, choosing, order, among.domain)
    domain = among.coded_domain(choice.chosen)
    return replace(order, domain=domain, chosen=choice.chosen, before=choice.before), made.certificate
