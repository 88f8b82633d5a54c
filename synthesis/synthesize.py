"""From a table to a private release of it in one call, by somebody who holds the whole table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from ..common.data.domain import Domain
from ..common.data.values import compose_texts
from ..common.data.workload import Workload
from ..common.errors import DataError, MosaicWarning
from ..common.privacy.budget import DEFAULT_DELTA, Budget
from ..common.privacy.cost import Adjacency
from ..common.protocols.registry import TRUSTED
from ..common.release_spec import ReleaseSpec
from ..curator.analysis.asked_numbers import check_number
from ..curator.analysis.release import Release
from ..curator.mechanisms.catalogue import mechanism_named
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.people.release import PeopleRelease
from ..curator.releasing.release import ReleaseOrder
from ..curator.results.storage import Library
from ..simulations.tables.arrow_tables import rereadable
from ..simulations.tables.frames import DomainLike, Loaded, RawTable, Source, load, raw_table
from ..simulations.time_limit import TimeLimitWarning, lateness, limited
from .arguments import check_kinds
from .beginning import check_beginning
from .learning.first_step import texts_delta
from .ledgers.counting import Priced, counted_release
from .ledgers.places import LedgerLike
from .metadata import advice_on, as_read, metadata_of, stated_by_metadata
from .one_table import RuleLike, draw_release, settings_of, with_rules
from .people import Stated, release_people
from .periods.yearly import Sharing
from .prior import Prior, PriorLike
from .related.asked import Asked
from .related.links import Relations
from .related.order import Ordered
from .related.stated import pairs_stated
from .related.tables import Implied, Pairs, Summaries
from .remarks import remarks
from .unfinished import Forgotten, Unfinished, unfinished_release

_ADVICE = "no domain: a part of the budget learns what the columns hold"

_UNIT = (
    "; the promise is for one row: if a person may have several, name the column that tells people apart as "
    "key"
)


class DomainWarning(MosaicWarning):
    """What a release without a domain could not know or keep; a reviewed domain gives less error."""


@overload
def synthesize(
    data: Mapping[str, Source],
    epsilon: float = ...,
    *,
    relations: Relations,
    public: Collection[str] = ...,
    order: Mapping[str, Ordered] | None = ...,
    series: Mapping[str, str] | None = ...,
    repeats: Relations | None = ...,
    counts: Mapping[str, Mapping[str, int]] | None = ...,
    within: Mapping[str, tuple[str | None, str | None]] | None = ...,
    near: Mapping[str, str] | None = ...,
    same: Mapping[str, Sequence[str]] | None = ...,
    rising: Mapping[str, Sequence[str]] | None = ...,
    once: Mapping[str, Sequence[str]] | None = ...,
    drop_incomplete: bool | Collection[str] = ...,
    summaries: Summaries | None = ...,
    workload: Pairs | None = ...,
    delta: float = ...,
    domain: Mapping[str, DomainLike] | None = ...,
    anyway: bool = ...,
    mechanism: Mechanism | str = ...,
    seed: int | None = ...,
    progress: bool | None = ...,
    out: str | Path | None = ...,
    ledger: LedgerLike = ...,
) -> PeopleRelease: ...


@overload
def synthesize(
    data: Source,
    epsilon: float = ...,
    *,
    key: str,
    order: Ordered | None = ...,
    series: str | None = ...,
    counts: Mapping[str, int] | None = ...,
    rising: Sequence[str] | None = ...,
    once: Sequence[str] | None = ...,
    drop_incomplete: bool = ...,
    per_person: Sequence[str] = ...,
    releases: int | None = ...,
    until: object = ...,
    continues: str | Path | None = ...,
    workload: Sequence[Sequence[str]] | None = ...,
    delta: float = ...,
    domain: DomainLike | None = ...,
    anyway: bool = ...,
    mechanism: Mechanism | str = ...,
    seed: int | None = ...,
    progress: bool | None = ...,
    out: str | Path | None = ...,
    ledger: LedgerLike = ...,
) -> PeopleRelease: ...


@overload
def synthesize(
    data: Source,
    epsilon: float = ...,
    *,
    delta: float = ...,
    domain: DomainLike | None = ...,
    adjacency: Adjacency | str = ...,
    anyway: bool = ...,
    mechanism: Mechanism | str = ...,
    prior: PriorLike | None = ...,
    prior_is_public: bool = ...,
    time_limit: float | None = ...,
    rules: Sequence[RuleLike] = ...,
    target: str | None = ...,
    workload: Workload | str | None = ...,
    rows: int | None = ...,
    seed: int | None = ...,
    progress: bool | None = ...,
    header: bool | None = ...,
    checks: Executor | None = ...,
    out: str | Path | Unfinished | None = ...,
    ledger: LedgerLike = ...,
) -> Release: ...


def synthesize(
    data: Source | Mapping[str, Source],
    epsilon: float = 1.0,
    *,
    key: str | None = None,
    relations: Relations | None = None,
    public: Collection[str] = (),
    order: Ordered | Mapping[str, Ordered] | None = None,
    series: str | Mapping[str, str] | None = None,
    repeats: Relations | None = None,
    counts: Mapping[str, int] | Mapping[str, Mapping[str, int]] | None = None,
    within: Mapping[str, tuple[str | None, str | None]] | None = None,
    near: Mapping[str, str] | None = None,
    same: Mapping[str, Sequence[str]] | None = None,
    rising: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    once: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    drop_incomplete: bool | Collection[str] = False,
    summaries: Summaries | None = None,
    per_person: Sequence[str] = (),
    releases: int | None = None,
    until: object = None,
    continues: str | Path | None = None,
    delta: float = DEFAULT_DELTA,
    domain: DomainLike | Mapping[str, DomainLike] | None = None,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    anyway: bool = False,
    mechanism: Mechanism | str = "mosaic",
    prior: PriorLike | None = None,
    prior_is_public: bool = False,
    time_limit: float | None = None,
    rules: Sequence[RuleLike] = (),
    target: str | None = None,
    workload: Workload | str | Pairs | Sequence[Sequence[str]] | None = None,
    rows: int | None = None,
    seed: int | None = None,
    progress: bool | None = None,
    header: bool | None = None,
    checks: Executor | None = None,
    out: str | Path | Unfinished | None = None,
    ledger: LedgerLike = True,
) -> Release | PeopleRelease:
    """Releases a synthetic table with (epsilon, delta)-differential privacy; the table is in one place.

    With a `key`, or with several tables and their `relations`, the promise is for a person with all rows in
    all tables, whatever their number, and the number of people is private.

    Without a domain, a first step learns from a part of the budget what the columns hold: numbers and their
    rounding and range, dates in common formats, words, frequent texts, keys that name the rows. What too few
    rows share becomes "other" or is left out, and a warning says so. Cells of another kind than their
    column's count as missing. It refuses tables of too few rows for their columns, of which it would release
    mostly noise. A domain of public bounds and categories gives less error.

    Neighbouring tables differ in one row that is added or removed: the number of rows is private and released
    with noise.

    Args:
        data: the real table: a data frame of pandas, Polars, Arrow or DuckDB, or the path of a file: CSV,
            Parquet, Feather, Excel, SPSS, Stata or SAS. An index with a name is released as a column, and is
            the index of what comes back. Or several such tables by name.
        epsilon: privacy budget, with delta.
        key: column that names the person of each row; its values are drawn anew.
        relations: for each of several tables but that of people, its column that holds the key of the table
            to which it belongs -> that table: {"stays": {"id": "patients"}}; "patients.number" where the key
            has another name there. Several columns that name one table hold its key together.
        public: with relations, the tables that everybody may see, such as one of products, to whose keys
            others refer beside what they belong to: {"items": {"order_id": "orders", "product_id":
            "products"}}. They are in the release as they are, and each synthetic row refers to one of theirs.
        order: with a key, the column by which rows of a person are in order, such as a date, or True for the
            order of the table; with relations, this for each table whose rows have an order.
        series: of a table of many series in one order, such as values of several tests by day, the column of
            categories that says which one a row is of: what follows what is then kept within a series, for
            all columns but this one and the order. With relations, this for each such table: {"observations":
            "test"}.
        same: with relations, columns that are the same in all rows of a row above, whose table lacks them,
            such as {"admissions": ["ethnicity"]}; `repeats` are those that it has.
        rising: columns of which no row of a person has less than the one before, where rows have an order:
            numbers, or categories in the order of the domain, ["age", "visit"]. With relations, this for each
            such table, of the rows of one row above: {"visits": ["age", "visit"]}.
        once: columns of which no two rows of a person have the same: categories, such as the visits of a
            plan, or that of the order, such as the year of a panel. With relations, this for each such table.
        repeats: with relations, columns that repeat what the row above is, and are filled in from it:
            {"stays": {"sex": "patients"}}, or "patients.gender" if the column has another name there; keys
            of tables further above, too.
        counts: columns that count the rows of a person in their order, with the first number, 0 or 1,
            {"visit": 1}: synthetic rows are counted anew. With relations, this for each such table, of the
            rows of one row above, such as the lines of an order: {"items": {"line": 1}}.
        within: with relations, the columns of the other table between which the order of the rows lies, such
            as {"stays": ("born", "died")}; None for no bound. Synthetic rows keep to it.
        near: with relations, the column of the other table from which the first row is counted, where rows
            may lie before it, too, such as {"visits": "enrolled"}: visits of a study begin some days before.
        drop_incomplete: with a key or relations, whether rows without a key, a parent or a value of the order
            are left out, of all tables or of those that are named; by default they are refused.
        summaries: with relations, what a row says of the rows that belong to it, as a new column, with which
            synthetic rows agree: whether any has one of some values, {"diagnoses": {"had_stroke": {"code":
            ["I63", "I64"]}}}, or {"what": "count", "column": "code", "values": ["I63"]} for how many have,
            "time" for when the first one is, from the column of the beginning in `within` on, or {"what":
            "first", "column": "code"} and "last" for what that row holds.
        per_person: with a key, columns that are the same in all rows of a person, such as the year of birth.
        releases: with a key and an order, number of releases that share epsilon and delta evenly, such as one
            for each year. Each has the rows after those of the one before, up to `until`.
        until: the last value of the order in this one of several releases, such as 2026 or "2026-12-31".
        continues: folder of the release before, whose rows stay as they are and whose people get new ones.
        delta: privacy budget, with epsilon.
        domain: a `Domain`, the content of a domain file or its path; None to learn what the columns hold. Of
            related tables, one for each table that has one, of its columns but keys. Or metadata of SDV,
            whose bounds and categories are learned, and which says relations too; or a domain of dpsynth.
        adjacency: which tables are neighbours: "add-remove"; or "zero-out" or "replace-one", in which the
            number of rows is public.
        anyway: without a domain, whether to release a table that has too few rows to learn its columns.
        mechanism: a name, or a configured mechanism such as `Mosaic()`.
        prior: what is known beforehand: an earlier release or its folder, or a public table of the same
            columns; of the mechanism "mosaic". It moves what is expected, if it proves right, and never the
            promise, which does not cover the people in it: private rows here would break it. An earlier
            release of the same people has its own epsilon: both promises add up.
        prior_is_public: whether you say so of a prior that is no release of this package.
        time_limit: seconds that the release may take on this machine, about; of the mechanism "mosaic". The
            machine's speed is measured once.
        rules: public statements that no synthetic row breaks, beside those of the domain.
        target: a column that others should predict well: the workload is what predicts it.
        workload: "1way", "2way", "3way", a file, or a Workload; by default all pairs. With relations, the
            pairs of columns that matter, for tables that belong to another: {"stays": [("ward", "days"),
            ("ward", "previous ward"), ("ward", "patients.sex")]}; with a key, such a list of pairs.
        rows: number of synthetic rows; by default as many as the table has, with noise, at most 10^7.
        seed: makes the release reproducible and not for release; it is labelled so.
        progress: whether to show progress; by default in a terminal and in a notebook.
        header: whether the first line of a CSV names the columns, which are otherwise column1, column2, ...;
            by default it does, unless it reads as a record.
        checks: where the second opinion on epsilon is computed; by default in a thread.
        out: folder into which the release is saved. Until then it keeps each noisy answer before it is used:
            if the process ends, the same call goes on from there, and nothing is charged twice. Without one
            nothing is written, and what is answered is lost with the process.
        ledger: the release is counted in the ledger of each table, which says what all releases promise
            together and keeps to a limit if `budget` sets one: beside a file; for a data frame in the user's
            folder of state, found by its rows. Or the path of a ledger, or False to count nothing. A release
            with a seed is not counted.

    Returns:
        The release; with a key or relations a `PeopleRelease`.

    Raises:
        DataError: the table, the domain or an argument does not fit, or the folder holds a release, or one
            that stopped and had other rows or settings; nothing has been spent. With a domain,
            one row may be the reason where its policies say "error": `dpmosaic domain check` says so before a
            release, and only the owner of the table should see it.
        BudgetError: a privacy parameter is out of range, or the limit of the table does not allow the
            release; nothing has been spent.

    Warns:
        BudgetWarning: the table was released before: what all releases promise together; or its ledger cannot
            be written, and the release is not counted.
        DomainWarning: no domain was given; what was left out, or lost among others.
        TimeLimitWarning: the release took more than 1.5 times the time limit.
        UserWarning: an index, or a first column of row numbers, has no name; both are left out.

    Example:
        >>> patients = pd.DataFrame({"sex": ["F", "M"] * 500, "age": [31, 47] * 500})
        >>> domain = {"sex": ["F", "M"], "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10}}
        >>> release = dpmosaic.synthesize(patients, epsilon=1.0, domain=domain, ledger=False)
        >>> sorted(release.table["sex"].unique())
        ['F', 'M']
        >>> release.certificate.promise.epsilon
        1.0
    """
    started = time.perf_counter()
    check_kinds(
        {
            **{"key": key, "relations": relations, "public": public, "order": order, "series": series},
            **{"within": within, "drop_incomplete": drop_incomplete, "summaries": summaries},
            **{
                "near": near,
                "same": same,
                "rising": rising,
                "once": once,
                "repeats": repeats,
                "counts": counts,
            },
            **{"per_person": per_person, "releases": releases, "continues": continues, "domain": domain},
            **{"adjacency": adjacency, "mechanism": mechanism, "time_limit": time_limit, "rules": rules},
            **{"target": target, "workload": workload, "seed": seed, "header": header},
            **{"checks": checks, "out": out},
        }
    )
    time_limit = None if time_limit is None else float(time_limit)
    library, data = Library.of(data), _rereadable(data)
    neighbours = Adjacency.named(adjacency)
    chosen = mechanism_named(mechanism) if isinstance(mechanism, str) else mechanism
    # Read once, so that what is checked is what is used, also of a pipe.
    domain = as_read(domain)
    metadata = metadata_of(domain)
    if metadata is not None and isinstance(data, Mapping):
        described_tables = stated_by_metadata(metadata)
        relations, domain = relations or described_tables.relations, described_tables.domains
        order = order or described_tables.order
        advices = described_tables.advice
    else:
        advices = tuple(filter(None, [advice_on(metadata, key)]))
    for advice in advices:
        warnings.warn(advice, DomainWarning, stacklevel=2)
    if key is not None or relations is not None:
        unused = {
            "adjacency": neighbours is not Adjacency.ADD_REMOVE,
            "rules": bool(rules),
            "target": target is not None,
            "rows": rows is not None,
            "prior": prior is not None or prior_is_public,
            "time_limit": time_limit is not None,
            "header": header is not None,
        }
        if useless := [name for name, given in unused.items() if given]:
            raise DataError(
                f"{useless[0]}: a release of people with several rows has no such choice; leave it out"
            )
        sharing = _sharing(key, releases, until, continues)
        if domain is None:
            warnings.warn(_ADVICE, DomainWarning, stacklevel=2)
        pairs = pairs_stated(workload, key, per_person)
        named: Mapping[str, Any] = {
            **{"key": key, "relations": relations, "order": order, "per_person": per_person},
            **{"series": series, "public": [*public]},
            "drop_incomplete": drop_incomplete if isinstance(drop_incomplete, bool) else [*drop_incomplete],
            **{"within": within or {}, "near": near or {}, "summaries": summaries or {}, "pairs": pairs},
        }
        implied = Implied.as_given(
            key is None, repeats=repeats, counts=counts, same=same, rising=rising, once=once
        )
        stated = Stated(**compose_texts(named), implied=implied, domain=domain, sharing=sharing)
        with _answers_kept_in(out) as kept:
            asked = Asked(Budget(epsilon, delta), chosen, {}, anyway, seed, progress, kept)
            people, told = release_people(data, stated, asked, ledger)
            if isinstance(out, (str, Path)):
                people.write(Path(out))
        for remark in told:
            warnings.warn(remark, DomainWarning, stacklevel=2)
        return people
    if (
        order is not None
        or series is not None
        or repeats is not None
        or counts is not None
        or per_person
        or summaries is not None
        or within is not None
        or near is not None
        or same is not None
        or rising is not None
        or once is not None
        or drop_incomplete
        or public
        or _sharing("", releases, until, continues)
    ):
        raise DataError(
            "order, series, repeats, counts, within, near, same, rising, once, drop_incomplete, public, "
            "summaries, per_person and releases: expected a key or relations beside them, got none; name "
            "these"
        )
    if isinstance(data, Mapping):
        raise DataError(
            "expected a data frame of pandas, Polars, PyArrow or DuckDB, or the path of a file, got several; "
            "name their relations"
        )
    known_before = Prior.of(prior, prior_is_public, chosen)
    if domain is None:
        if rules:
            raise DataError("rules: expected a domain beside them, got none; give a domain, or no rules")
        raw = raw_table(data, header=header)
        warnings.warn(_ADVICE + _UNIT, DomainWarning, stacklevel=2)
        described = Domain.coded(dict.fromkeys(raw.source.columns(), 2))
        if known_before is not None:
            known_before.check_columns(raw.source.columns())
        known: Loaded | RawTable = raw
    else:
        loaded = with_rules(load(data, domain, header=header), rules)
        described = loaded.table.domain
        if known_before is not None:
            known_before.in_domain(described)
        known = loaded
    if known_before is not None:
        known_before.check_other(data)
    # What was asked for is checked before anything is spent; without a domain by the names of the columns.
    if workload is not None and not isinstance(workload, str | Workload):
        raise DataError('workload: expected "2way", a file or a Workload, got pairs; name a key or relations')
    wanted = Workload.wanted(described, workload, compose_texts(target))
    if rows is not None:
        check_number("rows", rows)
    spec = ReleaseSpec(Budget(epsilon, delta), neighbours, TRUSTED.name, rows=rows)
    ordered = ReleaseOrder(described, spec, chosen, wanted)
    check_beginning(ordered)
    with _answers_kept_in(out) as kept:
        settings = settings_of(ordered, time_limit, header, seed)
        if known_before is not None:
            settings["prior"] = known_before.digest()
        kept.bind(settings, data)
        ordered = replace(ordered, mechanism=limited(chosen, time_limit, kept.note_once))
        labels = ordered.labels_delta if isinstance(known, Loaded) else texts_delta(spec.budget)
        with counted_release(
            data, ledger, Priced(spec.budget, spec.unit, chosen, labels), kept, seed is not None
        ):
            drawn, begun = draw_release(
                known, ordered, target, anyway, seed, progress, checks, kept, known_before
            )
        release = Release.of(replace(drawn, library=library))
        if isinstance(out, (str, Path)):
            release.write(Path(out))
    if domain is None:
        for remark in remarks(drawn.released.synthetic, begun):
            warnings.warn(remark, DomainWarning, stacklevel=2)
    late = lateness(time_limit, time.perf_counter() - started)
    if late is not None:
        warnings.warn(late, TimeLimitWarning, stacklevel=2)
    return release


def _rereadable(data: Any) -> Any:
    """A table or several by name, each of which can be read again."""
    if isinstance(data, Mapping):
        return {name: rereadable(one) for name, one in data.items()}
    return rereadable(data)


def _sharing(
    key: str | None, releases: int | None, until: object, continues: str | Path | None
) -> Sharing | None:
    """What is told of releases that share a promise; None if this one is by itself.

    Raises:
        DataError: something is missing for it.
    """
    if releases is None and until is None and continues is None:
        return None
    if releases is None or until is None:
        raise DataError(
            "releases and until: expected both, and `continues` in each release but the first, got one "
            "alone; name both"
        )
    if key is None:
        raise DataError(
            "releases: expected one table with a key, got related tables, which are not continued; name a key"
        )
    return Sharing(releases, until, None if continues is None else Path(continues))


def _answers_kept_in(out: str | Path | Unfinished | None) -> AbstractContextManager[Unfinished | Forgotten]:
    """What keeps the answers of a release until it is in its folder."""
    if isinstance(out, (str, Path)):
        return unfinished_release(Path(out))
    return nullcontext(Forgotten() if out is None else out)
