"""The file `policy.toml`, which an institution owns: where its rows live, and what it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...common.bounded import read_bytes, toml_of
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.forms.tables import Table
from ...common.privacy.cost import ALL_ROWS, Adjacency
from ...common.privacy.rows_of_person import rows_of
from ...common.processes.notices import Notify
from ...common.processes.workers import Workers
from ...common.protocols.alignment.match_keys import check_identifier
from ..names import POLICY
from .domain import checked_domain, identifiers_of
from .form import FORM, approvers_of, read_policy
from .policy import Policy, Records
from .quotas import Quotas
from .serve import Serve
from .tables import TableSettings, tables_of
from .workers import workers_of

if TYPE_CHECKING:
    from ..sources.source import Source


_TIMEOUT_S = 3600.0
"""Seconds that a statement of the source's engine may take, unless the policy says otherwise."""

_RESOURCES = ("max_memory_mb", "max_disk_mb", "max_cpu_seconds", "max_queries", "max_active_releases")


@dataclass(frozen=True)
class Settings:
    """What `policy.toml` says.

    Attributes:
        policy: the limits.
        approval: whether a person approves every release.
        approvers: who may, and how many different people have to; see `Approvers`.
        serve: how the daemon is reached.
        direct: `send` and `take`, of openings without the curator.
        domain: of the party's attributes; of related tables, by joint names.
        key: column that names the person of each row; None if there is none.
        identifiers: agreed name -> column of each identifier; empty if the policy allows no alignment.
        timeout_s: seconds that a statement of the source's engine may take.
        workers: compute beside the threads of its calls.
        notify: how its operator is told of events; None for not at all.
        tables: its related tables; empty of a single table.
    """

    policy: Policy
    approval: bool
    approvers: tuple[tuple[str, ...], int]
    serve: Serve
    direct: Mapping[str, Any]
    domain: Domain
    key: str | None
    identifiers: Mapping[str, str]
    timeout_s: float
    workers: Workers
    notify: Notify | None
    tables: tuple[TableSettings, ...]
    _source: Mapping[str, Any]
    _folder: Path

    @classmethod
    def load(cls, home: Path) -> Settings:
        """Reads the file in a party's folder; what it leaves out stays closed.

        Raises:
            DataError: it is missing or does not hold together; names the key.
        """
        content = read_policy(home)
        source, policy = content.get("source", {}), content.get("policy", {})
        tables = tables_of(content["tables"], home) if "tables" in content else ()
        key, records = source.get("key"), _records(content.get("records", {}))
        if tables:
            _check_related(policy)
        else:
            _check_key(key, records, policy)
        limits = _policy(policy, records, Quotas.of(content.get("quotas", {})))
        identifiers = identifiers_of(content)
        for name in identifiers:
            check_identifier(name)
        _check_alignment(identifiers, limits)
        domain = checked_domain(home, content)
        return cls(
            limits,
            policy.get("approval", True),
            approvers_of(policy),
            Serve.of(content),
            content.get("direct", {}),
            domain,
            key,
            identifiers if limits.max_alignment_rho else {},
            float(source.get("timeout_s", _TIMEOUT_S)),
            workers_of(POLICY, content.get("workers", {})),
            Notify.of(POLICY, content),
            tables,
            source,
            home,
        )

    def source(self) -> Source:
        """Where the rows of a single table live.

        Raises:
            DataError: none is named, or more than one, or it is not there.
        """
        from .source import source_of

        return source_of(self._source, self._folder)

    def sources(self) -> dict[str, Source]:
        """Where the rows of each table live; that of a single table is called `source`."""
        if self.tables:
            return {table.name: table.source() for table in self.tables}
        return {"source": self.source()}


def keys_set(home: Path) -> list[str]:
    """The known keys that a party's file sets, without their values; none if it cannot be read."""
    try:
        form: dict[str, Any] = toml_of(read_bytes(home / POLICY))
    except (OSError, ValueError):
        return []
    known = {name: key.form.keys for name, key in FORM.keys.items() if isinstance(key.form, Table)}
    sections = {name: form[name] for name in known if isinstance(form.get(name), dict)}
    return [f"{name}.{key}" for name, section in sections.items() for key in known[name] if key in section]


def _records(entries: Mapping[str, Any]) -> Records:
    same_as = entries.get("same_as")
    return Records(
        None if same_as is None else frozenset(same_as), entries.get("together", False), "order" in entries
    )


def _check_key(key: str | None, records: Records, policy: Mapping[str, Any]) -> None:
    if key is not None and records.order_guaranteed:
        raise DataError(
            f"{POLICY}: with a key in [source] the order of the rows is compared; take order in [records] out"
        )
    if key is None and policy.get("max_rows_per_person", 1) != 1:
        raise DataError(f"{POLICY}: max_rows_per_person above 1 needs a key in [source]; name the column")


def _check_related(policy: Mapping[str, Any]) -> None:
    if rows_of(policy.get("max_rows_per_person", 1)) != ALL_ROWS:
        raise DataError(
            f"{POLICY}: related tables are released with all rows of a person alone; set max_rows_per_person "
            "= " + '"all", or take the tables out'
        )


def _check_alignment(identifiers: Mapping[str, str], policy: Policy) -> None:
    if not policy.max_alignment_rho:
        return
    if not identifiers:
        raise DataError(f"{POLICY}: max_alignment_rho above 0 needs a key or identifiers in [source]")
    if policy.max_rows_per_person > 1:
        raise DataError(
            f'{POLICY}: an alignment uses one row of a person, or all; set max_rows_per_person = 1 or "all", '
            "or take max_alignment_rho out"
        )


def _policy(entries: Mapping[str, Any], records: Records, quotas: Quotas) -> Policy:
    resources = {key: entries[key] for key in _RESOURCES if key in entries}
    return Policy(
        protocols=frozenset(entries.get("protocols", [])),
        adjacencies=frozenset(Adjacency.named(name) for name in entries.get("adjacencies", [])),
        max_release_rho=Fraction(entries.get("max_release_rho", 0)),
        lifetime_rho=Fraction(entries.get("lifetime_rho", 0)),
        max_alignment_rho=Fraction(entries.get("max_alignment_rho", 0)),
        max_match_keys=entries.get("max_match_keys", 1),
        max_labels_delta=float(entries.get("max_labels_delta", 0)),
        lifetime_labels_delta=entries.get("lifetime_labels_delta"),
        min_records=entries.get("min_records", 1),
        max_cells=entries.get("max_cells", 0),
        min_tolerated=entries.get("min_tolerated", 1),
        records=records,
        tables=frozenset(entries.get("tables", [])),
        max_rows_per_person=rows_of(entries.get("max_rows_per_person", 1)),
        min_parties=entries.get("min_parties", 1),
        veto_evaluators=frozenset(entries.get("veto_evaluators", [])),
        dealers=frozenset(entries.get("dealers", [])),
        min_dealers=entries.get("min_dealers", 1),
        may_deal=entries.get("may_deal", False),
        require_check=entries.get("require_check", False),
        quotas=quotas,
        **resources,
    )
