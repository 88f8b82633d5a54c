"""Names of time zones behind timestamps, such as CET and CEST."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PAIRS = {
    **{"Europe/Berlin": ("CET", "CEST"), "Europe/Athens": ("EET", "EEST"), "Europe/Lisbon": ("WET", "WEST")},
    **{
        "America/New_York": ("EST", "EDT"),
        "America/Chicago": ("CST", "CDT"),
        "America/Denver": ("MST", "MDT"),
    },
    **{"America/Los_Angeles": ("PST", "PDT"), "Australia/Sydney": ("AEST", "AEDT")},
}
"""Time zone -> its names in winter and in summer."""

ZONE_NAMES = tuple(
    sorted(
        {
            *(name for pair in _PAIRS.values() for name in pair),
            "BST",
            "HKT",
            "IST",
            "JST",
            "KST",
            "MEZ",
            "MESZ",
            "MSK",
        }
    )
)
"""Names that stand behind timestamps."""

ZONE_NAME_SQL = f" ({'|'.join(ZONE_NAMES)})($| [0-9]{{4}}$)"
"""As `ZONE_NAME`, for databases, which look around nothing: the name, then what is behind it."""

ZONE_NAME = re.compile(f"(?<= )({'|'.join(ZONE_NAMES)})(?=$| [0-9]{{4}}$)")
"""Where one stands: at the end, or before a year."""

_NAMED = 0.02
"""Two names are those of one zone if each has so many of the rows of both."""


def zone_named(rows: Mapping[str, float]) -> tuple[str, str]:
    """What rows with names of time zones are in.

    Args:
        rows: of each name.

    Returns:
        `%Z` and a time zone, if names of winter and summer alternate; otherwise the usual name, and none.
    """
    together = {zone: sum(rows.get(name, 0.0) for name in pair) for zone, pair in _PAIRS.items()}
    zone = max(together, key=together.__getitem__)
    usual = max(rows, key=rows.__getitem__)
    if usual in _PAIRS[zone] and min(rows.get(name, 0.0) for name in _PAIRS[zone]) > _NAMED * together[zone]:
        return "%Z", zone
    return usual, ""
