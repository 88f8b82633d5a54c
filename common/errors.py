"""Every error that dpmosaic raises for a problem that a user, a party or a curator can fix.

    MosaicError
    ├── DataError          a table, domain, workload or option does not fit
    ├── BudgetError        a privacy parameter is out of range, or a charge exceeds the grant
    ├── PolicyError        a party's policy does not allow what was asked
    │   └── ApprovalPending  the party's operator has not decided yet; the release can be resumed
    ├── ProtocolError      the two sides disagree: a wrong message, version, query or protocol
    │   └── DeliveriesLost a step needs a message that was not delivered since the party was started
    ├── ModelError         a graphical model cannot be built, fitted or kept in memory
    ├── PartyUnavailable   a party does not answer; the only kind that is retried
    │   └── AnswerPending  nobody brought the answer of a party that is reached by files; not retried
    └── MissingExtraError  an optional dependency is not installed

A message states what was expected, what came and what to do; never a data value, a count or a key.
Wrong arguments from our own code stay ValueError or TypeError.
"""

from __future__ import annotations

from typing import ClassVar

from .showing.printable import Shown


class MosaicError(Shown, Exception):
    """Base of all errors of this package.

    Attributes:
        page: of the documentation, that says more about errors of this kind; empty if the message says all.
    """

    page: ClassVar[str] = ""


class MosaicWarning(Shown, UserWarning):
    """Base of all warnings of this package."""


class DataError(MosaicError):
    """A table, domain, workload or option does not fit; the message states which and how to fix it."""


class BudgetError(MosaicError):
    """A privacy parameter is out of range, or a charge would exceed the grant."""

    page = "docs/choosing.md"


class PolicyError(MosaicError):
    """A party's policy does not allow what was asked."""

    page = "docs/operators-guide.md"


class ApprovalPending(PolicyError):
    """A release waits for the decision of a party's operator; it can be resumed afterwards."""


class ProtocolError(MosaicError):
    """Two sides of a protocol disagree: a wrong message, version, query or protocol."""

    page = "docs/operators-guide.md"


class DeliveriesLost(ProtocolError):
    """A step needs a message that was not delivered since the party was started; deliver it (again)."""

    at: object = None
    """Whose deliveries are lost, as a curator notes it; None if that is not known."""


class ModelError(MosaicError):
    """A graphical model cannot be built, fitted or kept in memory."""

    page = "docs/choosing.md"


class MissingExtraError(MosaicError):
    """An optional dependency is not installed; the message names the extra that contains it."""


class PartyUnavailable(MosaicError):
    """A party does not answer; the only kind of error that is retried."""

    page = "docs/operators-guide.md"


class AnswerPending(PartyUnavailable):
    """A party is reached by files, and nobody brought its answer yet; the release can be resumed."""
