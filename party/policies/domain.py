"""The domain that a party's policy names, checked against the columns that identify people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...common.data.domain import Domain
from ...common.errors import DataError
from ..names import POLICY
from .form import read_policy
from .tables import domain_of_tables, tables_of

KEY = "key"
"""The identifier that a key alone is."""


def domain_of(home: Path) -> Domain:
    """The attributes that the party of a folder holds; the rest of its policy is checked by its form alone.

    Raises:
        DataError: the policy or the domain file is missing or does not hold together.
    """
    return checked_domain(home, read_policy(home))


def checked_domain(home: Path, content: Mapping[str, Any]) -> Domain:
    """The domain that a policy names.

    Args:
        home: folder of the party.
        content: sections of the policy.

    Raises:
        DataError: it cannot be read, contains a column that identifies people, or was not reviewed.
    """
    if ("source" in content) == ("tables" in content):
        raise DataError(f"{POLICY}: expected either [source] or [tables.NAME], got both or none; keep one")
    if "tables" in content:
        return _reviewed(domain_of_tables(tables_of(content["tables"], home)), content)
    source = content["source"]
    domain = Domain.load(home / source["domain"])
    for column in (*([source["key"]] if "key" in source else []), *identifiers_of(content).values()):
        if column in domain:
            raise DataError(
                f"{POLICY}: column {column!r} identifies people in [source] and is an attribute of the "
                "domain, whose values are released; take it out of one of the two"
            )
    return _reviewed(domain, content)


def _reviewed(domain: Domain, content: Mapping[str, Any]) -> Domain:
    """The domain, unless nobody has reviewed it."""
    if domain.unreviewed and not content.get("policy", {}).get("allow_unreviewed", False):
        raise DataError(
            f"the domain file has entries that were read from the rows: {', '.join(domain.unreviewed)}; "
            'replace their bounds and categories by what is publicly known, and take "reviewed": false out '
            f"(for trials, set allow_unreviewed in [policy] of {POLICY})"
        )
    return domain


def identifiers_of(content: Mapping[str, Any]) -> Mapping[str, str]:
    """Agreed name -> column, from the sections of a policy; a key alone is the identifier `key`.

    That of related tables is the key of their people, whatever its columns are called.
    """
    if "tables" in content:
        return {KEY: KEY}
    source = content["source"]
    key = source.get("key")
    identifiers: Mapping[str, str] = source.get("identifiers", {} if key is None else {KEY: key})
    return identifiers
