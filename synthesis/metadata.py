"""What metadata of SDV says beside the columns: keys, relations and order; and what it does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common.data.domain import Domain, read_form
from ..common.data.domain_files.others import described_by_others, is_of_sdv, tables_of_sdv
from ..common.errors import DataError
from ..party.drafting.draft import Draft
from ..simulations.tables.frames import DomainLike, form_of
from .related.links import Relations


@dataclass(frozen=True)
class StatedByMetadata:
    """What metadata says of several tables.

    Attributes:
        relations: see `synthesize`, as for all others.
        order: see there.
        domains: see there; of tables with columns beside keys.
        advice: what it does not say, in a sentence for each table.
    """

    relations: Relations
    order: Mapping[str, str]
    domains: Mapping[str, Mapping[str, Any]]
    advice: tuple[str, ...]


def stated_by_metadata(form: object) -> StatedByMetadata:
    """What metadata of SDV says of several tables.

    Raises:
        DataError: it is none, or a table belongs to one by several columns together.
    """
    found = tables_of_sdv(form)
    return StatedByMetadata(
        found.relations,
        {name: one.order for name, one in found.tables.items() if one.order and name in found.relations},
        {name: one.entries for name, one in found.tables.items() if one.entries},
        tuple(f"{name}: {one.advice}" for name, one in found.tables.items() if one.advice),
    )


def as_read(
    domain: DomainLike | Mapping[str, DomainLike] | None,
) -> DomainLike | Mapping[str, DomainLike] | None:
    """A domain, or those of several tables by name; in place of the path of a file its domain or metadata.

    Raises:
        DataError: it is no domain.
    """
    if not isinstance(domain, str | Path):
        return domain
    form = read_form(domain)
    return form if isinstance(form, Mapping) and is_of_sdv(form) else Domain.from_json(form)


def metadata_of(domain: DomainLike | Mapping[str, DomainLike] | None) -> object:
    """The content of metadata of SDV that was given as a domain; None for another domain."""
    if domain is None or isinstance(domain, (Domain, Draft)):
        return None
    form = form_of(domain)
    return form if is_of_sdv(form) else None


def advice_on(form: object, key: str | None) -> str:
    """What metadata of SDV does not say of one table, in a sentence; empty for nothing.

    Args:
        form: the metadata; None for none.
        key: column that names the person of each row, if one was stated.

    Raises:
        DataError: it says that a person has several rows, and no key was stated.
    """
    described = described_by_others(form)
    if described is None:
        return ""
    if described.key and key is None:
        ordered = f" and order={described.order!r}" if described.order else ""
        raise DataError(
            f"expected key={described.key!r}{ordered} beside SDV's metadata, whose sequence_key says that "
            "one may have several rows, got none; name them, or take sequence_key out for a promise for one "
            "row"
        )
    return described.advice
