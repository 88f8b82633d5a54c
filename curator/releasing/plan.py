"""The file `plan.toml`: parties, dealers, promise, protocol and mechanism of a release."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ...common.about import About
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.privacy.budget import Budget
from ...common.privacy.cost import Adjacency
from ...common.protocols.masked.dealers import CURATOR_DEALS, check_dealers
from ...common.protocols.registry import MASKED, Protocol, protocol_named
from ..parties.connection import RetryPolicy
from .alignment_order import KEYS, AlignmentOrder
from .bins_share import DEFAULT_SHARE, check_coded, check_share

_KEYS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "release": {
        "domain": str,
        "epsilon": (int, float),
        "delta": float,
        "rho": (int, float),
        "adjacency": str,
        "protocol": str,
        "collusions": int,
        "dealers": list,
        "check": str,
        "sample": int,
        "mechanism": str,
        "variant": str,
        "settings": dict,
        "workload": str,
        "target": str,
        "rows": int,
        "rows_per_person": int,
    },
    "alignment": KEYS,
    "bins": {"share": float},
    "about": {"purpose": str, "contact": str, "until": (date, str)},
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
        dealers: names of those who may deal randomness: enrolled dealers, parties, or `CURATOR_DEALS`; empty
            where the protocol has none.
        check: check of openings (`MaskedPlan`); empty for none.
        sample: rows of the largest slice that products between parties use (`MaskedPlan`); None for a limit.
        mechanism: name of the mechanism.
        variant: variant of the mechanism.
        settings: parameters of the mechanism, as text.
        workload: name of the workload, or path of a JSON file; None if there is a target.
        target: attribute that users of the table will predict (`Workload.for_target`); None without one.
        rows: number of synthetic rows; None for as many as the table has, up to a limit (`default_rows`).
        rows_per_person: rows of one person in one slice that the promise covers.
        call_s: deadline of one call, in seconds.
        tries: tries of a call to an unreachable party.
        listen: host and port for parties that dial the curator; None if no party does.
        alignment: how the parties' rows are aligned; None if the parties of a slice hold the same records.
        bins_share: share of the budget by which a release of its own chooses the codes of open attributes;
            None if the domain has none.
        about: the reason of the release, for the people who decide on it.
    """

    text: str
    domain: Domain
    slices: tuple[tuple[str, ...], ...]
    left_out: Mapping[str, tuple[str, ...]]
    budget: Budget
    adjacency: Adjacency
    protocol: Protocol
    collusions: int | None
    dealers: tuple[str, ...]
    check: str
    sample: int | None
    mechanism: str
    variant: str
    settings: Mapping[str, str]
    workload: str | None
    target: str | None
    rows: int | None
    rows_per_person: int
    call_s: float
    tries: int
    listen: str | None
    alignment: AlignmentOrder | None
    bins_share: float | None
    about: About

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
        dealers = _dealers(release, protocol, slices)
        target = release.get("target")
        workload = release.get("workload", "2way" if target is None else None)
        domain = Domain.load(folder / release["domain"])
        if target is not None:
            _check_target(target, workload, domain)
        return cls(
            text,
            domain,
            slices,
            _left_out(form["slice"]),
            Budget(release.get("epsilon"), release.get("delta"), release.get("rho")),
            Adjacency.named(release.get("adjacency", Adjacency.ZERO_OUT.value)),
            protocol,
            release.get("collusions"),
            dealers,
            release.get("check", ""),
            release.get("sample"),
            release.get("mechanism", "mosaic"),
            release.get("variant", "default"),
            {key: _as_text(value) for key, value in release.get("settings", {}).items()},
            str(folder / workload) if workload is not None and workload.endswith(".json") else workload,
            target,
            release.get("rows"),
            release.get("rows_per_person", 1),
            float(network.get("call_seconds", 3600.0)),
            network.get("tries", 6),
            network.get("listen"),
            _alignment(form.get("alignment"), protocol, release),
            _bins_share(form.get("bins"), domain),
            _about(form.get("about", {})),
        )

    @property
    def parties(self) -> tuple[str, ...]:
        """Names of the parties of all slices."""
        return tuple(name for names in self.slices for name in names)

    @property
    def other_dealers(self) -> tuple[str, ...]:
        """Names of the enrolled dealers: those that are no party and not the curator."""
        return tuple(name for name in self.dealers if name not in (*self.parties, CURATOR_DEALS))

    @property
    def participants(self) -> tuple[str, ...]:
        """Names of all that the curator connects to: the parties, then the dealers that are none."""
        return (*self.parties, *self.other_dealers)

    @property
    def retry_policy(self) -> RetryPolicy:
        """Deadlines and retries of calls."""
        return RetryPolicy(call_s=self.call_s, tries=self.tries)


def _dealers(
    release: Mapping[str, Any], protocol: Protocol, slices: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """Names of the dealers, by default the curator."""
    if protocol.name != MASKED.name:
        if "dealers" in release:
            raise DataError(f"plan: the protocol {protocol.name!r} has no dealers; remove the key dealers")
        return ()
    named = release.get("dealers", [CURATOR_DEALS])
    if not named or not all(isinstance(name, str) for name in named):
        raise DataError(
            "plan: expected dealers to list the names of one dealer, or of three or more, got another value; "
            f"fix it, or remove it if the curator deals (dealers = {json.dumps([CURATOR_DEALS])})"
        )
    check_dealers(named, slices)
    return tuple(named)


def _check_target(target: str, workload: str | None, domain: Domain) -> None:
    """Refuses a target beside a workload, and one that the domain lacks."""
    if workload is not None:
        raise DataError(
            "plan: expected target or workload, since a target chooses the marginals, got both; remove one"
        )
    if target not in domain:
        raise DataError(
            f"plan: expected target to name an attribute of the domain, got {target!r}; fix it or remove it"
        )


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


def _bins_share(section: Mapping[str, Any] | None, domain: Domain) -> float | None:
    """The share of the budget that chooses bins, if there are any to choose."""
    if section is None:
        check_coded(domain)
        return None
    if not domain.open:
        raise DataError("plan: [bins] has nothing to choose, since the domain says all bins; remove it")
    return check_share(section.get("share", DEFAULT_SHARE))


def _about(section: Mapping[str, Any]) -> About:
    """The reason of the release."""
    until = section.get("until", "")
    try:
        last = until.isoformat() if isinstance(until, date) else until
        return About(section.get("purpose", ""), section.get("contact", ""), until=last)
    except ValueError as cause:
        raise DataError(f"plan: [about]: {cause}; fix it") from None


def _as_text(value: object) -> str:
    """A TOML value as text on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


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


def _check(form: Mapping[str, Any]) -> None:
    """Refuses unknown keys and values of another type."""
    unknown = [section for section in form if section not in _KEYS]
    slices = form.get("slice")
    if unknown or "release" not in form or not isinstance(slices, list) or not slices:
        raise DataError(
            "plan: expected only [release], at least one [[slice]] and optionally [about], [alignment], "
            "[bins] and [network]; fix the sections"
        )
    sections = [(name, form.get(name, {})) for name in ("release", "about", "alignment", "bins", "network")]
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
