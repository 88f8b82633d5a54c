"""A first draft of a domain file, read off a party's own rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import Category
from ...common.data.attributes.clock import NUMBERS, PADDED_NUMBERS
from ...common.data.domain_files.reading import read_entry
from ...common.errors import DataError
from ...common.files.labels import listed_categories
from ...common.forms.notation import LARGEST_WHOLE, PLAIN, WITH_FLAGS
from ..sources.query import open_queried
from ..sources.source import FileSource, Queried
from .dates import INTERVAL, draft_clock, draft_date
from .draft import Draft
from .following import following_dates
from .known import is_known
from .labels import labels_of
from .numbers import draft_number
from .profile import FLOATS, Profile, Rows, is_absent, is_infinite
from .suggestions import equivalent_columns, same_within, suggested_rules
from .texts import FEW_TEXTS, OTHER, draft_boolean, draft_identifier, draft_texts, names_people, natural

FEW_NUMBERS = 20
"""A column of at most this many different numbers gets a list of categories."""

_NUMBERS_LISTED = 10
"""So few different numbers are listed, even where few rows share one."""

_MOST_BESIDE = 20
"""So many different texts may stand beside numbers."""

_ODD = 0.01
"""The rarest texts among numbers, of at most this share of the rows, count as missing values."""

_WITHOUT_PADDING = ("numeric", "date", "timestamp", "clock", "identifier")
"""Types of columns in which blanks around a cell mean nothing."""

_HOLDS_NO_VALUES = re.compile(r".*\[[0-9]*\]|(STRUCT|MAP|UNION|BLOB|BIT)\b.*")
"""DuckDB's types of lists, structures and bytes."""

CONSTANT = "it has one value only: leave it out, or keep it if that value is public"

_AFTER = (
    'it comes after {!r} or near to it, and is kept as its gap to that; give it "min" and "max" instead if '
    "this is chance"
)

_UNSTATED = "no entry that was drafted states what it holds; it is left out: describe it"

_OF_HOURS = "its whole numbers are read as hours and minutes: 930 is half past nine; check them"

_OF_FLAGS = "flags stand behind some of its numbers, such as * or H; they are left out"

_NO_CLOCK = (
    "durations of which some are negative, or of a year and more, which no entry states; it is left out: "
    "convert them to numbers, such as seconds"
)

_OF_PEOPLE = "all its rows say the same in {}: with it as the key, name these by per_person"

_RULES_SAMPLE = 50_000
"""Rules are looked for in so many rows."""


def draft_file(
    path: str | Path,
    blanks: Collection[str] = (),
    database: Path | None = None,
    *,
    header: bool | None = None,
) -> Draft:
    """Drafts an entry for every column of a table. See `draft.NOT_PRIVATE` before using it.

    Args:
        path: a file of a table, or one with a query (`open_queried`).
        blanks: texts that stand for a missing value in every column, such as NA; among numbers and dates the
            usual ones are known.
        database: a DuckDB file that the query reads.
        header: see `source.open_source`.

    Raises:
        DataError: the file cannot be read or has no rows, or none of its columns can be released.
    """
    source = open_queried(Path(path), database, header=header)
    if not isinstance(source, FileSource):
        return draft_rows(source, blanks)
    source.check_divided()
    return draft_rows(source, blanks, labels=listed_categories(source.labels))


