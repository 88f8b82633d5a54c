"""Domain files from tables that other packages describe, for a person to complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ...common.data.domain import Domain, read_form
from ...common.data.domain_files.others import (
    Described,
    DescribedTables,
    described_by_others,
    is_of_sdv,
    tables_of_sdv,
)
from ...common.errors import DataError
from ...common.files.writing import write_text
from ...common.forms.toml_file import section_of, toml_key

RELATIONS = "relations.toml"


def read_described(path: Path) -> Described | DescribedTables:
    """The table or tables of metadata of SDV (.json), or of a domain of dpsynth (.yaml).

    Raises:
        DataError: it is neither, or none of its columns can be released.
    """
    form = read_form(path)
    if is_of_sdv(form) and len((found := tables_of_sdv(form)).tables) > 1:
        return found
    described = described_by_others(form)
    if described is None:
        raise DataError(
            f"{path}: expected metadata of SDV, with a METADATA_SPEC_VERSION, or a domain of dpsynth, got "
            "neither; name such a file"
        )
    Domain.from_json(described.entries)
    return described


def text_of_table(described: Described) -> str:
    """The domain file of a table."""
    return json.dumps(dict(described.entries), indent=2, ensure_ascii=False) + "\n"


def save_tables(found: DescribedTables, out: Path) -> Path:
    """Writes a file of relations, and a domain file for each table with columns beside keys.

    Returns:
        The path of the relations.

    Raises:
        DataError: the folder cannot be written.
    """
    path = out / RELATIONS
    write_text(path, "".join(_section(found, name) for name in found.tables).lstrip())
    for name, one in found.tables.items():
        if one.entries:
            write_text(out / f"{name}.json", text_of_table(one))
    return path


def notes(found: Described | DescribedTables) -> Iterator[str]:
    """What is to be done with what was written, in sentences."""
    if isinstance(found, DescribedTables):
        yield from (f"{name}: {one.advice}" for name, one in found.tables.items() if one.advice)
        return
    if found.advice:
        yield found.advice
    if found.key:
        order = f" --order {found.order!r}" if found.order else ""
        yield f"one may have several rows: release the table with --key {found.key!r}{order}"


def _section(found: DescribedTables, name: str) -> str:
    one, links = found.tables[name], found.relations.get(name, {})
    stated = {"domain": f"{name}.json" if one.entries else "", "belongs_to": links}
    return section_of(toml_key(name), stated | {"order": one.order if links else ""})
