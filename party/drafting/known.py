"""Columns that are known by their names: what is public about them, offered to whoever reviews a draft."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...common.data.attributes.numeric import AUTO
from .profile import is_absent

MONTHS = (
    "January February March April May June July August September October November December".split(),
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(),
)
WEEKDAYS = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "Mon Tue Wed Thu Fri Sat Sun".split(),
)
_SEXES = (["female", "male"], ["Female", "Male"], ["F", "M"], ["f", "m"], ["FEMALE", "MALE"])
_COUNTRIES_2 = (
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT "
    "BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH "
    "ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT "
    "HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS "
    "LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI "
    "NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG "
    "SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG "
    "UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
).split()
_COUNTRIES_3 = (
    "ABW AFG AGO AIA ALA ALB AND ARE ARG ARM ASM ATA ATF ATG AUS AUT AZE BDI BEL BEN BES BFA BGD BGR BHR "
    "BHS BIH BLM BLR BLZ BMU BOL BRA BRB BRN BTN BVT BWA CAF CAN CCK CHE CHL CHN CIV CMR COD COG COK COL "
    "COM CPV CRI CUB CUW CXR CYM CYP CZE DEU DJI DMA DNK DOM DZA ECU EGY ERI ESH ESP EST ETH FIN FJI FLK "
    "FRA FRO FSM GAB GBR GEO GGY GHA GIB GIN GLP GMB GNB GNQ GRC GRD GRL GTM GUF GUM GUY HKG HMD HND HRV "
    "HTI HUN IDN IMN IND IOT IRL IRN IRQ ISL ISR ITA JAM JEY JOR JPN KAZ KEN KGZ KHM KIR KNA KOR KWT LAO "
    "LBN LBR LBY LCA LIE LKA LSO LTU LUX LVA MAC MAF MAR MCO MDA MDG MDV MEX MHL MKD MLI MLT MMR MNE MNG "
    "MNP MOZ MRT MSR MTQ MUS MWI MYS MYT NAM NCL NER NFK NGA NIC NIU NLD NOR NPL NRU NZL OMN PAK PAN PCN "
    "PER PHL PLW PNG POL PRI PRK PRT PRY PSE PYF QAT REU ROU RUS RWA SAU SDN SEN SGP SGS SHN SJM SLB SLE "
    "SLV SMR SOM SPM SRB SSD STP SUR SVK SVN SWE SWZ SXM SYC SYR TCA TCD TGO THA TJK TKM TKL TLS TON TTO "
    "TUN TUR TUV TWN TZA UGA UKR UMI URY USA UZB VAT VCT VEN VGB VIR VNM VUT WLF WSM YEM ZAF ZMB ZWE"
).split()


@dataclass(frozen=True)
class Offer:
    """What is public about a column.

    Attributes:
        entry: of a domain file, without a mark.
        source: where it is known from, as a noun phrase.
    """

    entry: Mapping[str, Any]
    source: str


@dataclass(frozen=True)
class _Range:
    """Numbers that are known to lie within a range.

    Attributes:
        names: words of a column's name.
        low, high: the range.
        source: see `Offer`.
        single: whether each whole number has a bin of its own.
        slack: how far rounding may have moved drafted bounds out of the range.
    """

    names: str
    low: int
    high: int
    source: str
    single: bool = False
    slack: int = 0


_RANGES = (
    _Range("age", 0, 120, "ages of people in years: nobody alive is older"),
    _Range("month mon", 1, 12, "the calendar", single=True),
    _Range("hour hr", 0, 23, "the clock", single=True),
    _Range("minute", 0, 59, "the clock", single=True),
    _Range("weekday dow", 0, 6, "the calendar, counted from 0", single=True),
    _Range("weekday dow", 1, 7, "the calendar, counted from 1", single=True),
    _Range("day mday dom", 1, 31, "the calendar", single=True),
    _Range("yday doy", 1, 366, "the calendar"),
    _Range("week", 1, 53, "the calendar (ISO 8601)", single=True),
    _Range("quarter qtr", 1, 4, "the calendar", single=True),
    _Range("year", 1900, 2100, "calendar years; narrow them to those that you publish"),
    _Range(
        "latitude lat", -90, 90, "degrees of latitude; narrow them to the area that you publish", slack=10
    ),
    _Range(
        "longitude lon lng long",
        -180,
        180,
        "degrees of longitude; narrow them to the area that you publish",
        slack=20,
    ),
    _Range("percent percentage pct", 0, 100, "parts of a hundred"),
)

_LISTS = (
    ("sex gender", _SEXES, "words for sexes; add others that your form has", False),
    ("month mon", MONTHS, "the calendar", True),
    ("weekday day dow", WEEKDAYS, "the calendar", True),
    ("country nation nationality", (_COUNTRIES_2, _COUNTRIES_3), "ISO 3166-1", False),
)
"""Names, lists of which one holds all values, source, and whether their order has a meaning."""

_OPEN = (
    ("postcode postal zip zipcode plz", "postcodes are public: list those of your area"),
    ("icd icd10 diagnosis dx", "ICD-10 is public: list the codes or chapters that you publish"),
)
"""Names and sources of columns whose values no draft can list."""


def offer_for(name: str, entry: Any) -> Offer | None:
    """What is public about a column of this name, if the drafted entry does not contradict it.

    Args:
        name: of the column.
        entry: as drafted; whether values are missing, and how they are written, is taken from it.
    """
    if isinstance(entry, Mapping) and "computed" in entry:
        return None
    words = _words(name)
    kept = {key: entry[key] for key in _WRITTEN if key in entry} if isinstance(entry, Mapping) else {}
    if isinstance(entry, Mapping) and entry.get("type") == "boolean":
        return Offer({"type": "boolean", **kept}, "two words for yes and no")
    held = _numbers(entry)
    for one in _RANGES:
        # What holds no more than 0 and 1 says yes or no: `long_stay` is no longitude.
        counts = held and (held[0] < 0 or held[1] > 1)
        fits = held and counts and one.low - one.slack <= held[0] and held[1] <= one.high + one.slack
        if fits and words & set(one.names.split()):
            return Offer(_of_range(one, entry, kept), one.source)
    texts = _texts(entry)
    for names, lists, source, ordered in _LISTS:
        for listed in lists:
            known = {*listed, *(text for text in texts if is_absent(text))}
            if not texts.isdisjoint(listed) and words & set(names.split()) and texts <= known:
                return Offer(_of_list(listed, entry, ordered), source)
    for names, source in _OPEN:
        if words & set(names.split()) and (held or texts or _is_open(entry)):
            return Offer(_of_list(["other"], entry, False) | {"other": "other", "open": True}, source)
    return None


def is_known(name: str) -> bool:
    """Whether the name says that a column holds publicly known values, such as years, and no keys."""
    known = (*(one.names for one in _RANGES), *(names for names, _ in _OPEN))
    return any(_words(name) & set(names.split()) for names in known)


_TIMES = re.compile(r"(?i)(^|[\W_])(time|timestamp|ts|epoch|unixtime|datetime)$|(?<=[a-z])Time(stamp)?$|_at$")
_SECONDS = (10**8, 2**32)
"""Seconds since 1970, of 1973 to 2106."""


def are_times(name: str, least: float, most: float) -> bool:
    """Whether numbers of this name and range are seconds since 1970, or thousandths or less of them."""
    low, high = _SECONDS
    known = any(low * unit <= least and most <= high * unit for unit in (1, 10**3, 10**6, 10**9))
    return known and _TIMES.search(name) is not None


_WRITTEN = (
    "nullable",
    "missing",
    "texts",
    "unreadable",
    "decimals",
    "multiple_of",
    "rounded",
    "format",
    "true",
    "false",
)


def _words(name: str) -> set[str]:
    """The words of a name that say what it holds: its first and its last, and all of them joined."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower())
    if not words or "per" in words:
        return set()
    return {words[0], words[-1], "".join(words)}


