"""The result of one check of a certificate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        what: what was checked.
        passed: whether the check passed.
        finding: what was found, or what is wrong.
    """

    what: str
    passed: bool
    finding: str
