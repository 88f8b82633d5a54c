"""Drafts the entry of a column of texts: identifiers, booleans, categories or free text."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from ...common.data.attributes.several_numbers import (
    NAMES_OF_PAIRS,
    ROUNDED_TO,
    SEVERAL_NUMBERS,
    form_of_numbers,
    round_numbers,
)
from ...common.data.attributes.unmodelled import (
    EMAIL,
    EMAILS,
    common_pattern,
    pattern_by_name,
    pattern_of_all,
    pattern_of_last,
)
from ...common.forms.notation import CURRENCIES, LARGEST_WHOLE, PLAIN
from ...common.forms.spelling import CODES_OF_CURRENCIES
from .known import are_times
from .profile import Profile, is_absent

FEW_TEXTS = 50
"""A column of at most this many different texts gets a list of categories."""

OTHER = "other"

_KIND_SAMPLE = 2000
"""Number of texts from which a kind is guessed, before all are looked at."""

TRUE_FALSE = (
    *(("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f")),
    *(("ja", "nein"), ("j", "n"), ("oui", "non"), ("o", "n"), ("sí", "no"), ("si", "no"), ("sim", "não")),
)

_RANGE = re.compile(
    r"[\[(<>=≤≥ ]*[0-9.]+ *((-|–|to|,|\.\.) *(?P<high>[0-9.]+) *|[-+]| and (over|older|more))?[\])]?"
)
"""A range of numbers, such as 10-19, [10, 20), 80+ or < 10."""

_ICD = re.compile(r"[A-Z][0-9][0-9A-Z](\.[0-9A-Z]{1,4})?")
_BY_SPACES = r"-?[0-9]{1,3}([ '’\u00a0\u202f][0-9]{3})+([.,][0-9]*)?"
_ODD = rf"\([$€£¥]?[0-9.,]+\)|[−–][0-9.,]+|[0-9.,]+-|{_BY_SPACES}"
_BEFORE, _AFTER = r"([A-Z]{3} ?|[$€£¥] ?)?", r"([ \u00a0\u202f]?([A-Z]{3}|[$€£¥%]))?"
_ODD_NUMBER = re.compile(f"{_BEFORE}({_ODD}){_AFTER}")
"""A number that no notation of an entry reads."""

_NUMBER = re.compile(f"{_BEFORE}({_ODD}|-?[0-9.,]+){_AFTER}")

_CURRENCY = re.compile(rf"[{CURRENCIES}]|(?<![^\W_])(?:{CODES_OF_CURRENCIES})(?![A-Za-z])")

_CODE = re.compile(r"[^ ]{1,12}")

_MOST_BLANKS = 3
"""What names a record has so many blanks at most, such as a telephone number."""

_PERSONAL_NAME = re.compile(
    r"(^|[_ .-])(sur|last|first|fore|family|given|middle|maiden|patient|full)[_ .-]?names?$"
    r"|^(nachname|vorname|familienname|pr[eé]nom|apellidos?|cognome|efternavn|achternaam)$",
    re.IGNORECASE,
)
_PERSONAL_NUMBER = re.compile(
    r"(^|[_ .-])(patient|person|subject|member|insured|pat|participant|student|pupil|employee|customer|client"
    r"|user|donor)[_ .-]?(id|no|nr|num|number|key|code)$"
    r"|^(id|mrn|ssn|nhs[_ .-]?number|patientid|personid|pid)$",
    re.IGNORECASE,
)

NAMED = re.compile(
    r"(?i:(^|[_ .-])(id|uuid|key|nr|no|num|number|serial|mrn)$)|Id$|ID$|(?<=[a-z])(No|Nr|Num|Number|Key)$"
)
"""Names of columns whose whole numbers are keys, if they all differ."""

_NEARLY_ALL = 0.95

_REPEATED = 10
"""Numbers of which so many pairs should be equal by chance, and none is, are keys."""

_PERHAPS_MISSING = (
    'a text that often stands for a missing value is one of its categories; list it as "missing" if it does'
)

_ENOUGH = 0.5
"""Texts of rounded numbers are listed if they have so many of the rows."""

_OWN_COLUMNS = "give each number a column of its own"

_TEXTS_LISTED = 20
"""So few different texts are listed, even where every row has one of its own."""


def draft_boolean(profile: Profile) -> dict[str, Any] | None:
    """Drafts the entry of a column of two words such as yes and no, in any case; None if it has others.

    Texts are written as they were; a column of booleans has none.
    """
    words = {text.casefold() for text in profile.texts}
    for pair in TRUE_FALSE:
        if words == set(pair):
            entry: dict[str, Any] = {"type": "boolean", "nullable": profile.nullable}
            true, false = (_spellings(profile, word) for word in pair)
            return entry if profile.kind == "BOOLEAN" else entry | {"true": true, "false": false}
    return None


def draft_identifier(profile: Profile) -> dict[str, Any] | None:
    """Drafts the entry of a column that names the records; None if it does not.

    It does if it holds e-mail addresses, or if nearly every value differs, and the values are short texts of
    one shape, or whole numbers that count the rows, stand in a column whose name ends in id, would repeat if
    they were drawn at random from their range, or are too large to count anything.
    """
    # In tenths: what is drawn need not tell more of the rows.
    share = round(1 - profile.value_count / max(1, profile.rows), 1)
    empty = {"empty": share} if 0 < share < 1 else {}
    if _share(profile, EMAIL) >= _NEARLY_ALL:
        return {"type": "identifier", "pattern": EMAILS} | empty
    if not profile.unique or profile.distinct <= FEW_TEXTS or has_odd_numbers(profile):
        return None
    if in_several_currencies(profile):
        return None
    if not len(profile.words):
        if profile.nullable:
            return None
        # Amounts of money may all differ, but no key has decimals; pandas writes 1.0 beside missing ones.
        whole = not any("." in text.removesuffix(".0") for text in profile.texts[:_KIND_SAMPLE])
        whole = whole and bool(np.all(profile.numbers == np.floor(profile.numbers)))
        if are_times(profile.name, float(profile.numbers.min()), float(profile.numbers.max())):
            return None
        large = profile.numbers.min() > LARGEST_WHOLE
        named = large or NAMED.search(profile.name)
        if not whole or profile.notation != PLAIN.pattern or not (named or _never_repeat(profile)):
            return None
        return {"type": "identifier", "pattern": "{:d}"}
    texts = profile.texts[:_KIND_SAMPLE].tolist()
    blanks = max(text.strip().count(" ") for text in texts)
    if max(map(len, texts)) > 64 or blanks > _MOST_BLANKS or _is_of_codes(profile):
        return None
    pattern = _pattern(profile.name, texts)
    if measures(profile) and not NAMES_OF_PAIRS.fullmatch(pattern):
        return None
    # Texts with blanks and nothing in common are names of things, or notes.
    return (
        None
        if blanks and pattern == pattern_by_name(profile.name)
        else {"type": "identifier", "pattern": pattern} | empty
    )


def names_people(profile: Profile) -> bool:
    """Whether the name of a column says that its values name people, each perhaps in several rows."""
    if _PERSONAL_NAME.search(profile.name):
        return True
    return profile.distinct > FEW_TEXTS and _PERSONAL_NUMBER.search(profile.name) is not None


def is_free_text(profile: Profile) -> bool:
    """Whether a column of many different texts holds sentences, names or notes; short codes are none."""
    lengths = np.array([len(text) for text in profile.texts[:_KIND_SAMPLE]])
    many = profile.distinct > 0.5 * profile.value_count and _share(profile, _CODE) < _NEARLY_ALL
    return bool(lengths.mean() > 50) or many


def has_odd_numbers(profile: Profile) -> bool:
    """Whether a column holds numbers of which some are written as no entry can state."""
    texts = profile.texts[:_KIND_SAMPLE].tolist()
    odd = sum(_ODD_NUMBER.fullmatch(text) is not None for text in texts)
    return (
        odd >= 0.01 * len(texts) and profile.distinct > FEW_TEXTS and _share(profile, _NUMBER) >= _NEARLY_ALL
    )


def in_several_currencies(profile: Profile) -> bool:
    """Whether a column of many different texts holds amounts of several currencies."""
    rows: Counter[str] = Counter()
    for text in profile.texts[:_KIND_SAMPLE].tolist():
        found = _CURRENCY.findall(text) if re.search("[0-9]", text) else []
        rows[found[0] if len(found) == 1 else ""] += 1
    odd, known = rows.pop("", 0), rows.total()
    often = [currency for currency, count in rows.items() if count >= 0.01 * known]
    return profile.distinct > FEW_TEXTS and len(often) > 1 and known >= _NEARLY_ALL * (known + odd)


def draft_texts(profile: Profile) -> tuple[dict[str, Any], list[str]]:
    """Drafts the entry of a column of texts that is none of the other kinds.

    Args:
        profile: of the column.

    Returns:
        Categories for few texts, open categories for many, or dropped text; and remarks for the owner.
    """
    own = profile.distinct > max(_TEXTS_LISTED, 0.5 * profile.value_count)
    if profile.distinct <= FEW_TEXTS and not own:
        listed = sorted(profile.texts, key=natural)
        entry: dict[str, Any] = {"type": "categorical", "categories": [""] * profile.nullable + listed}
        remarks = [_PERHAPS_MISSING] if any(map(is_absent, listed)) else []
        return entry | ({"ordered": True} if _are_ranges(listed) else {}), remarks
    if in_several_currencies(profile):
        return {"type": "text", "drop": True}, [
            "its amounts are in several currencies, which no entry states; it is left out: give the currency "
            "a column of its own"
        ]
    if has_odd_numbers(profile):
        return {"type": "text", "drop": True}, [
            "its numbers are written in several ways, such as (5) and -5, or in one that no entry can state; "
            "it is left out until they are written in one"
        ]
    if measures(profile):
        return _nearest(profile)
    if is_free_text(profile):
        return {"type": "text", "drop": True}, ["free text, which no release can hold; it is left out"]
    other = OTHER if OTHER not in profile.texts else f"({OTHER})"
    listed = [""] * profile.nullable + [other]
    return {"type": "categorical", "categories": listed, "other": other, "open": True}, [
        "many categories, which a release finds under differential privacy; list those that are public"
    ]


def measures(profile: Profile) -> bool:
    """Whether each of many different texts holds several numbers, such as 120/80."""
    return profile.distinct > FEW_TEXTS and _share(profile, SEVERAL_NUMBERS) >= _NEARLY_ALL


def _nearest(profile: Profile) -> tuple[dict[str, Any], list[str]]:
    """Categories of rounded numbers, of which other texts count as the nearest."""
    rows: Counter[str] = Counter()
    for step in ROUNDED_TO:
        rows = Counter()
        for text, count in zip(profile.texts.tolist(), profile.counts.tolist(), strict=True):
            rows[round_numbers(text, step)] += count
        if len(rows) <= FEW_TEXTS:
            break
    most = dict(rows.most_common(FEW_TEXTS))
    if sum(most.values()) < _ENOUGH * profile.value_count:
        return {"type": "text", "drop": True}, [
            f"several numbers in one cell; it is left out: {_OWN_COLUMNS}"
        ]
    listed = sorted(most, key=natural)
    entry: dict[str, Any] = {"type": "categorical", "categories": [""] * profile.nullable + listed}
    known = {*map(form_of_numbers, listed)}
    if any(form_of_numbers(text) not in known for text in profile.texts):
        entry["categories"].append(OTHER)
        entry["other"] = OTHER
    return entry | {"nearest": True}, [
        f"several numbers in a cell count as the nearest of its categories; {_OWN_COLUMNS}"
    ]


def natural(text: str) -> tuple[list[tuple[str, int]], str]:
    """A key that sorts "9 years" before "10 years"."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", text.casefold())
    return [(words, int(digits or -1)) for words, digits in parts], text


