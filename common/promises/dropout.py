"""What a certificate states of a party that dropped out, and that others signed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dropout:
    """A party that dropped out of a release for good.

    Attributes:
        party: its name.
        answers: number of the first queries of the release whose answers contain its own.
        query: SHA-256 of the query at which the others agreed that it dropped out, as hexadecimal digits.
        before: places in the roster of the parties that had dropped out before that query.
        absent: places of all parties that are not in its answer.
        lost: places of those that are in it and dropped out before it was opened.
        signatures: of each party of the roster over that; empty of those that did not sign.
    """

    party: str
    answers: int
    query: str
    before: tuple[int, ...]
    absent: tuple[int, ...]
    lost: tuple[int, ...]
    signatures: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if self.answers < 0:
            raise ValueError("expected a number of answers")
