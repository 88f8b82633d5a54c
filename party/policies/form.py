"""The form of the file `policy.toml`: its sections and keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...common.data.related.stated import COLUMN, TABLE_KEYS
from ...common.data.values import compose_texts
from ...common.errors import DataError
from ...common.forms.several import ListOf
from ...common.forms.tables import Key, MapOf, Table
from ...common.forms.toml_file import read_by_form
from ...common.forms.values import Anything, Choice, Number, Text, Truth, whole
from ...common.privacy.rows_of_person import ROWS
from ...common.processes.notices import FORM as NOTIFY
from ..names import POLICY
from .console import CONSOLE
from .quotas import QUOTAS
from .serve import SERVE
from .workers import WORKERS

TO_BEGIN = "run dpmosaic party init"
"""What to do without such a file."""

_LIMIT = Number(least=0)
_NAMES = ListOf(Text(), like="a list of names")
_COLUMNS = ("key", "order", "order_by", "identifiers", "belongs_to")
"""Keys of places that name columns."""

_PLACE = {
    "file": Key(Text(), "A table: .csv, .tsv, either with .gz, or .parquet."),
    "header": Key(Truth(), "With file: whether the first line of a CSV names the columns."),
    "query": Key(Text(), "What DuckDB or the engine can read."),
    "database": Key(Text(), "With query: a file of DuckDB or SQLite, opened read-only."),
    "kind": Key(Text(), "A source that another installed package brings."),
    "options": Key(MapOf(Anything()), "Options of that source."),
    "engine": Key(Text(), "postgres, spark, or adbc: and a driver."),
    "table": Key(Text(), "A table of the engine."),
    "connection": Key(Text(), "Where the secret connection stands: env:NAME or file:PATH."),
    "order_by": Key(Text(), "A column that gives the rows one order."),
    "timeout_s": Key(Number(least=1), "Seconds after which a statement of the engine is ended."),
}

_SOURCE = Table(
    {
        "domain": Key(Text(), "The domain file: which values each attribute may take.", required=True),
        **_PLACE,
        "key": Key(Text(), "The column that names the person of each row."),
        "identifiers": Key(MapOf(COLUMN), "To align rows: agreed name and column of each identifier."),
    }
)

_TABLE = Table(
    {
        "domain": TABLE_KEYS["domain"],
        **_PLACE,
        **TABLE_KEYS,
        "drop_incomplete": Key(
            Truth(),
            "Whether rows without a key, a parent, a value of the order or a public key are left out.",
        ),
    }
)

_RECORDS = Table(
    {
        "same_as": Key(_NAMES, "The pinned parties that hold other columns of the same people."),
        "together": Key(Truth(), "Only if all of them take part."),
        "order": Key(Choice(("guaranteed",)), "Without a key: their rows come in the same order."),
    }
)

_DIRECT = Table(
    {
        "send": Key(
            MapOf(Text(r"[^\s]+:[0-9]{1,5}", "HOST:PORT")),
            "Pinned parties to which this one sends them, and addresses.",
        ),
        "take": Key(_NAMES, "Pinned parties from which it takes them."),
    }
)

_POLICY = Table(
    {
        "protocols": Key(_NAMES, "Protocols that the institution allows."),
        "adjacencies": Key(_NAMES, "Notions of neighbouring tables that it allows."),
        "max_release_rho": Key(_LIMIT, "Upper limit of one release, zCDP."),
        "lifetime_rho": Key(_LIMIT, "Upper limit of all releases together, zCDP."),
        "max_alignment_rho": Key(_LIMIT, "Upper limit of one alignment of rows, zCDP."),
        "max_match_keys": Key(whole(1), "Match keys of an alignment."),
        "max_labels_delta": Key(_LIMIT, "Of one release: chance to state a text that one person alone has."),
        "lifetime_labels_delta": Key(_LIMIT, "Of all releases: the same; without it as of one release."),
        "max_cells": Key(whole(0), "Upper limit of the cells of one marginal."),
        "min_records": Key(whole(0), "With fewer rows the party takes part in nothing."),
        "min_tolerated": Key(whole(0), "masked: so many other parties may collude."),
        "tables": Key(_NAMES, "Related tables of which releases may be."),
        "max_rows_per_person": Key(ROWS, "A release has to cover at least so many, or all; needs a key."),
        "min_parties": Key(whole(1), "Least number of parties with different identities."),
        "veto_evaluators": Key(_NAMES, "masked: parties that may not compute scores from shares."),
        "dealers": Key(_NAMES, "masked: who may deal the randomness."),
        "min_dealers": Key(whole(1), "masked: least number of dealers."),
        "may_deal": Key(Truth(), "masked: deal for slices that this party is no party of."),
        "require_check": Key(Truth(), "masked: others must prove that they open each record once."),
        "max_memory_mb": Key(whole(1), "Memory of one release, MiB."),
        "max_disk_mb": Key(whole(1), "Temporary files of one release, MiB."),
        "max_cpu_seconds": Key(whole(1), "Seconds of computing for one release."),
        "max_queries": Key(whole(1), "Queries of one release."),
        "max_active_releases": Key(whole(1), "Releases that are open at the same time."),
        "allow_unreviewed": Key(Truth(), "Accept entries of the domain that nobody reviewed: for trials."),
        "approval": Key(Truth(), "A person approves every release."),
        "approvers": Key(_NAMES, "Who may approve; without it, anybody at the party's folder."),
        "approvals": Key(whole(1), "So many different people approve each release."),
    }
)

FORM = Table(
    {
        "source": Key(_SOURCE, "Where the rows live."),
        "tables": Key(MapOf(_TABLE), "Related tables of the same people, in place of [source]."),
        "records": Key(_RECORDS, "Whose records they are."),
        "serve": Key(SERVE, "How the daemon is reached."),
        "direct": Key(_DIRECT, "Openings from party to party without the curator."),
        "workers": Key(WORKERS, "What computes beside its calls."),
        "console": Key(CONSOLE, "Who sees and decides over the institution's network, and how they sign in."),
        "notify": Key(NOTIFY, "How the operator is told of what waits, runs out or fails."),
        "policy": Key(_POLICY, "What the institution allows; what is left out stays closed."),
        "quotas": Key(
            QUOTAS, "Limits of one calendar year and of single curators, beside those of [policy]."
        ),
    }
)
"""The form of the file."""


def read_policy(home: Path) -> dict[str, Any]:
    """The content of the policy of a folder, names of columns composed.

    Raises:
        DataError: see `read_by_form`.
    """
    content = read_by_form(home / POLICY, FORM, TO_BEGIN)
    for place in (content.get("source", {}), *content.get("tables", {}).values()):
        place |= {key: compose_texts(place[key]) for key in _COLUMNS if key in place}
    return content


def approvers_of(policy: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
    """Who may approve releases, as the section [policy] says, and how many different people have to.

    Raises:
        DataError: there are fewer than have to, or none has to.
    """
    names, needed = tuple(dict.fromkeys(policy.get("approvers", ()))), policy.get("approvals", 1)
    if (names or needed > 1) and not policy.get("approval", True):
        raise DataError(
            f"{POLICY}: approvers and approvals say who approves releases, and approval = false that nobody "
            "has to; take one of the two out"
        )
    if 0 < len(names) < needed:
        raise DataError(
            f"{POLICY}: approvals asks for {needed} different people, and approvers names {len(names)}; name "
            "more, or ask for fewer"
        )
    return names, needed
