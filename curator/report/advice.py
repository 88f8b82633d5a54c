"""What the data of a release are good for, and what not, from its certificate alone."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ..certificates.certificate import Certificate
from .pairs import CertifiedPairs

CLOSE = 0.05
"""A pair whose total variation distance is bounded by this may be tabulated."""

LOOSE = 0.2
"""A pair that may be further off than this may not be relied on."""


@dataclass(frozen=True)
class Advice:
    """Sentences for a reader.

    Attributes:
        good: what the data are good for.
        bad: what they are not good for.
    """

    good: tuple[str, ...]
    bad: tuple[str, ...]


def advice_of(certificate: Certificate) -> Advice:
    """What to do and what not to do with a release."""
    pairs = CertifiedPairs(certificate)
    return Advice(tuple(_good(certificate, pairs)), tuple(_bad(certificate, pairs)))


def _good(certificate: Certificate, pairs: CertifiedPairs) -> list[str]:
    said = []
    alone = [sigma for clique, sigma in certificate.sigmas.items() if len(clique) == 1]
    if alone:
        said.append(
            "How the values of one attribute are distributed: a measured count has noise of "
            f"{_records(2 * max(alone))} at most, in 95 of 100 cases."
        )
    bounds = pairs.bounds
    close = sum(bound <= CLOSE for bound in bounds.values())
    if close:
        said.append(
            f"Tables of two attributes, for {close:,} of the {len(pairs.all):,} pairs: each of them is "
            f"within {CLOSE:.0%} of the real table's, as a total variation distance at "
            f"{certificate.confidence:.0%} confidence. The map shows which."
        )
    usable = sum(CLOSE < bound <= LOOSE for bound in bounds.values())
    if usable:
        said.append(
            f"The rough shape of how two attributes go together, for {usable:,} pairs, within {LOOSE:.0%}."
        )
    said.append("Writing and testing programs and analyses before they run on real records, and teaching.")
    return said


def _bad(certificate: Certificate, pairs: CertifiedPairs) -> list[str]:
    said = ["Anything about a single person: no row stands for one, however real it looks."]
    joint = [sigma for clique, sigma in certificate.sigmas.items() if len(clique) > 1]
    noise = median(joint) if joint else max(certificate.sigmas.values(), default=0.0)
    if noise:
        said.append(f"Groups of fewer than about {_records(2 * noise)}: so many may be noise alone.")
    bounds = pairs.bounds
    loose = sum(bound > LOOSE for bound in bounds.values())
    if loose:
        said.append(
            f"{loose:,} of the {len(pairs.all):,} pairs may be further off than {LOOSE:.0%}: "
            "draw no conclusions from these."
        )
    unknown = len(pairs.all) - len(bounds)
    if unknown:
        said.append(f"{unknown:,} pairs have no bound on their error: nobody can say how far off these are.")
    apart = len(pairs.all) - len(pairs.modelled)
    if apart:
        said.append(
            f"{apart:,} pairs are not in the model: they go together only as far as others carry it, and "
            "many come out independent."
        )
    said += [
        "Tables of three and more attributes, unless somebody compared them with the real ones.",
        "Extremes and exact numbers: within a bin numbers are drawn evenly; outside the bounds are none.",
        "The order of rows, and dates or visits that follow each other: every row is drawn by itself.",
    ]
    return said


def _records(count: float) -> str:
    return f"{count:,.0f} records" if count >= 1.5 else "1 record"
