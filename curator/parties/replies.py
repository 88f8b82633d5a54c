"""What all parties and dealers reply to one question: every error is collected, and one of them is raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ...common.errors import ApprovalPending, MosaicError, PartyUnavailable

_T = TypeVar("_T")


def reply_or_error(ask: Callable[[], _T]) -> _T | MosaicError:
    """A reply, or the error in its place."""
    try:
        return ask()
    except MosaicError as error:
        return error


def raise_worst(failed: Mapping[str, MosaicError]) -> None:
    """Raises what stops a release for good before what can pass: silence, then a decision to come.

    Args:
        failed: by name of the participant.
    """
    waiting = {name: error for name, error in failed.items() if isinstance(error, ApprovalPending)}
    away = [error for error in failed.values() if isinstance(error, PartyUnavailable)]
    refused = [error for name, error in failed.items() if name not in waiting and error not in away]
    if refused:
        raise together(refused)
    if away:
        raise away[0]
    if len(waiting) == 1:
        raise next(iter(waiting.values()))
    if waiting:
        raise ApprovalPending(
            f"the release waits for the operators of {', '.join(waiting)}, who approve it by `dpmosaic party "
            "approve`; resume it when all have decided"
        )


def together(refused: Sequence[MosaicError]) -> MosaicError:
    """One error that tells all refusals."""
    first = refused[0]
    return first if len(refused) == 1 else type(first)(". ".join(map(str, refused)))
