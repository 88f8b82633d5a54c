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

_BY_DISTANCE = tuple(
    f"{zone}{written.format(hours)}"
    for zone in ("GMT", "UTC")
    for written in ("{:+d}", "{:+03d}:00", "{:+03d}00")
    for hours in range(-12, 15)
    if hours
)
"""Names that say the distance from Greenwich, such as GMT+1 and UTC-05:00."""

ZONE_NAMES = (
    *sorted(
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
    ),
    *_BY_DISTANCE,
)
"""Names that stand behind timestamps."""

_ANY_NAME = "|".join(map(re.escape, ZONE_NAMES))

ZONE_NAME_SQL = f" ({_ANY_NAME})($| [0-9]{{4}}$)"
"""As `ZONE_NAME`, for databases, which look around nothing: the name, then what is behind it."""

ZONE_NAME = re.compile(f"(?<= )({_ANY_NAME})(?=$| [0-9]{{4}}$)")
"""Where one stands: at the end, or before a year."""

DISTANCE = re.compile("(?<= )(GMT|UTC)[-+][09]{1,2}(:?00)?(?=$| [09]{4}$)")
"""The shape of one of `_BY_DISTANCE`."""

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
