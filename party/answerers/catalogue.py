"""The answerer of every protocol by which daemons measure, and that of an alignment."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.errors import PolicyError
from ...common.extensions import ANSWERERS as GROUP
from ...common.extensions import extensions
from ...common.protocols.alignment.plan import ALIGNMENT
from ...common.protocols.registry import INDICATOR, MASKED, TRUSTED
from .alignment.answerer import AlignmentAnswerer
from .answerer import Answerer
from .indicator import IndicatorAnswerer
from .masked.answerer import MaskedAnswerer
from .trusted import TrustedAnswerer

ANSWERERS: Mapping[str, type[Answerer]] = {
    MASKED.name: MaskedAnswerer,
    TRUSTED.name: TrustedAnswerer,
    INDICATOR.name: IndicatorAnswerer,
}


def answerer_of(protocol: str) -> type[Answerer]:
    """The answerer of a protocol, or of an alignment.

    Raises:
        PolicyError: parties have none.
    """
    if protocol == ALIGNMENT:
        return AlignmentAnswerer
    if protocol in ANSWERERS:
        return ANSWERERS[protocol]
    others = extensions(GROUP, ANSWERERS)
    if protocol not in others:
        known = sorted((*ANSWERERS, *others))
        raise PolicyError(f"no party takes part in the protocol {protocol!r}; use one of {known}")
    found: type[Answerer] = others[protocol].load(type)
    return found
