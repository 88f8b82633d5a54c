"""Match keys: which fields of two rows have to be equal for them to be rows of one person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ...errors import DataError
from .normalise import NORMALISATIONS

MatchKey = tuple[str, ...]
"""Fields whose normalised values are equal for rows of one person, each as `identifier:normalisation`."""

MAX_MATCH_KEYS = 16
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_LENGTH_BYTES = 4
_REMEMBERED_VALUES = 1 << 16
"""Number of different values of a field whose normalised form is remembered, since names come again."""


def check_identifier(name: str) -> None:
    """Refuses a name that match keys cannot refer to.

    Raises:
        DataError: it is another name than 1 to 64 lower-case letters, digits and underscores, a letter first.
    """
    if not _NAME.fullmatch(name):
        raise DataError(
            "identifier: expected a name of 1 to 64 lower-case letters, digits and underscores, a letter "
            f"first, such as national_id, got {name!r}"
        )


def check_match(match: Sequence[MatchKey]) -> None:
    """Refuses match keys that a party could not compute.

    Raises:
        DataError: there is none or too many, one has no field or a field twice, or a field is not
            `identifier:normalisation` with a known normalisation.
    """
    if not 0 < len(match) <= MAX_MATCH_KEYS or not all(match):
        raise DataError(
            f"match: expected 1 to {MAX_MATCH_KEYS} match keys of at least one field each, got "
            f"{len(match)}; fix the plan"
        )
    for key in match:
        for field in key:
            _check_field(field)
        if len(set(key)) < len(key):
            raise DataError(f"match: expected each field once in a match key, got {list(key)}; fix the plan")
    if len({frozenset(key) for key in match}) < len(match):
        raise DataError("match: expected match keys that differ, got one twice; fix the plan")


def matched_identifiers(match: Sequence[MatchKey]) -> tuple[str, ...]:
    """Names of the identifiers that match keys refer to, sorted."""
    return tuple(sorted({field.partition(":")[0] for key in match for field in key}))


def key_texts(columns: Mapping[str, Iterable[str]], key: MatchKey) -> list[bytes]:
    """The text of each row that one match key compares; equal for two rows only if all fields are equal.

    Args:
        columns: identifier -> text of each row, an empty text if it is missing; has every identifier of the
            key.
        key: a checked match key.

    Returns:
        For each row its normalised fields, each as UTF-8 with its length in front; empty if one is missing.
    """
    fields = [_encode_field(columns, field) for field in key]
    if len(fields) == 1:
        return fields[0]
    return [b"".join(parts) if all(parts) else b"" for parts in zip(*fields, strict=True)]


def _encode_field(columns: Mapping[str, Iterable[str]], field: str) -> list[bytes]:
    name, _, normalisation = field.partition(":")
    normalise = NORMALISATIONS[normalisation]
    remembered: dict[str, bytes] = {}
    encoded = []
    for value in columns[name]:
        data = remembered.get(value)
        if data is None:
            data = normalise(value).encode()
            if data:
                data = len(data).to_bytes(_LENGTH_BYTES, "big") + data
            if len(remembered) < _REMEMBERED_VALUES:
                remembered[value] = data
        encoded.append(data)
    return encoded


def _check_field(field: str) -> None:
    name, colon, normalisation = field.partition(":")
    if not colon or not _NAME.fullmatch(name):
        raise DataError(
            f"match: expected fields such as 'national_id:exact', got {field!r}; write the agreed name of "
            "the identifier, a colon and a normalisation"
        )
    if normalisation not in NORMALISATIONS:
        raise DataError(
            f"match: expected one of the normalisations {', '.join(NORMALISATIONS)}, got {field!r}; fix the "
            "plan"
        )
