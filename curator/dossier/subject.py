"""What a dossier is about: what the certificate of a release proves, with the files that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.attributes.unmodelled import WHOLE_NUMBERS
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.privacy.conversion import best_guess
from ...common.privacy.rounding import text_above
from ..analysis.release import Release, load
from ..certificates.certificate import Certificate
from ..certificates.issuing import some_of
from ..certificates.verify import BINS, CERTIFICATE
from ..people.certificate import Lifetime
from ..people.files import file_name
from ..people.release import PeopleRelease, load_people
from ..people.tables import released_domain
from ..report.promise import adjacency_in_words, promise_of
from ..results.outputs import PEOPLE

_TABLES = ("tables/", "synthetic.")


@dataclass(frozen=True)
class Column:
    """A column of a synthetic table.

    Attributes:
        name: of the column.
        kind: "text", "integer", "number", "boolean", "date", "datetime", or of a key "key" if it is a whole
            number and "text key" if it is a text.
        categories: its possible values, if they are listed.
        minimum: smallest value, if the domain states one.
        maximum: largest value, as `minimum`.
        missing: whether values may be missing.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    minimum: str = ""
    maximum: str = ""
    missing: bool = False


@dataclass(frozen=True)
class DescribedTable:
    """A synthetic table.

    Attributes:
        name: of the table.
        file: its path in the folder of the release.
        sha256: of the file, as hexadecimal digits.
        rows: number of synthetic rows.
        columns: in the order of the file.
        key: column that names its rows; empty if it has none.
        parent: table to whose rows its rows belong; empty for none.
        foreign: its column that holds the key of the parent; empty for none.
    """

    name: str
    file: str
    sha256: str
    rows: int
    columns: tuple[Column, ...]
    key: str = ""
    parent: str = ""
    foreign: str = ""

    @property
    def is_csv(self) -> bool:
        """Whether the file is a CSV."""
        return self.file.endswith(".csv")

    @property
    def media(self) -> tuple[str, str]:
        """The media type of the file, and its name in the EU's list of file types."""
        return _MEDIA.get(self.file.rpartition(".")[2], ("application/octet-stream", "BIN"))


_MEDIA = {
    "csv": ("text/csv", "CSV"),
    "parquet": ("application/vnd.apache.parquet", "PARQUET"),
    "xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "XLSX"),
    "feather": ("application/vnd.apache.arrow.file", "BIN"),
}
"""Endings of files; all others are bytes to most programs."""


@dataclass(frozen=True)
class Member:
    """A party of a release.

    Attributes:
        name: in the federation.
        attributes: columns that it answered for.
        records: number of its records, or of positions.
    """

    name: str
    attributes: tuple[str, ...]
    records: int


