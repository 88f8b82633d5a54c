"""The answerer of every protocol that daemons speak."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.errors import PolicyError
from ...common.protocols.registry import INDICATOR, MASKED, TRUSTED
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
    """The answerer of a protocol.

    Raises:
        PolicyError: parties have none.
    """
    if protocol not in ANSWERERS:
        raise PolicyError(f"no party takes part in the protocol {protocol!r}; use one of {sorted(ANSWERERS)}")
    return ANSWERERS[protocol]
