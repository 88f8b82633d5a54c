"""The certificate of an alignment: what it found, what it cost, and what every party signed of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ...common.canonical.terms import decode_terms
from ...common.errors import DataError
from ...common.protocols.aligned import Alignment, Population
from ...common.terms import ReleaseTerms
from ..parties.alignments import Aligned
from .json_values import OPTIONAL
from .signed_record import SignedRecord
from .statements import Signatures


@dataclass(frozen=True)
class AlignmentCertificate(SignedRecord):
    """The public record of an alignment; what was agreed is in the signed terms.

    Attributes:
        alignment_id: id of the release that made it.
        created: time in ISO format.
        versions: version of each software package.
        sizes: number of positions of each slice.
        people: for each slice, noisy number of people of each pattern (`Alignment.people`).
        left_out: for each slice, noisy number of people who are left out because an earlier slice has them.
        zcdp_rho: what each party charged, zCDP.
        sigma: largest standard deviation of a number of people.
        signed: terms and signatures; None before the parties signed.
    """

    format: ClassVar[str] = "dpmosaic alignment 1"
    called: ClassVar[str] = "an alignment"
    remedy: ClassVar[str] = "align the rows again"

    alignment_id: str
    created: str
    versions: Mapping[str, str]
    sizes: tuple[int, ...]
    people: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...]
    zcdp_rho: Fraction
    sigma: float
    signed: Signatures | None = field(default=None, metadata=OPTIONAL)

    def with_signatures(self, signatures: Signatures) -> AlignmentCertificate:
        """The same certificate with signatures."""
        return replace(self, signed=signatures)

    @cached_property
    def terms(self) -> ReleaseTerms:
        """What was agreed.

        Raises:
            DataError: nobody signed it.
        """
        if self.signed is None:
            raise DataError("expected an alignment that its parties signed, got none; align the rows again")
        return decode_terms(self.signed.terms)

    def for_population(self, population: Population) -> Aligned:
        """What a release over these parties uses.

        Args:
            population: whose records the release is about.

        Raises:
            DataError: nobody signed it, or its terms align nothing.
        """
        aligning = self.terms.aligning
        if aligning is None:
            raise DataError("expected signed terms of an alignment, got others; align the rows again")
        match_keys = len(aligning.match)
        alignment = Alignment(self.alignment_id, population, self.people, self.zcdp_rho, match_keys)
        return Aligned(alignment, self.sizes)
