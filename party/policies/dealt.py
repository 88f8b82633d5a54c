"""What a party or dealer may deal by its policy, and within which limits it deals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from ...common.dealing.dealing import Dealing
from ...common.errors import ProtocolError
from ...common.messages import DealRequest
from ...common.protocols.masked.plan import MaskedPlan
from .allowance import Processors


def check_dealt(plan: MaskedPlan, request: DealRequest, check_cells: Callable[[int], None]) -> int:
    """Refuses to deal for what the plan or a policy does not allow; the bytes that dealing takes.

    Args:
        plan: plan of the release.
        request: what is asked for.
        check_cells: refuses a number of cells.

    Raises:
        ProtocolError: the request does not fit the plan.
        PolicyError: a product is larger than the policy allows.
    """
    place = request.recipient
    if not 0 <= place < len(plan.roster):
        raise ProtocolError("expected a party of the plan as recipient, got another; compare the plan")
    for chain in request.chains:
        plan.check_chain(chain, plan.roster[place].slice, summed=True)
        check_cells(plan.cells(chain))
    # The products, and the same words as bytes.
    return 2 * plan.ring.word_bytes * sum(map(plan.cells, request.chains))


def deal_within(
    reserved: AbstractContextManager[None], dealing: Dealing, request: DealRequest, processors: Processors
) -> Iterator[bytes]:
    """Frames of dealt randomness, while bytes are reserved and seconds are left."""
    with reserved:
        for frame in dealing.deal(request):
            yield frame
            processors.check()
