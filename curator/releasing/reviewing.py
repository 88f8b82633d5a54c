"""What parties and dealers would say to the terms of a plan; nothing is reserved or charged."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...common.crypto.randomness import RandomStream
from ...common.errors import MosaicError
from ...common.messages import Verdict
from ...common.privacy.cost import Adjacency
from ...common.promises.binding import BindingsInMemory
from ...common.terms import ReleaseTerms
from ..certificates.verify import sign_terms
from ..parties.alignments import Aligned
from ..parties.client import Connection
from ..parties.federation import Federation, PartOfTables, connect
from ..parties.home import CuratorHome
from .agreement import Proposing
from .aligning.session import AlignmentSession
from .bins.order import bins_order
from .over_parties import dealers_of, order_of
from .planning.plan import ReleasePlan
from .release import ReleaseOrder


@dataclass(frozen=True)
class First:
    """The part of a release of related tables that is made first.

    Attributes:
        what: what it is, in words.
        order: its order.
        part: what its terms state.
    """

    what: str
    order: ReleaseOrder
    part: PartOfTables


@dataclass(frozen=True)
class Reviewed:
    """What everybody says to terms.

    Attributes:
        what: which release of the plan they are for.
        said: by name, the verdict of each party and dealer, or the error by which it refused to look at them.
    """

    what: str
    said: Mapping[str, Verdict | MosaicError]


def review(
    home: CuratorHome,
    plan: ReleasePlan,
    slices: Sequence[Sequence[Connection]],
    dealers: Mapping[str, Connection],
    first: First | None = None,
) -> Iterator[Reviewed]:
    """Asks all participants of a plan about the terms of the release that would come first.

    A plan may need an alignment of rows, or a choice of bins, before its release. The terms of what follows
    depend on what comes first, so only the first is reviewed.

    Args:
        home: folder of the curator, which signs the terms.
        plan: plan of the release.
        slices: connections to its parties, slice by slice.
        dealers: connections to its dealers, by name.
        first: of related tables, the part that is made first; None of a single table.

    Raises:
        DataError: plan and parties do not fit each other.
        PartyUnavailable: a party does not describe itself.
    """
    aligned: Aligned | None = None
    dealing = dealers_of(plan, dealers, home.keyring.identity, RandomStream.from_os(), BindingsInMemory())
    if plan.alignment is not None:
        alignments = AlignmentSession.of(home, plan)
        aligned = alignments.held(slices)
        if aligned is None:
            federation = connect(plan.domain, slices, plan.left_out, counted=False)
            yield _review(home, "the alignment", federation, alignments.proposal(secrets.token_hex(16)))
            if first is not None:
                yield _review_relations(home, plan, slices, dealing, first)
            return
    order = order_of(plan) if first is None else first.order
    what = "the release" if first is None else first.what
    if plan.bins_share is not None and first is None:
        order, what = bins_order(order, plan.bins_share), "the choice of bins"
    domain, part = (plan.domain, None) if first is None else (order.domain, first.part)
    federation = connect(domain, slices, plan.left_out, aligned, dealers=dealing, part=part)
    yield _review(home, what, federation, order.proposal(secrets.token_hex(16)))


def _review_relations(
    home: CuratorHome,
    plan: ReleasePlan,
    slices: Sequence[Sequence[Connection]],
    dealing: Sequence[str | Connection],
    first: First,
) -> Reviewed:
    """Whether parties relate and order their tables as the plan does, before their people are aligned.

    They look at the tables first. What else they say to terms without an alignment is not meant.
    """
    domain, part = first.order.domain, first.part
    federation = connect(domain, slices, plan.left_out, dealers=dealing, part=part, counted=False)
    # Without an alignment the number of people is public.
    order = first.order.with_spec(adjacency=Adjacency.ZERO_OUT)
    found = _review(home, first.what, federation, order.proposal(secrets.token_hex(16)))
    parties = [one.description.name for one in federation.members]
    known = {name: found.said[name] for name in parties if name in found.said}
    said = {name: one if isinstance(one, MosaicError) else Verdict() for name, one in known.items()}
    return Reviewed("how tables are related and ordered", said)


def _review(home: CuratorHome, what: str, federation: Federation, proposal: Proposing) -> Reviewed:
    terms: ReleaseTerms = proposal.terms(federation)
    signature = sign_terms(home.keyring.identity, terms)
    return Reviewed(what, federation.review(terms, signature, home.marks()))
