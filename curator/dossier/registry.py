"""A draft of an entry in the Differential Privacy Deployments Registry, as YAML.

Source: Nanayakkara, Ghazi, Vadhan, "Practitioners' Perspectives on a Differential Privacy Deployment
Registry" (arXiv 2509.13509); the keys are those of the registry's data in 2026.
"""

from __future__ import annotations

import re

from .card import description_of, title_of
from .document import OPEN, pages
from .institution import Institution
from .subject import Subject


def deployment(subject: Subject, institution: Institution) -> str:
    """The entry, as YAML."""

    def says(key: str) -> str:
        return institution.says("dataset", key) or OPEN

    title = title_of(subject, institution)
    steps = "; ".join(f"{step}: rho {rho:.3g}" for step, rho in subject.steps)
    parameters = [("epsilon", _number(subject.epsilon)), ("delta", _number(subject.delta))]
    if subject.zcdp_rho is not None:
        parameters.append(("rho", _number(subject.zcdp_rho)))
    return (
        pages()
        .get_template("deployment.yaml")
        .render(
            slug=re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "synthetic-table",
            title=title,
            curators=_curators(subject, institution),
            description=description_of(subject, institution),
            use=subject.purpose or says("use"),
            region=says("region"),
            sector=says("sector"),
            published=institution.says("dataset", "published") or subject.day,
            variant="Approximate DP" if subject.zcdp_rho is None else "zCDP",
            domain="; ".join(
                f"{table.name}: {', '.join(f'{column.name} ({column.kind})' for column in table.columns)}"
                for table in subject.tables
            ),
            unprotected=(
                f"Number of real records: {subject.records}. Names and possible values of the columns."
            ),
            unit_name="User-level" if "person with all rows" in subject.unit else "Record-level",
            unit=subject.unit,
            parameters=parameters,
            parameters_details=subject.adjacency_in_words,
            model="Distributed" if subject.members else "Central",
            trust=" ".join(filter(None, (subject.trust, subject.collusion))),
            composition=f"Costs in zCDP add up ({steps}); epsilon by Gaussian differential privacy at delta.",
            preprocessing=(
                "None on the real rows without a charge; bounds and categories are public or paid for."
            ),
            mechanisms=f"{subject.mechanism}: discrete Gaussian noise on marginals over {subject.protocol}",
            justification=says("use"),
            digest=subject.digest,
            url=says("url"),
        )
        + "\n"
    )


def _number(value: float) -> str:
    """A number as YAML 1.1 has it, which needs a point before an exponent."""
    mantissa, mark, exponent = f"{value:.12g}".partition("e")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{mark}{exponent}"


def _curators(subject: Subject, institution: Institution) -> list[tuple[str, str]]:
    kind = institution.says("dataset", "publisher_kind") or OPEN
    if not subject.members:
        return [(institution.says("dataset", "publisher") or OPEN, kind)]
    return [(institution.of_controller(one.name, "institution") or one.name, kind) for one in subject.members]