def _numbers(entry: Any) -> tuple[float, float] | None:
    """The least and the largest number of an entry; None if it holds others than numbers."""
    if not isinstance(entry, Mapping):
        return None
    match entry.get("type"):
        case "numeric" if "min" in entry:
            return entry["min"], entry["max"]
        case "codes":
            return 0, entry["n"] - 1
        case "categorical":
            listed = [one for one in entry["categories"] if one != ""]
            whole = [one for one in listed if isinstance(one, int) and not isinstance(one, bool)]
            return (min(whole), max(whole)) if whole and len(whole) == len(listed) else None
    return None


def _texts(entry: Any) -> set[str]:
    """The texts of an entry; empty if it has other values, or open ones."""
    if not isinstance(entry, Mapping) or entry.get("type") != "categorical" or _is_open(entry):
        return set()
    listed = {one for one in entry["categories"] if one != ""}
    return listed if all(isinstance(one, str) for one in listed) else set()


def _is_open(entry: Any) -> bool:
    return isinstance(entry, Mapping) and entry.get("open") is True


def _nullable(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("nullable")) or "" in entry.get("categories", ())


def _of_range(known: _Range, entry: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    whole = entry.get("integer", True)
    bins = known.high - known.low + 1 if known.single and whole else AUTO
    bounds = {"type": "numeric", "min": known.low, "max": known.high, "bins": bins}
    return {**bounds, "nullable": _nullable(entry), "integer": whole, **kept}


def _of_list(listed: list[str], entry: Mapping[str, Any], ordered: bool) -> dict[str, Any]:
    absent = [one for one in _texts(entry) if is_absent(one) and one not in listed]
    blank = [""] if absent or _nullable(entry) else []
    found: dict[str, Any] = {"type": "categorical", "categories": [*blank, *listed]}
    missing = sorted({*entry.get("missing", ()), *absent})
    found |= {"missing": missing} if missing else {}
    return found | ({"ordered": True} if ordered else {})
