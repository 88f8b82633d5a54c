"""The file `plan.toml`: parties, promise, protocol and mechanism of a release."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.card import Card
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.privacy.budget import Budget
from ...common.privacy.cost import Adjacency
from ...common.protocols.registry import MASKED, Protocol, protocol_named
from ..parties.connection import RetryPolicy
from .alignment_order import KEYS, AlignmentOrder

_TEMPLATE = """\
# A release, drafted from the cards of the enrolled parties. Review every line.

[release]
domain = {domain}        # domain of the whole table
# The promise is for one record, which is one row of one slice. A person with several rows, or with rows in
# several slices, is protected by the sum over these rows.
epsilon = 1.0                   # the promise
delta = 1e-9
# rows_per_person = 2           # the promise for a person with up to so many rows of one slice, with more
                                # noise; every party needs a key column and max_rows_per_person
adjacency = "zero-out"          # or "replace-one"; with [alignment] also "add-remove"
protocol = "masked"             # or "indicator", "trusted": see the README
collusions = 1                  # masked: number of parties that may collude
# check = "one-hot"             # masked: parties prove that they open each record once
mechanism = "mosaic"            # `dpmosaic mechanisms` lists all
variant = "default"
# settings = {{ time_limit = 60 }}  # parameters of the mechanism
workload = "2way"               # "1way", "2way", "3way", or a JSON file
# rows = 1000                   # synthetic rows; by default as many as the table has

# The parties of a slice hold columns of the same people, but their rows are not in the same order, or not all
# of them know every person: a private alignment, charged once, gives each person a position.
# [alignment]
# population = "everywhere"     # the people that all parties of the slice know, or "anywhere": that one knows
# rho = 0.002                   # what the alignment may cost, in addition to the promise
# match = [["key:exact"]]       # rows of one person are equal in the first list of fields, else in the next
# keying = "hmac"               # identifiers are hidden under one key of all parties; "ddh": one key of each
# duplicates = "first"          # of several rows of one person at a party; "refuse" stops
# across_slices = "first"       # compare slices too: a person counts in the first slice that has the person

[network]
call_seconds = 3600.0           # deadline of one call to a party
tries = 6                       # of a call to a party that cannot be reached
# listen = "0.0.0.0:7444"       # for parties that dial the curator

