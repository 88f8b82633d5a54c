"""How the new keys of related tables look: as domains state it, or as most real ones do, by a noisy vote.

A single key may not decide of which type a column of keys is, so types of data frames and files are not
looked at: they follow from all values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.unmodelled import UUID, UUIDS, WHOLE_NUMBERS
from ...common.data.domain import Domain
from ...common.data.related.keys import without_keys
from ...curator.people.files import file_name
from ...curator.results.keys import BETWEEN
from ..learning.private_counts import Noisy
from .tables import Raw

OF_KEYS = 0.005
"""Share of a table's budget for the vote on its keys."""

_NUMBER = re.compile(r"(0|-?[1-9][0-9]{0,17})([.]0)?")
_FORMS = ((_NUMBER, WHOLE_NUMBERS), (UUID, UUIDS))
"""Forms of keys, each with the pattern of new ones; others are texts."""


def with_patterns(
    tables: Sequence[Raw], domains: Mapping[str, Domain]
) -> tuple[tuple[Raw, ...], dict[str, Domain]]:
    """The tables with what their domains say of new keys, and the domains without it.

    Raises:
        DataError: a domain states the keys of the parent.
    """
    found, rest = [], dict(domains)
    for raw in tables:
        if raw.name in domains:
            rest[raw.name], pattern = without_keys(domains[raw.name], raw.key, raw.foreign)
            raw = replace(raw, pattern=pattern if raw.key else "")
        found.append(raw)
    return tuple(found), rest


def count_forms(keys: pd.Index) -> NDArray[np.int64]:
    """The number of keys of each form, those of texts last, shape (forms,); of several columns the last."""
    counts = np.zeros(len(_FORMS) + 1, dtype=np.int64)
    for key in keys:
        last = key.rsplit(BETWEEN, 1)[-1]
        counts[next((n for n, (form, _) in enumerate(_FORMS) if form.fullmatch(last)), len(_FORMS))] += 1
    return counts


def pattern_voted(votes: Noisy, name: str) -> str:
    """The pattern of new keys, in the form of most real ones.

    Args:
        votes: noisy numbers of keys of each form.
        name: with which texts begin.
    """
    most = int(np.argmax(votes.values))
    if most < len(_FORMS):
        return _FORMS[most][1]
    return f"{file_name(name).strip('-_') or 'key'}-{{:08d}}"