def draft_rows(
    source: Queried,
    blanks: Collection[str] = (),
    ordered: Mapping[str, Sequence[Category]] | None = None,
    timezones: Mapping[str, str] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    *,
    keys_alone: bool = False,
) -> Draft:
    """Drafts an entry for every column of rows that DuckDB can query; see `draft_file`.

    Args:
        source: the rows.
        blanks: texts that stand for a missing value in every column.
        ordered: name -> categories of columns whose type lists them in an order that has a meaning.
        timezones: name -> time zone of columns of local times whose type declared one.
        labels: name -> categories of columns that a file describes.
        keys_alone: whether rows may be keys alone, of which a release has nothing but their number.

    Raises:
        DataError: the rows cannot be read, there are none, or none of their columns can be released.
    """
    rows = Rows.of(source)
    with rows.connection:
        drafted = {
            profile.name: _entry_of_ordered(profile, ordered[profile.name])
            if ordered and profile.name in ordered
            else _entry_of_labels(profile, labels[profile.name])
            if labels and profile.name in labels
            else _entry(profile)
            for profile in rows.profiles(blanks)
        }
        entries = {name: entry for name, (entry, _) in drafted.items()}
        for name, zone in (timezones or {}).items():
            if entries[name]["type"] == "timestamp":
                entries[name]["timezone"] = zone
        remarks = [(name, remark) for name, (_, found) in drafted.items() for remark in found]
        read: dict[str, Any] = {}
        for name, entry in entries.items():
            try:
                read[name] = read_entry(name, entry)
            except DataError:
                # One odd column is no reason to draft none of the others.
                entries[name] = {"type": "text", "drop": True}
                remarks.append((name, _UNSTATED))
        attributes = {name: one for name, one in read.items() if isinstance(one, Attribute)}
        if not attributes:
            if not keys_alone:
                raise DataError(f"{source.name} has no column that a release can hold; add some")
            return Draft(entries, [], remarks)
        sample = rows.sample(_RULES_SAMPLE)
        texts = {name: labels_of(sample[name], one) for name, one in attributes.items()}
        remarks += [
            (name, f"it and {other!r} determine each other: one of them can be dropped")
            for name, other in equivalent_columns(texts)
        ]
        for name in entries:
            if name not in attributes and (same := same_within(labels_of(sample[name]), texts)):
                remarks.append((name, _OF_PEOPLE.format(", ".join(map(repr, same)))))
        later = following_dates(entries, attributes, sample)
        remarks += [(name, _AFTER.format(*entry["after"])) for name, entry in later.items()]
        rules = [rule for rule in suggested_rules(attributes, sample, texts) if not _orders(rule, later)]
        return Draft(entries | later, rules, remarks)


def _orders(rule: Mapping[str, Any], later: Collection[str]) -> bool:
    """Whether a rule compares or adds one of these columns."""
    parts = rule["of"] if "sum" in rule or "product" in rule else ()
    return any(name in later for name in (rule.get("sum"), *parts, *rule.get("at_most", ())))


def _entry_of_ordered(profile: Profile, categories: Sequence[Category]) -> tuple[Any, list[str]]:
    """The entry of a column whose type lists its categories in order."""
    listed = [""] * profile.nullable + list(categories)
    return {"type": "categorical", "categories": listed, "ordered": True, "reviewed": False}, []


def _entry_of_labels(profile: Profile, labels: Sequence[str]) -> tuple[Any, list[str]]:
    """The entry of a column whose file says what its codes mean; codes that it does not name are "other"."""
    listed = [""] * profile.nullable + list(labels)
    entry: dict[str, Any] = {"type": "categorical", "categories": listed, "reviewed": False}
    unnamed = [text for text in profile.texts.tolist() if text not in labels]
    if not unnamed:
        return entry, []
    if OTHER not in listed:
        listed.append(OTHER)
    remark = (
        f"{profile.rows_of(unnamed)} of {profile.rows} rows hold a code without a label: they count as other"
    )
    return entry | {"other": OTHER}, [remark]


def _entry(profile: Profile) -> tuple[Any, list[str]]:
    """The entry of a column, and remarks for the owner."""
    if _HOLDS_NO_VALUES.fullmatch(profile.kind):
        return {"type": "text", "drop": True}, ["lists, structures or bytes, which no release can hold"]
    stripped = profile.without_padding()
    if stripped is not profile and (found := _entry(stripped))[0]["type"] in _WITHOUT_PADDING:
        return found
    kept, odd = _readable(profile)
    entry, remarks = _kind(kept)
    remarks += odd
    if entry["type"] in ("identifier", "text"):
        return entry | ({"reviewed": False} if "empty" in entry else {}), remarks
    if kept.beside:
        entry["texts"] = list(kept.beside)
        remarks.append(f"{kept.beside_rows} of {profile.rows} rows hold a text beside the numbers; check it")
    if kept.blanks:
        entry["missing"] = list(kept.blanks)
        rows = profile.rows_of(kept.blanks)
        remarks.append(
            f"{rows} of {profile.rows} rows hold a text that is taken as a missing value; check it"
        )
    infinite = profile.kind in FLOATS and any(map(is_infinite, kept.blanks))
    if entry["type"] == "numeric" and (kept.unread or infinite):
        entry["unreadable"] = "missing"
    return entry | {"reviewed": False}, remarks