# The parties of a slice hold the same records in the same order, or are aligned, and different slices hold
# different people.
# Ask the parties, cards do not state it; each refuses a plan that contradicts its policy.
"""

_KEYS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "release": {
        "domain": str,
        "epsilon": (int, float),
        "delta": float,
        "rho": (int, float),
        "adjacency": str,
        "protocol": str,
        "collusions": int,
        "check": str,
        "mechanism": str,
        "variant": str,
        "settings": dict,
        "workload": str,
        "rows": int,
        "rows_per_person": int,
    },
    "alignment": KEYS,
    "network": {"call_seconds": (int, float), "tries": int, "listen": str},
    "slice": {"parties": list, "leaves_out": dict},
}


@dataclass(frozen=True)
class ReleasePlan:
    """The content of a plan file.

    Attributes:
        text: text of the file.
        domain: domain of the whole table.
        slices: for each slice, names of its parties.
        left_out: by party, attributes that it holds but another party of its slice answers for.
        budget: privacy budget of the release.
        adjacency: which tables are neighbours.
        protocol: measurement protocol.
        collusions: tolerated collusions; None for the protocol's default.
        check: check of openings (`MaskedPlan`); empty for none.
        mechanism: name of the mechanism.
        variant: variant of the mechanism.
        settings: parameters of the mechanism, as text.
        workload: name of the workload, or path of a JSON file.
        rows: number of synthetic rows; None for as many as the table has.
        rows_per_person: rows of one person in one slice that the promise covers.
        call_s: deadline of one call, in seconds.
        tries: tries of a call to an unreachable party.
        listen: host and port for parties that dial the curator; None if no party does.
        alignment: how the parties' rows are aligned; None if the parties of a slice hold the same records.
    """

    text: str
    domain: Domain
    slices: tuple[tuple[str, ...], ...]
    left_out: Mapping[str, tuple[str, ...]]
    budget: Budget
    adjacency: Adjacency
    protocol: Protocol
    collusions: int | None
    check: str
    mechanism: str
    variant: str
    settings: Mapping[str, str]
    workload: str
    rows: int | None
    rows_per_person: int
    call_s: float
    tries: int
    listen: str | None
    alignment: AlignmentOrder | None

    @classmethod
    def load(cls, path: Path) -> ReleasePlan:
        """Reads a plan; paths in it are relative to its folder.

        Raises:
            DataError: the file cannot be read, or a value is invalid; names the key.
            BudgetError: the budget is out of range.
        """
        try:
            text = path.read_text(encoding="utf-8")
            form = tomllib.loads(text)
        except OSError as cause:
            raise DataError(f"cannot read the plan {path}: {cause.strerror}; fix the path") from cause
        except ValueError as cause:
            raise DataError(f"{path} is not TOML: {cause}; fix the line") from cause
        return cls.parse(text, form, path.parent)

    @classmethod
    def parse(cls, text: str, form: Mapping[str, Any], folder: Path) -> ReleasePlan:
        """A plan from its TOML values."""
        _check(form)
        release, network = form["release"], form.get("network", {})
        if "domain" not in release:
            raise DataError("plan: expected the key domain in [release], found none; name the domain file")
        protocol = protocol_named(release.get("protocol", MASKED.name), for_daemons=True)
        if "collusions" in release and not protocol.tolerates_collusions:
            raise DataError(
                f"plan: the protocol {protocol.name!r} tolerates no collusions; remove the key collusions"
            )
        if release.get("rows", 1) < 1 or network.get("tries", 1) < 1 or network.get("call_seconds", 1) <= 0:
            raise DataError("plan: expected positive rows, tries and call_seconds, got another value; fix it")
        if release.get("rows_per_person", 1) < 1:
            raise DataError("plan: expected rows_per_person of at least 1, got another value; fix it")
        slices = tuple(tuple(map(str, piece["parties"])) for piece in form["slice"])
        named = [name for piece in slices for name in piece]
        if not all(slices) or len(set(named)) < len(named):
            raise DataError(
                "plan: expected at least one party in each slice, and no party twice; fix the slices"
            )
        if protocol.one_party and len(named) > 1:
            raise DataError(
                f"plan: the protocol {protocol.name!r} is for one party with the whole table; choose another"
            )
        workload = release.get("workload", "2way")
        return cls(
            text,
            Domain.load(folder / release["domain"]),
            slices,
            _left_out(form["slice"]),
            Budget(release.get("epsilon"), release.get("delta"), release.get("rho")),
            Adjacency.named(release.get("adjacency", Adjacency.ZERO_OUT.value)),
            protocol,
            release.get("collusions"),
            release.get("check", ""),
            release.get("mechanism", "mosaic"),
            release.get("variant", "default"),
            {key: _as_text(value) for key, value in release.get("settings", {}).items()},
            str(folder / workload) if workload.endswith(".json") else workload,
            release.get("rows"),
            release.get("rows_per_person", 1),
            float(network.get("call_seconds", 3600.0)),
            network.get("tries", 6),
            network.get("listen"),
            _alignment(form.get("alignment"), protocol, release),
        )

    @property
    def parties(self) -> tuple[str, ...]:
        """Names of the parties of all slices."""
        return tuple(name for names in self.slices for name in names)

    @property
    def retry_policy(self) -> RetryPolicy:
        """Deadlines and retries of calls."""
        return RetryPolicy(call_s=self.call_s, tries=self.tries)


def _alignment(
    section: Mapping[str, Any] | None, protocol: Protocol, release: Mapping[str, Any]
) -> AlignmentOrder | None:
    """The order of an alignment, if the release can use one."""
    if section is None:
        return None
    if protocol.name != MASKED.name or release.get("check") or release.get("rows_per_person", 1) != 1:
        raise DataError(
            f"plan: expected the protocol {MASKED.name!r} without check and with rows_per_person = 1 over "
            "aligned rows, got another; fix it or remove [alignment]"
        )
    return AlignmentOrder.parse(section)


def _as_text(value: object) -> str:
    """A TOML value as text on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def draft(
    cards: Sequence[Card], slices: Sequence[Sequence[str]] | None, domain_file: str
) -> tuple[str, Domain]:
    """A plan's text and the whole table's domain, from the cards.

    If several parties of a slice hold an attribute, the one with the fewest attributes answers for it.

    Source: RandDPGen, section 3.2: the curator makes overlapping schemas disjoint.

    Args:
        cards: cards of the enrolled parties.
        slices: names of each slice's parties; None groups parties that hold different attributes.
        domain_file: name of the domain file in the plan.

    Raises:
        DataError: the cards' domains do not partition one table; names them and the fix.
    """
    known = {card.name: card.domain for card in cards if card.domain is not None}
    grouped = [list(names) for names in slices] if slices is not None else _grouped(known)
    unknown = [name for names in grouped for name in names if name not in known]
    if unknown or not grouped:
        raise DataError(f"not enrolled: {', '.join(unknown) or 'no party is'}; enroll the card first")
    attributes = {a.name: a for name in grouped[0] for a in known[name].attributes}
    for number, names in enumerate(grouped, start=1):
        for name in names:
            for attribute in known[name].attributes:
                if attributes.get(attribute.name, attribute) != attribute:
                    raise DataError(
                        f"{name!r} codes {attribute.name!r} differently; agree on one domain file"
                    )
        held = {attribute for name in names for attribute in known[name]}
        if held != set(attributes):
            odd = ", ".join(sorted(held ^ set(attributes)))
            raise DataError(
                f"slice {number} differs from slice 1 in {odd}; all slices need the same attributes"
            )
    ordered = _ordered([known[name].names for names in grouped for name in names])
    text = _TEMPLATE.format(domain=json.dumps(domain_file))
    for names in grouped:
        text += f"\n[[slice]]\nparties = {json.dumps(names)}\n"
        left = _overlaps(names, known)
        if left:
            stated = ", ".join(f"{name} = {json.dumps(out)}" for name, out in left.items())
            text += (
                f"# Attributes that another party of the slice answers for.\nleaves_out = {{ {stated} }}\n"
            )
    return text, Domain(tuple(attributes[name] for name in ordered))


