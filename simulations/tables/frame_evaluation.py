"""Evaluations of data frames and releases: not for publication."""

from __future__ import annotations

from typing import Any

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...curator.analysis.release import Page, Release
from ...curator.report.page import evaluation_report
from ..evaluation.evaluation import Evaluation
from ..evaluation.evaluation import evaluate as evaluate_tables
from ..evaluation.tables import comparison
from .arrow_tables import ArrowTable
from .frames import DomainLike, encode, read_domain


def evaluate(
    real: Table | ArrowTable,
    synthetic: Release | Table | ArrowTable,
    *,
    domain: DomainLike | None = None,
    label: str | None = None,
    holdout: Table | ArrowTable | None = None,
    workload: Workload | str | None = None,
    **more: Any,
) -> Evaluation:
    """Compares a synthetic table with the real one: not for publication, since it reads the real rows.

    Args:
        real: the table that was released.
        synthetic: a release, or its table.
        domain: of data frames; by default that of the release, with the bins that it chose.
        label: column that classifiers predict; by default none are trained.
        holdout: real rows that the release has not used.
        workload: of the workload error; by default all pairs.
        more: see `simulations.evaluation.evaluation.evaluate`.

    Raises:
        DataError: the tables do not fit the domain, or there is none for data frames.
    """
    known = None if domain is None else read_domain(domain)
    if isinstance(synthetic, Release):
        known = known or synthetic.domain
        synthetic = synthetic.rows if known == synthetic.domain else synthetic.table
    made, rows = _coded(synthetic, known), _coded(real, known)
    return evaluate_tables(
        rows,
        made,
        label=label,
        holdout=None if holdout is None else _coded(holdout, known),
        workload=Workload.wanted(rows.domain, workload, None),
        **more,
    )


def compare(real: ArrowTable, release: Release, **more: Any) -> Page:
    """A page that shows the real table and a release beside each other: not for publication.

    Args:
        real: the table that was released.
        release: a release of it.
        more: see `evaluate`.

    Raises:
        DataError: the real table does not fit the release's domain.
    """
    rows = _coded(real, release.domain)
    found = evaluate(rows, release, **more)
    return Page(evaluation_report(release.rows, comparison(found, rows), release.certificate))


def _coded(rows: Table | ArrowTable, domain: Domain | None) -> Table:
    if isinstance(rows, Table):
        return rows
    if domain is None:
        raise DataError("expected a domain for a data frame, got none; give domain=, such as release.domain")
    return encode(rows, domain)
