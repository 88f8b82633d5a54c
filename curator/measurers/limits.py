"""Marginals that a release cannot measure, since its terms exclude their size."""

from __future__ import annotations

from ...common.data.domain import Domain
from ...common.data.view import View
from ...common.terms import ReleaseTerms


def is_too_large(terms: ReleaseTerms, domain: Domain, view: View) -> bool:
    """Whether the terms exclude a marginal; mechanisms see it as one of infinite noise and leave it out.

    Args:
        terms: terms of the release.
        domain: domain of the whole table.
        view: what would be measured.
    """
    return not terms.purpose.measures(view.clique, view.cells(domain))