def _overlaps(names: Sequence[str], known: Mapping[str, Domain]) -> dict[str, list[str]]:
    """For each party of one slice, what it leaves out so that only one party answers for each attribute."""
    left: dict[str, list[str]] = {}
    for attribute in dict.fromkeys(a for name in names for a in known[name]):
        holders = [name for name in names if attribute in known[name].names]
        kept = min(holders, key=lambda name: len(known[name]))
        for name in holders:
            if name != kept:
                left.setdefault(name, []).append(attribute)
    for name, out in left.items():
        if len(out) == len(known[name]):
            raise DataError(
                f"other parties of its slice hold all attributes of {name!r}; omit it from the plan with "
                "--slice"
            )
    return left


def _left_out(slices: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Attributes that parties leave out, from the plan's slices."""
    left: dict[str, tuple[str, ...]] = {}
    for piece in slices:
        for name, out in piece.get("leaves_out", {}).items():
            if name not in piece["parties"] or not isinstance(out, list):
                raise DataError(
                    "plan: expected leaves_out to map parties of its slice to lists of attributes; fix it"
                )
            left[name] = tuple(map(str, out))
    return left


def _grouped(known: Mapping[str, Domain]) -> list[list[str]]:
    slices: list[list[str]] = []
    for name, domain in known.items():
        for names in slices:
            if not any(set(domain) & set(known[other]) for other in names):
                names.append(name)
                break
        else:
            slices.append([name])
    return slices


def _ordered(orders: Sequence[Sequence[str]]) -> list[str]:
    """All attributes, in an order that agrees with every party's."""
    names = list(dict.fromkeys(name for order in orders for name in order))
    result: list[str] = []
    while names:
        free = [n for n in names if not any(n in o and set(o[: o.index(n)]) & set(names) for o in orders)]
        if not free:
            raise DataError(
                "two parties hold attributes in opposite orders; give all parties the same domain file"
            )
        result.append(free[0])
        names.remove(free[0])
    return result


def _check(form: Mapping[str, Any]) -> None:
    """Refuses unknown keys and values of another type."""
    unknown = [section for section in form if section not in _KEYS]
    slices = form.get("slice")
    if unknown or "release" not in form or not isinstance(slices, list) or not slices:
        raise DataError(
            "plan: expected only [release], at least one [[slice]] and optionally [alignment] and [network]; "
            "fix the sections"
        )
    sections = [(name, form.get(name, {})) for name in ("release", "alignment", "network")]
    for section, entries in [*sections, *(("slice", piece) for piece in slices)]:
        if not isinstance(entries, dict):
            raise DataError(f"plan: expected keys and values in [{section}]; fix it")
        for key, value in entries.items():
            kind = _KEYS[section].get(key)
            if kind is None:
                raise DataError(
                    f"plan: unknown key {key!r} in [{section}]; expected {', '.join(_KEYS[section])}"
                )
            if not isinstance(value, kind) or isinstance(value, bool):
                raise DataError(f"plan: the key {key} in [{section}] has a value of another type; fix it")
    if not all("parties" in piece for piece in slices):
        raise DataError("plan: expected a list of parties in every [[slice]]; fix it")
