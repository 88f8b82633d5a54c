"""The page of a release of related tables, and that of its evaluation: one HTML file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.privacy.conversion import best_guess, zcdp_epsilon
from ...common.version import __version__
from ..report.comparison import PeopleComparison
from ..report.distributions import COLUMNS_HEIGHT, COLUMNS_WIDTH, Measured, distribution
from ..report.page import environment
from ..results.comparable import of_same_codes, with_codes_for_all
from ..results.raw_frames import encode_frame
from .certificate import PeopleCertificate
from .files import RECORDS, file_name
from .shape import Family, number_name

_ROWS_OF_BLOCK = 1 << 20
"""Rows that are encoded at once."""

_DELTA = 1e-9
"""Delta at which a promise in zCDP is explained."""


def people_report(
    family: Family,
    certificate: PeopleCertificate,
    frames: Mapping[str, pd.DataFrame],
    comparison: PeopleComparison | None = None,
    measured: Mapping[str, Measured] | None = None,
) -> str:
    """The report of a release of related tables, as HTML; with a comparison it is not for publication.

    Args:
        family: the tables.
        certificate: of the release.
        frames: the synthetic tables.
        comparison: with the real tables.
        measured: shares of people by their columns, as they were measured.
    """
    tables = coded_tables(family, frames, comparison is not None)
    root = family.root
    if measured and root.domain is not None and root.name in tables:
        measured = of_same_codes(measured, root.domain, tables[root.name].domain)
    budget = certificate.budget
    delta = budget.delta or _DELTA
    epsilon = budget.epsilon or zcdp_epsilon(float(budget.zcdp_rho or 0), delta)
    spent, lifetime = float(certificate.zcdp_rho_spent), certificate.lifetime
    return (
        environment()
        .get_template("people.html")
        .render(
            version=__version__,
            certificate=certificate,
            epsilon=epsilon,
            delta=delta,
            guess=best_guess(epsilon, delta),
            parts=[
                (table, of, f"{float(rho) / spent:.1%}", f"{float(rho):.3g}")
                for table, of, rho in (
                    *((part.table, part.of, part.zcdp_rho) for part in certificate.parts),
                    *(() if lifetime is None else (("all", "earlier releases", lifetime.zcdp_rho_earlier),)),
                )
            ],
            tables=[(name, len(rows)) for name, rows in frames.items()],
            records=[
                (one.name, f"{RECORDS}/{file_name(one.name)}")
                for one in family.tables
                if family.own(one.name)
            ],
            comparison=comparison,
            distributions={
                name: [
                    distribution(
                        column,
                        rows,
                        None if comparison is None else comparison.real[name],
                        (measured or {}).get(column) if name == root.name else None,
                    )
                    for column in rows.domain
                ]
                for name, rows in tables.items()
            },
            measured_table=root.name if measured else "",
            banded=comparison is not None and any(chart.band for chart in comparison.curves),
            chart=(COLUMNS_WIDTH, COLUMNS_HEIGHT),
        )
    )


def coded_tables(family: Family, frames: Mapping[str, pd.DataFrame], whatever: bool) -> dict[str, Table]:
    """Tables in codes, with the number of rows that belong to each row; those without a column are left out.

    Args:
        family: the tables.
        frames: their rows, with keys.
        whatever: whether there are codes for whatever the real tables may hold.
    """
    found = {}
    for table in family.tables:
        if table.name not in frames or not table.columns:
            continue
        rows = frames[table.name]
        shown = tuple(one for one in family.shown_attributes(table.name) if one.name in rows.columns)
        held = with_codes_for_all(shown) if whatever else Domain(shown)
        coded_rows = Table.concatenate(
            [
                encode_frame(held, rows.iloc[start : start + _ROWS_OF_BLOCK])
                for start in range(0, max(len(rows), 1), _ROWS_OF_BLOCK)
            ]
        )
        codes: dict[str, NDArray[Any]] = {name: coded_rows.column(name) for name in held}
        attributes = list(held.attributes)
        for child in family.children(table.name):
            assert table.domain is not None
            number = table.domain[number_name(child.name)]
            keys = pd.Index(rows[table.key])
            of = keys.get_indexer(pd.Index(frames[child.name][child.foreign]))
            counts = np.bincount(of[of >= 0], minlength=len(keys))
            codes[number.name] = number.encode(counts)
            attributes.append(number)
        if attributes:
            found[table.name] = Table.from_codes(Domain(tuple(attributes)), codes)
    return found
