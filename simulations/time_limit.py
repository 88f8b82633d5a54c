"""A time limit in seconds of this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..common.errors import DataError, MosaicWarning
from ..common.forms.values import POSITIVE
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.mechanisms.mosaic.mosaic import Mosaic
from ..curator.work.speed import speed

LATE = 1.5
"""A release took too long if it took so many times what was asked; estimates of work are not closer."""

COUNTED_PER_S = 0.4
"""Counted seconds for each second of the reference core. Tables of many small attributes take two to three
times what is counted for them, others less (ADR 81)."""


class TimeLimitWarning(MosaicWarning):
    """A release took clearly longer than the time limit that was asked."""


def _anew(name: str, value: str) -> str:
    return value


def limited(
    mechanism: Mechanism, seconds: float | None, noted: Callable[[str, str], str] = _anew
) -> Mechanism:
    """The mechanism with a time limit in seconds of this machine.

    They become the parameter `time_limit`, which counts work at fixed rates. It is public and part of the
    release, which then makes the same choices wherever it is resumed.

    Args:
        mechanism: the mechanism; without a limit of its own.
        seconds: the limit; None to leave the mechanism as it is.
        noted: the value that was noted under a name first, here of the parameter, or else this one; a release
            that goes on keeps it.

    Raises:
        DataError: the limit is not a number above 0, the mechanism has one already, or knows none.
    """
    if seconds is None:
        return mechanism
    for fault in POSITIVE.faults(seconds):
        raise DataError(f"time limit: {fault.reason}")
    if not isinstance(mechanism, Mosaic):
        raise DataError(
            f"time limit: expected the mechanism 'mosaic', got {mechanism.name!r}, which has no limit "
            "of time; leave the limit out, or choose 'mosaic'"
        )
    if mechanism.time_limit is not None:
        raise DataError(
            "time limit: expected either seconds of this machine or the mechanism's parameter time_limit, "
            "which counts work at fixed rates; got both; leave one out"
        )
    # A speed is not known more closely than to two digits.
    return replace(
        mechanism, time_limit=float(noted("time_limit", f"{seconds * COUNTED_PER_S * speed():.2g}"))
    )


def lateness(asked: float | None, taken: float) -> str | None:
    """What to tell somebody whose release took clearly longer than asked; None if it did not.

    Args:
        asked: time limit in seconds; None without one.
        taken: seconds that the release took.
    """
    if asked is None or taken <= LATE * asked:
        return None
    return (
        f"the release took {taken:.3g} s, and the time limit was {asked:.3g} s: an estimate, which leaves "
        "out reading the table, other processes, and compiling at the first run"
    )