def _spellings(profile: Profile, word: str) -> list[str]:
    """The ways in which a word is written, the most frequent first."""
    found = [
        (-n, text) for text, n in zip(profile.texts, profile.counts, strict=True) if text.casefold() == word
    ]
    return [text for _, text in sorted(found)]


def _never_repeat(profile: Profile) -> bool:
    """Whether numbers that all differ would repeat often, were they drawn at random from their range."""
    least, largest = profile.numbers.min(), profile.numbers.max()
    return bool(profile.value_count**2 / (2 * (largest - least + 1)) > _REPEATED)


def _share(profile: Profile, shape: re.Pattern[str]) -> float:
    """The share of the different texts, or of some of them, that have a shape."""
    texts = profile.texts[:_KIND_SAMPLE]
    return sum(shape.fullmatch(text) is not None for text in texts) / max(1, len(texts))


def _is_of_codes(profile: Profile) -> bool:
    """Whether texts are codes such as those of ICD-10, which begin with different letters."""
    return (
        _share(profile, _ICD) >= _NEARLY_ALL and len({text[:1] for text in profile.texts[:_KIND_SAMPLE]}) >= 3
    )


def _are_ranges(listed: list[str]) -> bool:
    """Whether texts in their natural order are ranges of numbers, such as 10-19 and 80+."""
    ranges = [_RANGE.fullmatch(text) for text in listed]
    return len(listed) > 1 and all(ranges) and any(one["high"] for one in ranges if one)


def _pattern(name: str, texts: list[str]) -> str:
    """A pattern of new names in the form of the old ones."""
    for pattern_of in (pattern_of_last, pattern_of_all):
        found = Counter(pattern for text in texts if (pattern := pattern_of(text)))
        common = common_pattern(found, 0.5 * len(texts))
        if common is not None:
            return common
    return pattern_by_name(name)
