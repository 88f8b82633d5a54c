"""The file `policy.toml`, which an institution owns: where its rows live, and what it allows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.card import PARTY
from ..common.data.domain import Domain
from ..common.errors import DataError
from ..common.forms.tables import Table
from ..common.notices import Notify
from ..common.privacy.cost import Adjacency
from ..common.protocols.alignment.match_keys import check_identifier
from ..common.workers import Workers
from .names import POLICY
from .policy import Policy, Records
from .policy_form import FORM
from .toml_file import Serve, read_toml
from .working import TEMPLATE as WORKERS_TEMPLATE
from .working import workers_of

if TYPE_CHECKING:
    from .sources.source import Source


_TIMEOUT_S = 3600.0
"""Seconds that a statement of the source's engine may take, unless the policy says otherwise."""

_ROWS_TEMPLATE = """\
# What this institution allows. Everything is closed until somebody opens it here.
# The party reads this file when it starts.

[source]
# Which values each attribute may take. Public: `dpmosaic domain infer` drafts one, and somebody has to review
# every entry that it marks with "reviewed": false.
domain = "domain.json"
# One of these. Paths start at this folder.
# .csv, .csv.gz, .tsv, .tsv.gz or .parquet, its rows in the order that the slice's parties agreed on:
# file = "rows.csv"
# What DuckDB can read; ORDER BY is needed:
# query = "SELECT * FROM read_parquet('rows/*.parquet') ORDER BY id"
# With query, a file of DuckDB, or of SQLite with DuckDB's extension, opened read-only:
# database = "rows.duckdb"
# A table or a query in an engine that counts where the rows live: "postgres" or "spark" (with the extra of
# this name), or "adbc:" and a driver such as "adbc:snowflake". The connection is a secret, and stands in an
# environment variable, env:NAME, or in a file with mode 600, file:PATH. order_by names a column that gives
# the rows one order, which only releases with other parties of the slice need.
# engine = "postgres"
# table = "schema.name"
# connection = "env:WAREHOUSE"
# order_by = "id"
# timeout_s = 3600               # a statement that takes longer is ended, with any source
# What another installed package brings, with its options:
# kind = "NAME"
# options = { key = "value" }
# The column that names the person of each row, written alike by all parties of a slice. Only keyed digests of
# it leave the party. Rows of one person beyond max_rows_per_person are left out.
# key = "patient_id"
# To align rows: the columns that identify people, each under the name that all parties agreed on. Without
# this line it is the key, under the name key. A row may lack them. Only keyed tokens of them leave the party.
# None of these columns can be in the domain.
# identifiers = { national_id = "nid", surname = "name", born = "date_of_birth" }

[records]
# One record is one row of one slice. Without same_as, the party takes part only alone.
# same_as = []                   # the pinned parties that hold other columns of the same people; [] for none
together = false                 # only if all of them take part, so that every ledger counts what is spent
# order = "guaranteed"           # without a key: their rows come in the same order, which nobody compares

[serve]
listen = "127.0.0.1:7443"        # host:port; the curator's machine must reach it
# metrics = "127.0.0.1:9464"     # for Prometheus; needs pip install 'dpmosaic[metrics]'
# proxy = "http://proxy:3128"    # with --attach: dials the curator by CONNECT through this HTTP proxy

[direct]
# Openings go to and from these pinned parties without the curator, sealed all the same, if both say so.
# send = { other = "other.example.org:7443" }   # the party's machine must reach it
# take = ["other"]                              # needs listen in [serve] where they reach it

"""
_NOTIFY_TEMPLATE = """
# [notify]                       # of releases that wait, budget, certificate, health
# command = ["/usr/local/bin/tell-me"]  # reads a notice as JSON on its input; it contains no data
# webhook = "https://host/path"  # or: the notice is posted there
# budget_below = 0.2             # share of lifetime_rho that is left
"""
_LIMITS_TEMPLATE = """
[policy]
protocols = []                   # "masked"; "indicator", "trusted": see the README before you add one
adjacencies = []                 # "zero-out", "replace-one"; over aligned rows also "add-remove"
max_release_rho = 0.0            # upper limit of one release, zCDP; epsilon 1 at delta 1e-9 is about 0.02
lifetime_rho = 0.0               # upper limit of all releases together, zCDP
max_alignment_rho = 0.0          # upper limit of one alignment of rows, zCDP; above 0 it needs a key or
                                 # identifiers, and the number of rows is private as well
max_match_keys = 1               # of an alignment; with several the curator sees which rows agree in which
max_labels_delta = 0.0           # of one release: chance to state a text that one person alone has, where the
                                 # domain leaves categories open; such as 1e-9
max_cells = 0                    # upper limit of the cells of one marginal, such as 1000000
min_records = 100                # with fewer rows the party takes part in nothing
max_rows_per_person = 1          # needs a key; a release has to cover, and charge, at least so many
min_parties = 1                  # least number of parties with different identities
min_tolerated = 1                # masked: so many other parties may collude and see no more than promised
veto_evaluators = []             # masked: parties that may not compute scores from shares
dealers = []                     # masked: who may deal the randomness: names, or "curator" for trials
min_dealers = 1                  # masked: with 3, no dealer alone knows what hides the rows
# may_deal = true                # masked: deal for slices that this party is no party of
# require_check = true           # masked: the other parties must prove that they open each record once
max_memory_mb = 2048             # of one release: products and scores; a call needs up to 100 more
max_disk_mb = 16384              # of one release: openings, in TMPDIR, and codes of rows, in .codes
max_cpu_seconds = 36000          # of one release: time to compute
max_queries = 10000              # of one release
max_active_releases = 8          # so many times memory and disk of one; deliveries of others come again
# allow_unreviewed = true        # entries of the domain that were read from the rows: for trials only
approval = true                  # a person approves every release: dpmosaic party approve
"""
TEMPLATE = _ROWS_TEMPLATE + WORKERS_TEMPLATE + _NOTIFY_TEMPLATE + _LIMITS_TEMPLATE

