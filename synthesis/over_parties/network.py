"""Parties of related tables as processes on this machine: their folders, and the plan of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ...common.errors import DataError
from ...common.federation.card import as_text
from ...common.forms.toml_file import as_toml, section_of, toml_key
from ...common.privacy.cost import Adjacency
from ...curator.people.files import file_name
from ...curator.people.table_files import write_table
from ...curator.releasing.planning.drafting import stated_dealers
from ...curator.releasing.planning.tables import PlannedTable, PlannedTables
from ...curator.results.table_format import TableFile
from ...party.names import POLICY
from ...simulations.local_network.network import LocalNetwork
from ...simulations.local_network.party import Rules
from ...simulations.local_network.ports import free_port
from ...simulations.parties.network import party_names
from ..relations_file import read_relations
from .held import read_held
from .holders import Holders, planned_tables, slices_of, tables_at

_PLAN = """\
# A release of related tables, for a trial on one machine. Review every line.

[release]
epsilon = 1.0                   # the promise, for a person with all rows in all tables
delta = 1e-6
rows_per_person = "all"
adjacency = {adjacency}
protocol = "masked"             # or "indicator", "trusted", where each party holds all tables
collusions = {collusions}                  # number of parties that may collude
{dealers}mechanism = "mosaic"            # `dpmosaic mechanisms` lists all
"""


def create_network(
    folder: Path, tables: Path, relations: Path, grid: str, *, attach: bool = False, dealers: int = 0
) -> LocalNetwork:
    """Partitions related tables over parties, makes keys for all roles, and writes a plan.

    Args:
        folder: an empty or new folder.
        tables: folder of the tables.
        relations: the file of relations, with a domain of each table that has columns beside keys.
        grid: see `Holders.parse`.
        attach: parties dial the curator and do not listen.
        dealers: number of dealers that deal the randomness; without any, the curator deals.

    Raises:
        DataError: the folder is not empty, a file cannot be read or states what parties cannot release, or
            the grid does not fit the tables.
    """
    stated = read_relations(relations, tables)
    if stated.within or stated.near:
        raise DataError(f"{relations.name}: expected no within or near over parties, got one; take it out")
    read = read_held(
        *(stated.files, stated.relations, stated.order, stated.domains, np.random.default_rng()),
        *(stated.drop_incomplete, stated.public, stated.implied),
    )
    holders = Holders.parse(grid, read.raw)
    planned = planned_tables(read, holders, stated.summaries, stated.workload, stated.series)
    names = party_names([len(holders.tables)] * holders.slices)
    held = {
        name: (frames, tables_at(planned, own, holders))
        for row, frames in zip(names, slices_of(read.raw, holders), strict=True)
        for name, own in zip(row, holders.tables, strict=True)
    }
    for own in holders.tables:
        if not set(own) & set(planned.domains):
            raise DataError(
                f"grid: expected parties that hold a table with columns beside keys, got one of "
                f"{', '.join(own)} alone; take fewer parties"
            )

    def write(party: Path, rules: Rules) -> None:
        _write(party, *held[party.name], rules)

    aligned, known = holders.aligning is not None, tuple(one.name for one in planned.tables)
    rules = Rules(aligned=aligned, all_rows=True, tables=known)
    network = LocalNetwork.set_up(folder, names, write, rules, attach=attach, dealers=dealers)
    plan = _plan(network, planned, read.public.keys, aligned, attach)
    network.plan.write_text(plan, encoding="utf-8")
    for name, rows in planned.public.items():
        write_table(network.plan.parent / f"{file_name(name)}.csv", rows, TableFile(), None)
    for one in planned.tables:
        _write_domain(network.plan.parent, one)
    return network


def _write(
    folder: Path, frames: Mapping[str, pd.DataFrame], tables: Sequence[PlannedTable], rules: Rules
) -> None:
    """Writes the tables of a party, their domains and its policy."""
    sources = []
    for one in tables:
        rows = f"{file_name(one.name)}.csv"
        frames[one.name][list(one.columns_of_parties)].to_csv(folder / rows, index=False)
        _write_domain(folder, one)
        sources.append(_section(one, {"file": rows}))
    for name in sorted({other for one in tables for other in one.references.values()}):
        sources.append(section_of(f"tables.{toml_key(name)}", {"public": True}))
    (folder / POLICY).write_text(rules.policy("".join(sources)), encoding="utf-8")


def _write_domain(folder: Path, table: PlannedTable) -> None:
    if table.domain is not None:
        (folder / _domain_file(table.name)).write_text(as_text(table.domain.to_json()), encoding="utf-8")


def _plan(
    network: LocalNetwork, tables: PlannedTables, keys: Mapping[str, str], aligned: bool, attach: bool
) -> str:
    """The text of the plan; keys are those of public tables."""
    text = _PLAN.format(
        adjacency=as_toml(str(Adjacency.ADD_REMOVE if aligned else Adjacency.ZERO_OUT)),
        collusions=min(1, len(network.all_names) - 1),
        dealers=stated_dealers(network.dealers, network.names),
    )
    if attach:
        text += section_of("network", {"listen": f"127.0.0.1:{free_port()}"})
    if aligned:
        text += section_of("alignment", {})
    text += "".join(
        _section(
            one,
            {
                **{"series": one.series, "same": [*one.same], "rising": [*one.rising], "once": [*one.once]},
                **{"repeats": one.repeats, "counts": one.counts},
                **{"summaries": one.summaries, "workload": one.pairs or ()},
            },
        )
        for one in tables.tables
    )
    for name in tables.public:
        section = {"public": True, "file": f"{file_name(name)}.csv", "key": keys.get(name, "")}
        text += section_of(f"tables.{toml_key(name)}", section)
    for row in network.names:
        holds = {name: tables.holds[name] for name in row} if aligned else {}
        text += section_of("[slice]", {"parties": row, "holds": holds})
    return text


def _section(table: PlannedTable, more: Mapping[str, object]) -> str:
    """The section of a table in a policy or a plan."""
    stated = {
        "domain": "" if table.domain is None else _domain_file(table.name),
        "key": table.key,
        "belongs_to": {**({table.foreign: table.parent} if table.parent else {}), **table.references},
        "order": table.order,
    }
    return section_of(f"tables.{toml_key(table.name)}", stated | dict(more))


def _domain_file(name: str) -> str:
    return f"{file_name(name)}.json"
