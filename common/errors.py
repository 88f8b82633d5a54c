"""Every error that dpmosaic raises for what a user, a party or a curator can fix.

    MosaicError
    ├── DataError          a table, domain, workload or option does not fit
    ├── BudgetError        a privacy parameter is out of range, or a charge goes past what was granted
    ├── PolicyError        a party's policy does not allow what was asked
    ├── ProtocolError      the two sides disagree: a wrong message, version, query or protocol
    │   └── DeliveriesLost a step needs what was not delivered, or went with the party's last process
    ├── ModelError         a graphical model cannot be built, fitted or kept in memory
    ├── MissingExtraError  an optional dependency is not installed
    └── PartyUnavailable   a party does not answer; the only kind that is worth another try

A message names what was expected, what came and what to do; never a data value, a count or a key.
Wrong arguments from our own code stay ValueError or TypeError.
"""

from __future__ import annotations


class MosaicError(Exception):
    """Base of all errors of this package."""


class DataError(MosaicError):
    """A table, domain, workload or option does not fit; says which and how to fix it."""


class BudgetError(MosaicError):
    """A privacy parameter is out of range, or a charge would go past what was granted."""


class PolicyError(MosaicError):
    """A party's policy does not allow what was asked."""


class ProtocolError(MosaicError):
    """Two sides of a protocol disagree: a wrong message, version, query or protocol."""


class DeliveriesLost(ProtocolError):
    """A step needs what was not delivered to the party, or not since it was started; deliver it (again)."""


class ModelError(MosaicError):
    """A graphical model cannot be built, fitted or kept in memory."""


class MissingExtraError(MosaicError):
    """An optional dependency is not installed; names the extra that brings it."""


class PartyUnavailable(MosaicError):
    """A party does not answer; the only kind of error that is worth another try."""
