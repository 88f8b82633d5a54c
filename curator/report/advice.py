"""Suitable and unsuitable uses of a release's data, from its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ..certificates.certificate import Certificate
from .pairs import CertifiedPairs

CLOSE_PAIR = 0.05
"""Bound on the total variation distance up to which a pair may be tabulated."""

LOOSE = 0.2
"""Bound on the total variation distance above which a pair is unreliable."""

SMALL_NOISE = 0.05
"""Noise of a count, as a share of the records, up to which it is small against the table."""


@dataclass(frozen=True)
class Advice:
    """Advice for a reader, as sentences.

    Attributes:
        good: suitable uses.
        bad: unsuitable uses.
    """

    good: tuple[str, ...]
    bad: tuple[str, ...]


def advice_of(certificate: Certificate) -> Advice:
    """Suitable and unsuitable uses of a release."""
    pairs = CertifiedPairs(certificate)
    return Advice(tuple(_suitable_uses(certificate, pairs)), tuple(_unsuitable_uses(certificate, pairs)))


def _suitable_uses(certificate: Certificate, pairs: CertifiedPairs) -> list[str]:
    uses = []
    noise = _noise_of_single(certificate)
    if noise and noise <= SMALL_NOISE * certificate.records:
        uses.append(
            "The distribution of one attribute: the noise of a measured count is at most "
            f"{_records(noise)} in 95 of 100 cases."
        )
    bounds = pairs.bounds
    close = sum(bound <= CLOSE_PAIR for bound in bounds.values())
    if close:
        uses.append(
            f"Tables of two attributes, for {close:,} of the {len(pairs.all):,} pairs: each is within "
            f"{CLOSE_PAIR:.0%} of the real one in total variation distance, "
            f"with {certificate.confidence:.0%} confidence. The map shows these pairs."
        )
    usable = sum(CLOSE_PAIR < bound <= LOOSE for bound in bounds.values())
    if usable:
        uses.append(f"The rough dependence of two attributes, for {usable:,} pairs, within {LOOSE:.0%}.")
    uses.append("Writing and testing programs and analyses before they run on real records; teaching.")
    return uses


def _unsuitable_uses(certificate: Certificate, pairs: CertifiedPairs) -> list[str]:
    uses = ["Statements about a single person: no row represents a person."]
    single = _noise_of_single(certificate)
    if single > SMALL_NOISE * certificate.records:
        uses.append(
            f"The distribution of one attribute: the noise of a measured count, up to {_records(single)} in "
            f"95 of 100 cases, is much in a table of {certificate.records:,}."
        )
    joint = [sigma for clique, sigma in certificate.sigmas.items() if len(clique) > 1]
    noise = median(joint) if joint else max(certificate.sigmas.values(), default=0.0)
    if noise:
        uses.append(f"Groups of fewer than about {_records(2 * noise)}: they may consist of noise only.")
    bounds = pairs.bounds
    loose = sum(bound > LOOSE for bound in bounds.values())
    if loose:
        uses.append(
            f"{loose:,} of the {len(pairs.all):,} pairs may have errors of more than {LOOSE:.0%}: "
            "draw no conclusions from these."
        )
    pairs_in_all = len(pairs.all)
    unknown = pairs_in_all - len(bounds)
    if unknown:
        uses.append(
            f"Pairs without an error bound ({unknown:,} of {pairs_in_all:,}): their error is unknown."
        )
    apart = pairs_in_all - len(pairs.modelled)
    if apart and not pairs.modelled:
        uses.append(
            "Any dependence between attributes: the model holds no pair, so all attributes are independent "
            "in the synthetic table. A larger budget or fewer attributes may change this."
        )
    elif apart:
        uses.append(
            f"Pairs that are not in the model ({apart:,} of {pairs_in_all:,}): they depend on each other "
            "only through other pairs, and many are independent in the synthetic table."
        )
    uses += [
        "Tables of three and more attributes, unless they were compared with the real ones.",
        "Extreme and exact numbers: within a bin numbers are drawn, and none lie outside the bounds.",
        "The order of rows, and sequences of dates or visits: every row is drawn independently.",
    ]
    return uses


def _noise_of_single(certificate: Certificate) -> float:
    """Twice the largest standard deviation of a count of one attribute; 0 if none was measured."""
    return 2 * max((sigma for clique, sigma in certificate.sigmas.items() if len(clique) == 1), default=0.0)


def _records(count: float) -> str:
    return f"{count:,.0f} records" if count >= 1.5 else "1 record"