_RESOURCES = ("max_memory_mb", "max_disk_mb", "max_cpu_seconds", "max_queries", "max_active_releases")


@dataclass(frozen=True)
class Settings:
    """What `policy.toml` says.

    Attributes:
        policy: the limits.
        approval: whether a person approves every release.
        serve: how the daemon is reached.
        direct: `send` and `take`, of openings without the curator.
        domain: of the party's attributes.
        key: column that names the person of each row; None if there is none.
        identifiers: agreed name -> column of each identifier; empty if the policy allows no alignment.
        timeout_s: seconds that a statement of the source's engine may take.
        workers: compute beside the threads of its calls.
        notify: how its operator is told of events; None for not at all.
    """

    policy: Policy
    approval: bool
    serve: Serve
    direct: Mapping[str, Any]
    domain: Domain
    key: str | None
    identifiers: Mapping[str, str]
    timeout_s: float
    workers: Workers
    notify: Notify | None
    _source: Mapping[str, Any]
    _folder: Path

    @classmethod
    def load(cls, home: Path) -> Settings:
        """Reads the file in a party's folder; what it leaves out stays closed.

        Raises:
            DataError: it is missing or does not hold together; names the key.
        """
        content = read_toml(home / POLICY, FORM, PARTY)
        source, policy = content["source"], content.get("policy", {})
        key, records = source.get("key"), _records(content.get("records", {}))
        _check_key(key, records, policy)
        limits, identifiers = _policy(policy, records), _identifiers(source)
        _check_alignment(identifiers, limits)
        domain = Domain.load(home / source["domain"])
        _check_domain(domain, key, identifiers)
        if not policy.get("allow_unreviewed", False):
            _check_reviewed(domain)
        return cls(
            limits,
            policy.get("approval", True),
            Serve.of(content),
            content.get("direct", {}),
            domain,
            key,
            identifiers if limits.max_alignment_rho else {},
            float(source.get("timeout_s", _TIMEOUT_S)),
            workers_of(POLICY, content.get("workers", {})),
            Notify.of(POLICY, content),
            source,
            home,
        )

    def source(self) -> Source:
        """Where the rows live.

        Raises:
            DataError: none is named, or more than one, or it is not there.
        """
        from .sources.catalogue import source_of

        return source_of(self._source, self._folder)


def keys_set(home: Path) -> list[str]:
    """The known keys that a party's file sets, without their values; none if it cannot be read."""
    try:
        form: dict[str, Any] = tomllib.loads((home / POLICY).read_text(encoding="utf-8"))
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
    if key is None and policy.get("max_rows_per_person", 1) > 1:
        raise DataError(f"{POLICY}: max_rows_per_person above 1 needs a key in [source]; name the column")


def _identifiers(source: Mapping[str, Any]) -> Mapping[str, str]:
    """Agreed name -> column; the key alone is the identifier `key`."""
    key = source.get("key")
    identifiers: Mapping[str, str] = source.get("identifiers", {} if key is None else {"key": key})
    for name in identifiers:
        check_identifier(name)
    return identifiers


def _check_alignment(identifiers: Mapping[str, str], policy: Policy) -> None:
    if not policy.max_alignment_rho:
        return
    if not identifiers:
        raise DataError(f"{POLICY}: max_alignment_rho above 0 needs a key or identifiers in [source]")
    if policy.max_rows_per_person > 1:
        raise DataError(
            f"{POLICY}: an alignment uses one row of a person; set max_rows_per_person = 1, or take "
            "max_alignment_rho out"
        )


def _check_domain(domain: Domain, key: str | None, identifiers: Mapping[str, str]) -> None:
    for column in (*([] if key is None else [key]), *identifiers.values()):
        if column in domain:
            raise DataError(
                f"{POLICY}: column {column!r} identifies people in [source] and is an attribute of the "
                "domain, whose values are released; take it out of one of the two"
            )


def _check_reviewed(domain: Domain) -> None:
    if domain.unreviewed:
        raise DataError(
            f"the domain file has entries that were read from the rows: {', '.join(domain.unreviewed)}; "
            'replace their bounds and categories by what is publicly known, and take "reviewed": false out '
            f"(for trials, set allow_unreviewed in [policy] of {POLICY})"
        )


def _policy(entries: Mapping[str, Any], records: Records) -> Policy:
    resources = {key: entries[key] for key in _RESOURCES if key in entries}
    return Policy(
        protocols=frozenset(entries.get("protocols", [])),
        adjacencies=frozenset(Adjacency.named(name) for name in entries.get("adjacencies", [])),
        max_release_rho=Fraction(entries.get("max_release_rho", 0)),
        lifetime_rho=Fraction(entries.get("lifetime_rho", 0)),
        max_alignment_rho=Fraction(entries.get("max_alignment_rho", 0)),
        max_match_keys=entries.get("max_match_keys", 1),
        max_labels_delta=float(entries.get("max_labels_delta", 0)),
        min_records=entries.get("min_records", 1),
        max_cells=entries.get("max_cells", 0),
        min_tolerated=entries.get("min_tolerated", 1),
        records=records,
        max_rows_per_person=entries.get("max_rows_per_person", 1),
        min_parties=entries.get("min_parties", 1),
        veto_evaluators=frozenset(entries.get("veto_evaluators", [])),
        dealers=frozenset(entries.get("dealers", [])),
        min_dealers=entries.get("min_dealers", 1),
        may_deal=entries.get("may_deal", False),
        require_check=entries.get("require_check", False),
        **resources,
    )
