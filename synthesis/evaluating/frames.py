"""Evaluations of data frames and releases: not for publication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...curator.analysis.plot import Plot, plot
from ...curator.analysis.release import Page, Release
from ...curator.people.release import PeopleRelease
from ...curator.report.page import evaluation_report
from ...curator.results.comparable import comparable, moved_to, of_same_codes
from ...curator.results.outputs import write_not_for_release
from ...simulations.evaluation.evaluation import Evaluation
from ...simulations.evaluation.evaluation import evaluate as evaluate_tables
from ...simulations.evaluation.metrics import PRIVATE
from ...simulations.evaluation.people import PeopleEvaluation, evaluate_people
from ...simulations.evaluation.people_tables import comparison as people_comparison
from ...simulations.evaluation.tables import comparison
from ...simulations.tables.arrow_tables import ArrowTable
from ...simulations.tables.frames import DomainLike, Source, encode, load, read_domain
from ..related.frames import named_frames


@overload
def evaluate(
    real: ArrowTable | Mapping[str, Source],
    synthetic: PeopleRelease,
    *,
    follow: tuple[str, str, str] | None = ...,
) -> PeopleEvaluation: ...


@overload
def evaluate(
    real: Table | ArrowTable,
    synthetic: Release | Table | ArrowTable,
    *,
    domain: DomainLike | None = ...,
    target: str | None = ...,
    holdout: Table | ArrowTable | None = ...,
    workload: Workload | str | None = ...,
    **more: Any,
) -> Evaluation: ...


def evaluate(
    real: Any,
    synthetic: PeopleRelease | Release | Table | ArrowTable,
    *,
    domain: DomainLike | None = None,
    target: str | None = None,
    holdout: Table | ArrowTable | None = None,
    workload: Workload | str | None = None,
    **more: Any,
) -> Evaluation | PeopleEvaluation:
    """Compares synthetic tables with the real ones: not for publication, since it reads the real rows.

    Of a release of related tables it takes the real ones by name, and `follow`; see `evaluate_people`.

    Args:
        real: the table that was released, or those by name.
        synthetic: a release, or its table.
        domain: of data frames; by default that of the release, with the bins that it chose.
        target: column that classifiers predict; by default none are trained.
        holdout: real rows that the release has not used.
        workload: of the workload error; by default all pairs.
        more: see `simulations.evaluation.evaluation.evaluate`.

    Raises:
        DataError: the tables do not fit the domain, or there is none for data frames.

    Example:
        >>> found = dpmosaic.evaluate(patients, release)
        >>> found.workload_error < 0.2
        True
    """
    if isinstance(synthetic, PeopleRelease):
        given = {"domain": domain, "target": target, "holdout": holdout, "workload": workload}
        if useless := [name for name, one in given.items() if one is not None]:
            raise DataError(f"{useless[0]}: an evaluation of related tables has no such choice; leave it out")
        return evaluate_people(named_frames(real), synthetic, **more)
    known = None if domain is None else read_domain(domain)
    if not isinstance(synthetic, Release):
        made = _encode_rows(synthetic, known)
    elif known is None or known == synthetic.domain:
        known = _domain_of_both(synthetic)
        made = moved_to(known, synthetic.rows)
        real = moved_to(known, real) if isinstance(real, Table) else real
    else:
        made = encode(synthetic.table, known)
    rows = _encode_rows(real, known)
    return evaluate_tables(
        rows,
        made,
        target=target,
        holdout=None if holdout is None else _encode_rows(holdout, known),
        workload=Workload.wanted(rows.domain, workload, None),
        **more,
    )


@dataclass(frozen=True)
class ComparisonPage(Page):
    """A page of a release beside the real table, and its figure: not for publication.

    Attributes:
        release: the release.
        real: the real rows, encoded.
        distances: of pairs, to the real table.
    """

    release: Release
    real: Table
    distances: Mapping[tuple[str, str], float]

    def plot(self, columns: Sequence[str] | None = None) -> Plot:
        """A figure of both tables beside each other, with distances of pairs; see `Release.plot`."""
        return plot(self.release.published, columns, self.real, self.distances, PRIVATE)

    def save(self, path: str | Path) -> None:
        """Writes the page into a file, and beside it one that says why it must not be published.

        Raises:
            DataError: a file cannot be written.
        """
        write_not_for_release(Path(path), self.html, PRIVATE)


def compare(
    real: Source | Mapping[str, Source], release: Release | PeopleRelease, **more: Any
) -> Page | ComparisonPage:
    """A page that shows the real tables and a release beside each other: not for publication.

    Args:
        real: the table that was released, a data frame or the path of a file, or those by name.
        release: a release of it.
        more: see `evaluate`.

    Raises:
        DataError: the real table does not fit the release's domain.
    """
    if isinstance(release, PeopleRelease):
        frames = named_frames(real)
        beside = people_comparison(evaluate_people(frames, release, **more), release.family, frames)
        return Page(release.page(beside))
    if isinstance(real, Mapping):
        raise DataError("expected one data frame beside the release of one table, got several; give one")
    domain = _domain_of_both(release)
    rows = load(real, domain).table if isinstance(real, str | Path) else _encode_rows(real, domain)
    found = evaluate(rows, release, **more)
    compared, evidence = comparison(found, rows), release.published.evidence
    measured = None if evidence is None else of_same_codes(evidence.margins, release.domain, domain)
    html = evaluation_report(moved_to(domain, release.rows), compared, release.certificate, measured)
    return ComparisonPage(html, release, rows, compared.pairs)


def _domain_of_both(release: Release) -> Domain:
    return comparable(release.domain, [one.name for one in release.certificate.plan.unseen])


def _encode_rows(rows: Table | ArrowTable, domain: Domain | None) -> Table:
    if isinstance(rows, Table):
        return rows
    if domain is None:
        raise DataError("expected a domain for a data frame, got none; give domain=, such as release.domain")
    return encode(rows, domain)