def _readable(profile: Profile) -> tuple[Profile, list[str]]:
    """The column without texts that among numbers, dates and booleans stand for a missing value, and remarks.

    Of texts that do not, those of few rows are left out and count as missing; those of many rows are kept.
    """
    known = profile.without([text for text in profile.words if is_absent(text)])
    numbers = known.distinct - len(known.words)
    if not len(known.words):
        return known, []
    if numbers > FEW_NUMBERS and not _are_codes(known):
        odd = _rarest(known, _ODD * known.value_count)
        kept = known.without_odd(odd)
        rows = kept.unread - known.unread
        if len(kept.words) <= _MOST_BESIDE:
            remark = (
                f"{rows} of {profile.rows} rows hold text where others hold numbers; they count as missing"
            )
            return kept.with_beside(kept.words), [remark] if rows else []
    if known.distinct == profile.distinct:
        return profile, []
    if draft_boolean(known) is not None or draft_date(known)[0] is not None or draft_clock(known) is not None:
        return known, []
    return profile, []


def _rarest(profile: Profile, rows: float) -> list[str]:
    """The rarest texts among numbers, of so many rows together at most."""
    counts = profile.counts[np.isnan(profile.numbers)]
    rising = np.argsort(counts, kind="stable")
    few = int(np.searchsorted(np.cumsum(counts[rising]), rows, "right"))
    found: list[str] = profile.words[rising[:few]].tolist()
    return found


def _are_codes(profile: Profile) -> bool:
    """Whether digits are codes of one length, some of which begin with zero, such as 01067."""
    padded = any(re.fullmatch("0[0-9]+", text) for text in profile.words)
    digits = padded and all(re.fullmatch("[0-9]{2,15}", text) for text in profile.texts)
    return digits and len({len(text) for text in profile.texts}) == 1


def _kind(profile: Profile) -> tuple[dict[str, Any], list[str]]:
    if not profile.distinct:
        return {"type": "categorical", "categories": [""]}, ["it has no values; leave it out"]
    remarks = [] if profile.distinct > 1 or profile.nullable else [CONSTANT]
    found, doubts = draft_date(profile)
    if found is not None:
        return found, [*remarks, *doubts]
    if (found := draft_clock(profile) or draft_boolean(profile)) is not None:
        return found, [*remarks, *([_OF_HOURS] if found.get("format") in (NUMBERS, PADDED_NUMBERS) else [])]
    if profile.kind == INTERVAL:
        return {"type": "text", "drop": True}, [_NO_CLOCK]
    # Numbers beside which texts stand are no keys.
    named = not is_known(profile.name) and not profile.beside
    if named and (identifier := draft_identifier(profile)) is not None:
        return identifier, [*remarks, "it names the records: new names are drawn in place of them"]
    if not is_known(profile.name) and names_people(profile):
        return {"type": "text", "drop": True}, [
            *remarks,
            "its name says that it names people, of whom no release may tell; it is left out: give it as the "
            "key if it names the person of each row",
        ]
    numbers = len(profile.values[0])
    if _are_codes(profile) and profile.distinct > FEW_TEXTS:
        found, doubts = draft_number(profile.with_zeros_in_front())
    elif len(profile.words):
        found, doubts = draft_texts(profile)
    elif numbers <= FEW_NUMBERS and (numbers <= _NUMBERS_LISTED or profile.value_count >= 5 * numbers):
        found, doubts = _few_numbers(profile), []
    else:
        found, doubts = draft_number(profile)
    flagged = found["type"] == "numeric" and str(found.get("format", "")).endswith(WITH_FLAGS)
    return found, [*remarks, *doubts, *([_OF_FLAGS] if flagged else [])]


def _few_numbers(profile: Profile) -> dict[str, Any]:
    numbers = profile.values[0]
    if np.abs(numbers).max() > LARGEST_WHOLE or profile.notation != PLAIN.pattern:
        texts = sorted(profile.texts.tolist(), key=natural)
        return {"type": "categorical", "categories": [""] * profile.nullable + texts}
    # Whole numbers beside fractions have a point if the rows write one.
    bare = np.all(numbers == np.floor(numbers)) or not any(text.endswith(".0") for text in profile.texts)
    listed: list[Category] = [
        int(number) if bare and number.is_integer() else float(number) for number in numbers.tolist()
    ]
    if not profile.nullable and listed == list(range(len(listed))):
        return {"type": "codes", "n": len(listed)}
    return {"type": "categorical", "categories": [""] * profile.nullable + listed, "ordered": True}
