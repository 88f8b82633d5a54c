"""Bundles of calls and their answers: one that somebody carried here, or those of a curator's mailbox.

The same servicer is asked as over a network: what is refused, charged or answered again without a charge does
not depend on how a call comes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...common.bounded import read_bytes
from ...common.errors import ApprovalPending, DataError, MosaicError, PartyUnavailable, ProtocolError
from ...common.federation.card import Card
from ...common.federation.private_files import private_draft
from ...common.files.writing import told_if_unwritable
from ...common.wire.bundles import (
    MOST_BYTES,
    Bundle,
    BundledCall,
    BundledReplies,
    BundleHeader,
    decode_calls,
    encode_replies,
    is_bundle,
    seal_bundle,
)
from ...common.wire.status import status_of
from ..accounts.ledger import Ledger
from ..disk import check_room, told_if_full
from ..home.folder import SHAREABLE_LOG, Home
from .calls import Call
from .events import EventLog, Log
from .log_files import log_of
from .servicer import PartyServicer


@dataclass(frozen=True)
class Answered:
    """What one bundle led to.

    Attributes:
        bundle: the replies, for the curator that asked.
        calls: number of calls that were answered.
        refusal: why the next call was refused; None if all were answered.
        charged: zCDP that was charged meanwhile.
    """

    bundle: Bundle
    calls: int
    refusal: MosaicError | None
    charged: float


def answer_file(home: Home, request: Path, out: Path) -> Answered:
    """Answers a bundle of calls, and writes the replies, for the curator that asked.

    The same bundle again has the same replies, and is not charged again.

    Args:
        home: folder of the party; no daemon serves it meanwhile.
        request: file with the calls.
        out: file for the replies; a bundle that is there is replaced.

    Raises:
        DataError: the folder is inconsistent or served, a file cannot be read or written, or the file for the
            replies is another one, such as the ledger; nothing was charged.
        ProtocolError: the file is no bundle, or was altered, cut, or written by or for another.
        ApprovalPending: an operator of this party has to decide first; nothing is written.
        PartyUnavailable: the disk is full; nothing is written.
    """
    _check_out(out)
    with told_if_full(home.folder), home.claim():
        home.check_files()
        bundle = _read(request)
        _curator_of(home, bundle.header)
        with (
            log_of(home, SHAREABLE_LOG) as shareable,
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            home.open_role() as opened,
        ):
            checks = opened.checks | {"disk": partial(check_room, home.folder)}
            servicer = PartyServicer(opened.role, checks=checks)
            answered = answer_bundle(home, servicer, opened.ledger, bundle, EventLog(nowhere, shareable))
        _write(out, answered.bundle.to_bytes())
    return answered


def answer_bundle(home: Home, servicer: PartyServicer, ledger: Ledger, bundle: Bundle, log: Log) -> Answered:
    """Answers a bundle of calls, however it came.

    Args:
        home: folder of the party.
        servicer: answers calls of its role.
        ledger: its ledger.
        bundle: as it was read.
        log: receives an event for every call.

    Raises:
        ProtocolError: it was altered, cut, or written by or for another.
        ApprovalPending: an operator of this party has to decide first.
        PartyUnavailable: the disk is full.
    """
    curator = _curator_of(home, bundle.header)
    calls = decode_calls(bundle.open(home.keyring.identity, curator.identity))
    before = _total_spent(ledger)
    replies = _replies(servicer, calls, curator.identity, log)
    asked = bundle.header
    header = BundleHeader(home.keyring.name, curator.name, asked.release_id, asked.number, bundle.digest)
    sealed = seal_bundle(header, encode_replies(replies), home.keyring.identity, curator.identity)
    return Answered(sealed, len(replies.replies), replies.refusal, _total_spent(ledger) - before)


def _read(request: Path) -> Bundle:
    try:
        return Bundle.read(read_bytes(request, MOST_BYTES))
    except (OSError, ValueError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else str(cause)
        raise DataError(f"cannot read {request}: {why}; name the file that the curator wrote") from cause


def _check_out(out: Path) -> None:
    """Refuses to put an answer in the place of a file that is no bundle."""
    if not out.is_file():
        return
    with told_if_unwritable(out, "name another file"), out.open("rb") as file:
        if not is_bundle(file.read(4096)):
            raise DataError(
                f"expected a new file for the answer, or a bundle that it replaces, got {out}, which is "
                "another; name another file"
            )


def _write(out: Path, content: bytes) -> None:
    with told_if_unwritable(out, "name another file"):
        with private_draft(out) as file:
            file.write(content)


def _curator_of(home: Home, header: BundleHeader) -> Card:
    """The pinned curator that a bundle names, if it is a bundle of calls for this party."""
    if header.request:
        raise ProtocolError(
            "expected a bundle of calls, got one of replies; name the file that the curator wrote"
        )
    if header.recipient != home.keyring.name:
        raise ProtocolError(
            f"expected a bundle for {home.keyring.name!r}, got one for {header.recipient!r}; take the file "
            "of this party"
        )
    found = [curator for curator in home.curators() if curator.name == header.sender]
    if not found:
        raise ProtocolError(
            f"expected a bundle of a pinned curator, got one of {header.sender!r}; run dpmosaic {home.role} "
            "trust with its federation file"
        )
    return found[0]


def _replies(
    servicer: PartyServicer, calls: Sequence[BundledCall], curator: bytes, log: Log
) -> BundledReplies:
    """The replies to calls in their order, up to the first that is refused."""
    replies: dict[bytes, tuple[bytes, ...]] = {}
    for one in calls:
        call = Call(one.method, log)
        requests = call.counted_in(iter(one.requests))
        try:
            said = tuple(call.counted_out(servicer.serve(one.method, requests, curator)))
        except MosaicError as refusal:
            call.end(status_of(refusal).name, str(refusal))
            if isinstance(refusal, ApprovalPending):
                raise ApprovalPending(
                    "a release waits for a decision here: read `dpmosaic party show`, decide by `dpmosaic "
                    "party approve` or `deny`, and run the same command again; no answer was written"
                ) from refusal
            if isinstance(refusal, PartyUnavailable):
                raise
            return BundledReplies(replies, refusal)
        call.end("OK")
        if not one.silent:
            replies[one.digest] = said
    return BundledReplies(replies)


def _total_spent(ledger: Ledger) -> float:
    return float(sum(entry.spent for entry in ledger.summaries()))
