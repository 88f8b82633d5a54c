"""The file `plan.toml`: parties, dealers, promise, protocol and mechanism of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....common.about import About
from ....common.bounded import read_bytes, toml_of
from ....common.data.domain import Domain
from ....common.data.related.joint import joint_domain
from ....common.errors import DataError
from ....common.forms.options import options_of
from ....common.forms.tables import check_file
from ....common.privacy.budget import Budget
from ....common.privacy.cost import ROWS_PER_PERSON
from ....common.privacy.rows_of_person import ALL
from ....common.protocols.dropouts.plan import MAY_DROP_OUT
from ....common.protocols.masked.dealers import CURATOR_DEALS, check_dealers
from ....common.protocols.registry import MASKED, Protocol, protocol_named
from ....common.release_spec import ReleaseSpec
from ...mechanisms.catalogue import mechanism_named
from ...parties.connection import RetryPolicy
from ...parties.direct_streams import DirectStreams
from ...results.columns.formulas import check_followers
from .alignment_order import AlignmentOrder, check_population
from .bins_share import DEFAULT_SHARE, check_coded, check_share
from .form import DEFAULT_MECHANISM, plan_form
from .tables import PlannedTables, check_protocol

if TYPE_CHECKING:
    from ...parties.client import Connection

_CALLS = {"call_seconds": "call_s", "tries": "tries", "away_seconds": "away_s"}
"""Keys of [network] -> fields of `RetryPolicy`."""


@dataclass(frozen=True)
class ReleasePlan:
    """The content of a plan file.

    Attributes:
        text: text of the file.
        domain: domain of the whole table.
        slices: for each slice, names of its parties.
        left_out: by party, attributes that it holds but another party of its slice answers for.
        spec: what the release promises, by which protocol.
        dealers: names of those who may deal randomness: enrolled dealers, parties, or `CURATOR_DEALS`; empty
            where the protocol has none.
        mechanism: name of the mechanism.
        variant: variant of the mechanism.
        settings: parameters of the mechanism, as text.
        workload: name of the workload, or path of a JSON file; None if there is a target.
        target: attribute that users of the table will predict (`Workload.for_target`); None without one.
        retry_policy: deadlines and retries of calls.
        listen: host and port for parties that dial the curator; None if no party does.
        direct: when openings go straight from party to party.
        alignment: how the parties' rows are aligned; None if the parties of a slice hold the same records.
        bins_share: share of the budget by which a release of its own chooses the codes of open attributes;
            None if the domain has none.
        tables: related tables, whose columns are those of the domain by joint names; None of a single table.
    """

    text: str
    domain: Domain
    slices: tuple[tuple[str, ...], ...]
    left_out: Mapping[str, tuple[str, ...]]
    spec: ReleaseSpec
    dealers: tuple[str, ...]
    mechanism: str
    variant: str
    settings: Mapping[str, str]
    workload: str | None
    target: str | None
    retry_policy: RetryPolicy
    listen: str | None
    direct: DirectStreams
    alignment: AlignmentOrder | None
    bins_share: float | None
    tables: PlannedTables | None

    @classmethod
    def load(cls, path: Path) -> ReleasePlan:
        """Reads a plan; paths in it are relative to its folder.

        Raises:
            DataError: the file cannot be read, or a value is invalid; names the key.
            BudgetError: the budget is out of range.
        """
        try:
            text = read_bytes(path).decode("utf-8")
            form = toml_of(text)
        except OSError as cause:
            raise DataError(f"cannot read the plan {path}: {cause.strerror}; fix the path") from cause
        except ValueError as cause:
            raise DataError(f"{path} is not TOML: {cause}; fix the line") from cause
        return cls.parse(text, form, path.parent)

    @classmethod
    def parse(cls, text: str, form: Mapping[str, Any], folder: Path) -> ReleasePlan:
        """A plan from its TOML values."""
        check_file("plan", plan_form(), form)
        release, network = form["release"], form.get("network", {})
        if ("tables" in form) == ("domain" in release):
            raise DataError(
                "plan: expected either domain in [release] or [tables.NAME], got both or none; keep one"
            )
        budget = Budget(release.get("epsilon"), release.get("delta"), release.get("rho"))
        options = {name: release[name] for name in options_of(ReleaseSpec) if name in release}
        spec = ReleaseSpec.of(budget, options, _about(form.get("about", {})))
        protocol = protocol_named(spec.protocol, for_daemons=True)
        spec.check_protocol(protocol)
        slices = tuple(tuple(piece["parties"]) for piece in form["slice"])
        named = [name for piece in slices for name in piece]
        if len(set(named)) < len(named):
            raise DataError("plan: expected no party twice; fix the slices")
        if protocol.one_party and len(named) > 1:
            raise DataError(
                f"plan: the protocol {protocol.name!r} is for one party with the whole table; choose another"
            )
        if spec.may_drop_out and ("bins" in form or "alignment" in form):
            raise DataError(
                f"plan: {MAY_DROP_OUT} goes with a release of its own, without [bins] and [alignment]; leave "
                "it out, or state all codes in the domain"
            )
        dealers = _dealers(release, protocol, slices)
        tables = _tables(form, folder, spec)
        target = release.get("target")
        workload = release.get("workload", "2way" if target is None else None)
        if tables is None:
            domain = Domain.load(folder / release["domain"])
            check_followers(domain)
        else:
            domain = joint_domain(tables.domains)
        if target is not None:
            _check_target(target, workload, domain)
        mechanism, variant = release.get("mechanism", DEFAULT_MECHANISM), release.get("variant", "default")
        settings = {key: _as_text(value) for key, value in release.get("settings", {}).items()}
        mechanism_named(mechanism, variant, settings)
        return cls(
            text,
            domain,
            slices,
            _left_out(form["slice"]),
            spec,
            dealers,
            mechanism,
            variant,
            settings,
            str(folder / workload) if workload is not None and workload.endswith(".json") else workload,
            target,
            _retry_policy(network),
            network.get("listen"),
            DirectStreams(network.get("direct", DirectStreams.NEVER)),
            _alignment(form.get("alignment"), spec),
            _bins_share(form.get("bins"), domain) if tables is None else _share_of(form.get("bins", {})),
            tables,
        )

    def with_settings(self, settings: Mapping[str, str]) -> ReleasePlan:
        """The plan with some of the mechanism's parameters replaced.

        Args:
            settings: parameters as text, as `--set` gives them.

        Raises:
            DataError: the mechanism has no such parameter, or a value is of another type or out of range.
        """
        replaced = {**self.settings, **settings}
        mechanism_named(self.mechanism, self.variant, replaced)
        return replace(self, settings=replaced)

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

    def by_slices(self, links: Mapping[str, Connection]) -> list[list[Connection]]:
        """The connections to its parties, slice by slice."""
        return [[links[name] for name in names] for names in self.slices]


def _retry_policy(network: Mapping[str, Any]) -> RetryPolicy:
    stated = {_CALLS[key]: value for key, value in network.items() if key in _CALLS}
    if "answer_days" in network:
        stated["answer_s"] = network["answer_days"] * 86400.0
    return RetryPolicy(**stated)


def _tables(form: Mapping[str, Any], folder: Path, spec: ReleaseSpec) -> PlannedTables | None:
    """The related tables of a plan; None of a single table.

    Raises:
        DataError: both or none are stated, or an option is none of related tables.
    """
    release, slices = form["release"], form["slice"]
    if "tables" not in form:
        if any("holds" in piece for piece in slices):
            raise DataError("plan: holds goes with [tables.NAME]; take it out")
        return None
    for key in ("workload", "target", "sample", "check", MAY_DROP_OUT):
        if key in release:
            raise DataError(f"plan: {key} in [release] goes with a single table; take it out")
    if any("leaves_out" in piece for piece in slices):
        raise DataError("plan: leaves_out goes with a single table; state the tables of parties in holds")
    if spec.unit.parts == 1:
        raise DataError(
            f"plan: related tables are released for people with all rows; set {ROWS_PER_PERSON} = {ALL!r}"
        )
    check_protocol(spec.protocol, [len(piece["parties"]) for piece in slices])
    if "alignment" not in form and any(len(piece["parties"]) > 1 for piece in slices):
        raise DataError(
            "plan: parties that hold different tables of the same people are aligned by their keys; add "
            "[alignment]"
        )
    return PlannedTables.parse(form["tables"], slices, folder)


def _share_of(section: Mapping[str, Any]) -> float:
    return check_share(section.get("share", DEFAULT_SHARE))


def _dealers(
    release: Mapping[str, Any], protocol: Protocol, slices: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """Names of the dealers, by default the curator."""
    if protocol.name != MASKED.name:
        if "dealers" in release:
            raise DataError(f"plan: the protocol {protocol.name!r} has no dealers; remove the key dealers")
        return ()
    named = release.get("dealers", [CURATOR_DEALS])
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


def _alignment(section: Mapping[str, Any] | None, spec: ReleaseSpec) -> AlignmentOrder | None:
    """The order of an alignment, if the release can use one."""
    if section is None:
        return None
    if spec.protocol != MASKED.name or spec.unit.multiple > 1:
        raise DataError(
            f"plan: expected the protocol {MASKED.name!r} with {ROWS_PER_PERSON} = 1 or {ALL!r} over aligned "
            "rows, got another; fix it or remove [alignment]"
        )
    order = AlignmentOrder.parse(section)
    if spec.unit.parts > 1:
        check_population(order.population)
    return order


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
            if name not in piece["parties"]:
                raise DataError("plan: expected leaves_out to name parties of its slice; fix it")
            left[name] = tuple(out)
    return left
