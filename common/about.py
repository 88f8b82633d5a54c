"""What a curator says of a release that it asks for: why, who answers for it, and until when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

_REASON_LENGTH = 2000
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class About:
    """The reason of a release, in words for the people who decide on it.

    Parties sign it with the terms, and the certificate states it.

    Attributes:
        purpose: what the synthetic table is for; empty if it is not stated.
        contact: who answers questions about it; empty if it is not stated.
        asked: day on which the parties were asked, ISO 8601 in UTC; empty in a simulation.
        until: last day on which a party may accept the release, ISO 8601 in UTC; empty for no last day.

    Raises:
        ValueError: a text is too long, or a day is none.
    """

    purpose: str = ""
    contact: str = ""
    asked: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        if max(len(self.purpose), len(self.contact)) > _REASON_LENGTH:
            raise ValueError(f"purpose and contact have at most {_REASON_LENGTH} characters each")
        for day in (self.asked, self.until):
            if day and not _DAY.fullmatch(day):
                raise ValueError("a day is written as YYYY-MM-DD")
            if day:
                date.fromisoformat(day)

    def has_ended(self, today: date) -> bool:
        """Whether the last day on which it may be accepted has passed."""
        return bool(self.until) and today > date.fromisoformat(self.until)
