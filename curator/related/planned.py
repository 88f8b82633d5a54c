"""What a plan of related tables asks for, before anything is known: its order, and its parts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from fractions import Fraction

from ...common.crypto.randomness import RandomStream
from ...common.showing.telling import tell
from ..mechanisms.catalogue import mechanism_named
from ..parties.client import Connection
from ..parties.federation import Federation, PartOfTables, connect
from ..releasing.planning.plan import ReleasePlan
from ..releasing.planning.tables import PlannedTables
from ..releasing.reviewing import First
from .making import Making, RelatedOrder, no_parts


def tables_of(plan: ReleasePlan) -> PlannedTables:
    """The tables of a plan of related ones."""
    assert plan.tables is not None, "a plan of a single table has its own session"
    return plan.tables


def related_order(plan: ReleasePlan, whole: str) -> RelatedOrder:
    """The order of a plan of related tables.

    Args:
        plan: the plan.
        whole: id of the release.

    Raises:
        DataError: the mechanism does not count people, or a name is taken.
        BudgetError: nothing is left for a table.
    """
    mechanism = mechanism_named(plan.mechanism, plan.variant, plan.settings)
    share = plan.bins_share
    assert share is not None, "a plan of related tables has one"
    rho = Fraction(0) if plan.alignment is None else Fraction(plan.alignment.rho)
    return RelatedOrder(tables_of(plan), plan.spec, mechanism, share, rho, whole)


def connected(plan: ReleasePlan, links: Sequence[Sequence[Connection]]) -> Federation:
    """The parties of a plan, whose tables are those that the plan says they hold.

    Raises:
        DataError: a party has other tables, or other columns of one.
    """
    federation = connect(plan.domain, links, counted=plan.alignment is None)
    answers = {member.description.name: member.attributes for member in federation.members}
    tables_of(plan).check_held(answers)
    return federation


def first_of(plan: ReleasePlan) -> First:
    """The part of a plan that is made first; what follows depends on what it finds."""
    making = Making(related_order(plan, secrets.token_hex(16)), no_parts, RandomStream.from_os())
    name, order, part = making.first()
    return First(f"the part {name!r}", order, PartOfTables(part, tables_of(plan).holds))


def tell_parts(plan: ReleasePlan, json_output: bool) -> None:
    """Tells the parts of a release and what each costs; charges nothing and asks nobody.

    Args:
        plan: the plan.
        json_output: whether to print one JSON object.
    """
    order = related_order(plan, secrets.token_hex(16))
    making = Making(order, no_parts, RandomStream.from_os())
    costs = [("alignment of people", order.alignment_rho)] if order.alignment_rho else []
    costs += making.costs()
    if json_output:
        parts = [{"part": name, "zcdp_rho": float(rho)} for name, rho in costs]
        total = float(sum(rho for _, rho in costs))
        facts = tables_of(plan).facts()
        tell(json.dumps({"dry_run": True, "parts": parts, "zcdp_rho": total, "facts": facts}))
        return
    for name, rho in costs:
        tell(f"{name:32} rho {float(rho):.6g}")
    tell(f"{'all parts':32} rho {float(sum(rho for _, rho in costs)):.6g}")
    for party, held in tables_of(plan).holds.items():
        tell(f"{party} answers for {', '.join(held)}: each person counts as one in each, with all rows")
    for what, fact in tables_of(plan).facts().items():
        tell(f"{what}: {fact}")
    tell("each part is proposed by itself, and parties state at the first one whether they allow them all")
