"""A first draft of a domain file, read off a party's own rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...common.data.attribute import Attribute
from ...common.data.categorical import Category
from ...common.data.domain import Domain
from ...common.data.domain_file import read_entry
from ...common.data.values import LARGEST_WHOLE
from ...common.errors import DataError
from .numbers import draft_number
from .profile import Profile, Rows
from .query import open_queried
from .source import Queried
from .suggestions import suggested_rules
from .texts import draft_boolean, draft_date, draft_identifier, draft_texts, natural

NOT_PRIVATE = (
    "This draft was read from the private rows, without any privacy: show it to nobody. Replace bounds and "
    'categories by what is publicly known, and then take "reviewed": false out of each entry. Releases with '
    "an entry that nobody has reviewed are marked as not private."
)

FEW_NUMBERS = 20
"""A column of at most this many different numbers gets a list of categories."""

NOT_AVAILABLE = ("NA", "N/A", "#N/A", "NULL", "null", "NaN", "nan", "None", "none", "-", ".", "?", "")
"""Texts that among numbers or dates stand for a missing value."""

_FEW_WORDS = 5
"""A column of numbers may have so many different texts that stand for a missing value."""

_SAMPLE = 50_000
"""Rules are looked for in so many rows."""


@dataclass(frozen=True)
class Draft:
    """A drafted domain file.

    Attributes:
        entries: column -> entry, in the file's order.
        suggested_rules: rules that the rows keep; not applied until somebody moves them to `rules`.
        remarks: for the owner: column and sentence. No value is named in them.
    """

    entries: Mapping[str, Any]
    suggested_rules: tuple[Mapping[str, Any], ...]
    remarks: tuple[tuple[str, str], ...]

    @property
    def domain(self) -> Domain:
        """The domain, without the suggested rules.

        Raises:
            DataError: there is no column that a release can hold.
        """
        return Domain.from_json(self.entries)

    def to_json(self) -> dict[str, Any]:
        """The content of a domain file."""
        if not self.suggested_rules:
            return dict(self.entries)
        return {"attributes": dict(self.entries), "suggested_rules": list(self.suggested_rules)}


def infer_domain(
    path: str | Path,
    blanks: Collection[str] = (),
    database: Path | None = None,
    *,
    header: bool | None = None,
) -> Draft:
    """Drafts an entry for every column of a table. See NOT_PRIVATE before using it.

    Args:
        path: a CSV or Parquet file, or one with a query (`open_queried`).
        blanks: texts that stand for a missing value in every column, such as NA; among numbers and dates the
            usual ones are known.
        database: a DuckDB file that the query reads.
        header: see `source.open_source`.

    Raises:
        DataError: the file cannot be read or has no rows, or none of its columns can be released.
    """
    return draft_domain(open_queried(Path(path), database, header=header), blanks)


def draft_domain(source: Queried, blanks: Collection[str] = ()) -> Draft:
    """Drafts an entry for every column of rows that DuckDB can query; see `infer_domain`.

    Args:
        source: the rows.
        blanks: texts that stand for a missing value in every column.

    Raises:
        DataError: the rows cannot be read, there are none, or none of their columns can be released.
    """
    rows = Rows.of(source)
    with rows.connection:
        profiles = list(rows.profiles(blanks))
        drafted = {profile.name: _entry(profile) for profile in profiles}
        entries = {name: entry for name, (entry, _) in drafted.items()}
        remarks = tuple((name, remark) for name, (_, found) in drafted.items() for remark in found)
        read = {name: read_entry(name, entry) for name, entry in entries.items()}
        attributes = {name: one for name, one in read.items() if isinstance(one, Attribute)}
        if not attributes:
            raise DataError(f"{rows.source.name} has no column that a release can hold; add some")
        rules = suggested_rules(attributes, rows.sample(_SAMPLE))
        return Draft(entries, tuple(rules), remarks)


def _entry(profile: Profile) -> tuple[Any, list[str]]:
    """The entry of a column, and remarks for the owner."""
    kept = _without_blanks(profile)
    entry, remarks = _kind(kept)
    if kept.blanks and entry["type"] not in ("identifier", "text"):
        entry["missing"] = list(kept.blanks)
        remarks.append(f"{len(kept.blanks)} of its texts are taken as missing values; check them")
    if entry["type"] not in ("identifier", "text"):
        entry["reviewed"] = False
    return entry, remarks


def _without_blanks(profile: Profile) -> Profile:
    """The column without the few texts that among numbers or dates stand for a missing value."""
    words = profile.words
    numbers = profile.distinct - len(words)
    usual = [text for text in NOT_AVAILABLE if text in words]
    if numbers and (len(words) == len(usual) or (len(words) <= _FEW_WORDS and numbers > FEW_NUMBERS)):
        return profile.without(words.tolist()) if len(words) else profile
    rest = profile.without(usual)
    known = draft_boolean(rest) is not None or draft_date(rest)[0] is not None
    return rest if usual and known else profile


def _kind(profile: Profile) -> tuple[dict[str, Any], list[str]]:
    if not profile.distinct:
        return {"type": "categorical", "categories": [""]}, ["it has no values; leave it out"]
    remarks = [] if profile.distinct > 1 or profile.nullable else ["it has one value only; leave it out"]
    found, doubts = draft_date(profile)
    if found is not None:
        return found, [*remarks, *doubts]
    if (identifier := draft_identifier(profile)) is not None:
        return identifier, [*remarks, "nearly all values differ: new ones are drawn in place of them"]
    if (boolean := draft_boolean(profile)) is not None:
        return boolean, remarks
    if len(profile.words):
        found, doubts = draft_texts(profile)
    elif len(profile.values[0]) <= FEW_NUMBERS:
        found, doubts = _few_numbers(profile), []
    else:
        found, doubts = draft_number(profile)
    return found, [*remarks, *doubts]


def _few_numbers(profile: Profile) -> dict[str, Any]:
    numbers = profile.values[0]
    if np.abs(numbers).max() > LARGEST_WHOLE or profile.notation != "{}":
        texts = sorted(profile.texts.tolist(), key=natural)
        return {"type": "categorical", "categories": [""] * profile.nullable + texts}
    whole = np.all(numbers == np.floor(numbers))
    listed: list[Category] = [int(number) if whole else float(number) for number in numbers]
    if not profile.nullable and listed == list(range(len(listed))):
        return {"type": "codes", "n": len(listed)}
    return {"type": "categorical", "categories": [""] * profile.nullable + listed, "ordered": True}
