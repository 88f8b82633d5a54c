"""Evaluations of data frames and releases: not for publication."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...curator.analysis.release import Page, Release
from ...curator.people.release import PeopleRelease
from ...curator.people.report import people_report
from ...curator.report.page import evaluation_report
from ...simulations.evaluation.evaluation import Evaluation
from ...simulations.evaluation.evaluation import evaluate as evaluate_tables
from ...simulations.evaluation.people import PeopleEvaluation, evaluate_people
from ...simulations.evaluation.people_tables import comparison as people_comparison
from ...simulations.evaluation.tables import comparison
from ...simulations.tables.arrow_tables import ArrowTable
from ...simulations.tables.frames import DomainLike, Source, encode, read_domain
from ..related_frames import named_frames


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
    if isinstance(synthetic, Release):
        known = known or synthetic.domain
        synthetic = synthetic.rows if known == synthetic.domain else synthetic.table
    made, rows = _encode_rows(synthetic, known), _encode_rows(real, known)
    return evaluate_tables(
        rows,
        made,
        target=target,
        holdout=None if holdout is None else _encode_rows(holdout, known),
        workload=Workload.wanted(rows.domain, workload, None),
        **more,
    )


def compare(real: ArrowTable | Mapping[str, Source], release: Release | PeopleRelease, **more: Any) -> Page:
    """A page that shows the real tables and a release beside each other: not for publication.

    Args:
        real: the table that was released, or those by name.
        release: a release of it.
        more: see `evaluate`.

    Raises:
        DataError: the real table does not fit the release's domain.
    """
    if isinstance(release, PeopleRelease):
        frames = named_frames(real)
        compared = people_comparison(evaluate_people(frames, release, **more), release.family, frames)
        return Page(people_report(release.family, release.certificate, release.frames, compared))
    if isinstance(real, Mapping):
        raise DataError("expected one data frame beside the release of one table, got several; give one")
    rows = _encode_rows(real, release.domain)
    found = evaluate(rows, release, **more)
    return Page(evaluation_report(release.rows, comparison(found, rows), release.certificate))


def _encode_rows(rows: Table | ArrowTable, domain: Domain | None) -> Table:
    if isinstance(rows, Table):
        return rows
    if domain is None:
        raise DataError("expected a domain for a data frame, got none; give domain=, such as release.domain")
    return encode(rows, domain)
