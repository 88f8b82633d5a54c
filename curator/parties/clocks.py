"""Times on which a release depends: the clocks of its participants, and when their certificates are valid."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from ...common.crypto.certificates import Certificate
from ...common.crypto.clocks import ALLOWED_S, REMEDY
from ...common.errors import DataError, PartyUnavailable
from .client import Connection, PartyClient, ProbeResult


def clock_of(probed: ProbeResult) -> tuple[bool, str]:
    """Whether a participant's clock is right, and what is said of it.

    Args:
        probed: a probe of it; the offset is known up to half of the round-trip time.
    """
    right = abs(probed.offset_s) <= ALLOWED_S + probed.upload_s / 2
    found = f"its clock is {probed.offset_s:+.3f} s from the curator's, {ALLOWED_S:.0f} s allowed"
    return right, found if right else f"{found}; {REMEDY}"


def check_times(
    certificates: Mapping[str, Certificate],
    links: Mapping[str, Connection],
    now: Callable[[], float] = time.time,
) -> None:
    """Refuses to go on with a clock that is wrong, or a certificate that is not valid.

    A participant that does not answer is left out: whoever asks it something waits for it.

    Args:
        certificates: of the curator and of the participants, by name.
        links: connections to the participants, by name.
        now: seconds since 1970 in UTC.

    Raises:
        DataError: names who it is about, and what to do.
    """
    for name, certificate in certificates.items():
        try:
            certificate.check_valid(datetime.fromtimestamp(now(), UTC))
        except DataError as fault:
            raise DataError(f"{name!r}: {fault}") from fault
    for name, link in links.items():
        with contextlib.suppress(PartyUnavailable):
            right, found = clock_of(PartyClient(link).probe(0, now))
            if not right:
                raise DataError(f"{name!r}: {found}; nothing was charged now")
