"""The files of one party of a local network: its rows, its domain and its policy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...common.data.domain import Domain
from ...common.federation.card import as_text
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...party.names import POLICY
from ...party.sources.source import FileSource
from ...party.sources.sql import quote
from ..parties.people import Held

_DOMAIN, _ROWS = "domain.json", "rows.parquet"
_POLICY = """\
# For trials on one machine only: it allows everything. Do not use it at an institution.
{source}
[records]
same_as = {same_as}
{order}
[policy]
protocols = ["masked", "indicator", "trusted"]
adjacencies = ["zero-out", "replace-one", "add-remove"]
max_release_rho = 1e6
lifetime_rho = 1e9
max_cells = 268435456
max_labels_delta = 0.1
min_tolerated = 0
dealers = {dealers}
allow_unreviewed = true
approval = false
{more}"""


@dataclass(frozen=True)
class Rules:
    """What the policy of a party says beside its rows.

    Attributes:
        same_as: other parties of its slice.
        dealers: names of the dealers; without any, the curator deals.
        aligned: whether the rows of its slice are aligned.
        all_rows: whether people with all their rows may be released, whom a key names. Without either, rows
            are in one order.
        tables: the related tables that may be released; empty for one table.
    """

    same_as: tuple[str, ...] = ()
    dealers: tuple[str, ...] = ()
    aligned: bool = False
    all_rows: bool = False
    tables: tuple[str, ...] = ()

    def policy(self, source: str) -> str:
        """The text of the policy.

        Args:
            source: its sections that say where the rows are.
        """
        more = [
            "max_alignment_rho = 1e6" if self.aligned else "",
            'max_rows_per_person = "all"' if self.all_rows else "",
            f"tables = {json.dumps(self.tables)}" if self.tables else "",
        ]
        return _POLICY.format(
            source=source,
            same_as=json.dumps(self.same_as),
            order="" if self.aligned or self.all_rows else 'order = "guaranteed"\n',
            dealers=json.dumps(self.dealers or [CURATOR_DEALS]),
            more="".join(f"{line}\n" for line in more if line),
        )


def write(
    folder: Path, source: FileSource, domain: Domain, held: Held, rules: Rules, key: str | None
) -> None:
    """Writes what a party needs to serve its part of a table.

    Args:
        folder: the party's folder.
        source: the whole table.
        domain: the party's attributes.
        held: the party's rows of the table.
        rules: what its policy says.
        key: name of the column of identifiers; None if nothing needs it.
    """
    where = f"[source]\ndomain = {json.dumps(_DOMAIN)}\nfile = {json.dumps(_ROWS)}\n"
    named = "" if key is None else f"key = {json.dumps(key)}\n"
    (folder / POLICY).write_text(rules.policy(where + named), encoding="utf-8")
    write_table(folder, source, domain, held, key)


def write_table(folder: Path, source: FileSource, domain: Domain, held: Held, key: str | None) -> None:
    """Writes the rows and the domain of a party, without a policy; for the arguments see `write`."""
    (folder / _DOMAIN).write_text(as_text(domain.to_json()), encoding="utf-8")
    _write_rows(source, domain, held, key, folder / _ROWS)


def _write_rows(source: FileSource, domain: Domain, held: Held, key: str | None, out: Path) -> None:
    """Writes the party's cells unchanged, with their labels."""
    names = source.columns()
    columns = [f"c{names.index(name)} AS {_quote_name(name)}" for name in domain]
    if key is not None:
        columns.append(f"identifier AS {_quote_name(key)}")
    with source.connect() as connection:
        rows = {
            "line": held.rows,
            "place": np.arange(len(held.rows)),
            "identifier": np.array(held.identifiers, dtype=object),
        }
        connection.register("held", rows)
        source.query(
            connection,
            f"COPY (SELECT {', '.join(columns)} FROM held JOIN (SELECT *, row_number() OVER () - 1 AS line "
            f"FROM file) USING (line) ORDER BY place) TO {quote(str(out))} (FORMAT parquet)",
        )


def _quote_name(name: str) -> str:
    """A column's name as it stands in SQL."""
    return '"' + name.replace('"', '""') + '"'