@dataclass(frozen=True)
class Subject:
    """A release, as its dossier speaks of it.

    Attributes:
        tables: the synthetic tables.
        private: whether the promise holds as stated.
        labels: why it does not.
        epsilon: of the promise, or what it implies at `delta`.
        delta: of the promise.
        zcdp_rho: if the promise was made in zCDP; else None.
        epsilon_spent: what was spent, at `delta`; None if the certificate does not say it.
        adjacency: its name.
        adjacency_in_words: which tables are compared, as a sentence.
        unit: what one record is and who is protected, in words.
        guess: largest probability of a right guess which of two neighbouring tables it was, from even odds.
        protocol: name of the measurement protocol.
        trust: who trusted whom, as sentences.
        collusion: who would have to collude to read what; empty if the certificate does not say.
        mechanism: its name.
        steps: what was measured: title and zCDP cost.
        members: the parties; none of a release from one place.
        dealers: who dealt randomness.
        observers: who sees the answers, what is assumed of it, and epsilon against it.
        signed: whether parties signed it.
        records: what is known of the number of real records, in words.
        worst: the marginals with the largest error bounds, and these as total variation distances.
        confidence: of each bound.
        created: when it was made, ISO 8601.
        version: of the software.
        purpose: as the parties signed it; empty if it is not stated.
        contact: who answers questions; empty if it is not stated.
        asked: day on which the parties were asked; empty if there is none.
        files: name of each published file -> its SHA-256.
        digest: SHA-256 of the certificate, as hexadecimal digits.
        sharing: of releases that share a promise, which one it is, in words; empty if it shares none.
    """

    tables: tuple[DescribedTable, ...]
    private: bool
    labels: tuple[str, ...]
    epsilon: float
    delta: float
    zcdp_rho: float | None
    epsilon_spent: float | None
    adjacency: str
    adjacency_in_words: str
    unit: str
    guess: float
    protocol: str
    trust: str
    collusion: str
    mechanism: str
    steps: tuple[tuple[str, float], ...]
    members: tuple[Member, ...]
    dealers: tuple[str, ...]
    observers: tuple[tuple[str, str, float | None], ...]
    signed: bool
    records: str
    worst: tuple[tuple[str, float], ...]
    confidence: float
    created: str
    version: str
    purpose: str
    contact: str
    asked: str
    files: Mapping[str, str]
    digest: str
    sharing: str = ""

    @classmethod
    def load(cls, folder: Path) -> Subject:
        """Reads a release, and compares every file that its certificate names.

        Raises:
            DataError: there is none, or a file has changed since.
        """
        if not (folder / CERTIFICATE).is_file():
            raise DataError(f"{folder}: expected the folder of a finished release, got none; fix the path")
        if (folder / PEOPLE).is_file():
            return of_people(load_people(folder))
        return of_release(load(folder))

    @property
    def rows(self) -> int:
        """Number of synthetic rows of all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def day(self) -> str:
        """The day on which it was made, ISO 8601."""
        return self.created[:10]


def of_release(release: Release) -> Subject:
    """What the certificate of a release of one table proves."""
    made, published = release.certificate, release.published
    file, digest = _table_of(made.outputs)
    domain = published.domain
    columns = tuple(_column(domain, name) for name in published.order)
    table = DescribedTable("synthetic", file, digest, published.rows.record_count, columns)
    return _subject(made, (table,), made.outputs, made.digest().hex())


def of_people(release: PeopleRelease) -> Subject:
    """What the certificate of a release of related tables proves."""
    made, family = release.certificate, release.family
    tables = []
    for kin in family.tables:
        if kin.name not in release.frames:
            continue
        file, digest = _table_of(made.outputs, file_name(kin.name))
        domain = released_domain(family, kin)
        keys = {
            name: "key" if one.pattern == WHOLE_NUMBERS else "text key"
            for name, one in family.key_columns(kin.name).items()
        }
        names = tuple(str(name) for name in release.frames[kin.name].columns)
        columns = tuple(Column(name, keys[name]) if name in keys else _column(domain, name) for name in names)
        rows = len(release.frames[kin.name])
        # People of whom no column is known have no file of their own.
        above = (kin.parent, kin.foreign) if kin.parent in release.frames else ("", "")
        tables.append(DescribedTable(kin.name, file, digest, rows, columns, kin.key, *above))
    of_records = release.releases[family.root.name].certificate
    one = _subject(of_records, tuple(tables), made.outputs, made.digest().hex())
    parts = tuple((f"{part.table}: {part.of}", float(part.zcdp_rho)) for part in made.parts)
    budget = made.budget
    return replace(
        one,
        private=made.differentially_private,
        labels=made.labels,
        epsilon=one.epsilon if budget.epsilon is None else budget.epsilon,
        delta=one.delta if budget.delta is None else budget.delta,
        zcdp_rho=budget.zcdp_rho,
        unit=made.privacy_unit,
        epsilon_spent=made.epsilon_spent,
        steps=parts,
        sharing="" if made.lifetime is None else _sharing(made.lifetime, made.epsilon_spent),
    )


def _sharing(lifetime: Lifetime, epsilon_spent: float | None) -> str:
    past = (
        " Rows of earlier periods are as they were published: corrections, and rows that came late, are not "
        "in it."
        if lifetime.earlier
        else ""
    )
    together = (
        "" if epsilon_spent is None else f", which have spent epsilon {text_above(epsilon_spent)} together"
    )
    return (
        f"{lifetime.releases} releases of the same people share this promise: each adds rows to those "
        f"before. This is number {lifetime.number}, with rows up to {lifetime.until}; it contains the "
        f"certificates of those before it{together}.{past}"
    )


def _subject(
    made: Certificate,
    tables: tuple[DescribedTable, ...],
    files: Mapping[str, str],
    digest: str,
) -> Subject:
    plan, promise = made.plan, promise_of(made)
    with_bins, alone = made.promise.epsilon_with_bins, made.promise.epsilon_by_privacy_loss_distribution
    spent = with_bins if plan.bins is not None else alone
    named = zip(plan.names, plan.parties, plan.record_counts, strict=False)
    worst = sorted(made.error_bounds, key=lambda bound: -bound.total_variation)[:5]
    return Subject(
        tables=tables,
        private=made.differentially_private,
        labels=made.labels,
        epsilon=promise.epsilon,
        delta=promise.delta,
        zcdp_rho=plan.spec.budget.zcdp_rho,
        epsilon_spent=spent if isinstance(spent, (int, float)) else None,
        adjacency=plan.spec.adjacency.value,
        adjacency_in_words=adjacency_in_words(plan.spec.adjacency),
        unit=plan.privacy_unit,
        guess=best_guess(promise.epsilon, promise.delta),
        protocol=plan.spec.protocol,
        trust=promise.trust,
        collusion=promise.collusion,
        mechanism=plan.mechanism["name"],
        steps=tuple((step.step, step.zcdp_rho) for step in promise.spending),
        members=tuple(
            Member(name, attributes, records)
            for names, held, records in named
            for name, attributes in zip(names, held, strict=True)
        ),
        dealers=plan.dealers,
        observers=tuple((one.who, one.assumes, one.epsilon) for one in made.promise.observers),
        signed=made.signed is not None,
        records=_records(made),
        worst=tuple((" × ".join(bound.clique), bound.total_variation) for bound in worst),
        confidence=made.confidence,
        created=made.created,
        version=made.versions["dpmosaic"],
        purpose=plan.spec.about.purpose,
        contact=plan.spec.about.contact,
        asked=plan.spec.about.asked,
        files=dict(files),
        digest=digest,
    )


def _records(made: Certificate) -> str:
    if made.plan.alignment is not None or made.plan.records_sigma:
        return f"about {made.records}, a number with noise"
    return f"{made.records}, which is public"


def _table_of(outputs: Mapping[str, str], name: str = "") -> tuple[str, str]:
    """The path and the digest of a synthetic table."""
    for path, digest in outputs.items():
        inside = path.startswith(_TABLES) and not path.startswith(f"{BINS}/")
        if inside and (not name or Path(path).stem == name):
            return path, digest
    raise DataError(
        f"expected a certificate that names a synthetic table, found none; it names {some_of(list(outputs))}"
    )


def _column(domain: Domain | None, name: str) -> Column:
    attribute = None if domain is None else domain.description_of(name)
    if domain is None or attribute is None:
        return Column(name, "text")
    column = column_of(attribute)
    # What is computed keeps to no bounds and no list.
    free = any(one.name == name for one in domain.followers)
    return Column(name, column.kind, missing=True) if free else column


def column_of(attribute: Attribute) -> Column:
    """What the domain says of a column."""
    name, missing = attribute.name, bool(getattr(attribute, "nullable", False))
    if attribute.texts:
        return Column(name, "text", missing=missing)
    match attribute:
        case BooleanAttribute():
            return Column(name, "boolean", missing=missing)
        case CodedAttribute():
            return Column(name, "integer", minimum="0", maximum=str(attribute.n - 1))
        case NumericAttribute():
            kind = "integer" if attribute.integer else "number"
            low, high = ("", "") if attribute.minimum is None else map("{:.12g}".format, attribute.ends)
            return Column(name, kind, minimum=low, maximum=high, missing=missing)
        case CategoricalAttribute():
            listed = tuple(str(one) for one in attribute.categories)
            return Column(name, "text", tuple(filter(None, listed)), missing="" in listed)
        case TimeAttribute():
            form = attribute.to_json()
            kind = "date" if isinstance(form, dict) and form.get("type") == "date" else "datetime"
            return Column(name, kind, missing=attribute.units.nullable)
    return Column(name, "text", missing=missing)
