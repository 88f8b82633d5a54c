"""The certificate of an alignment: what it found, what it cost, and what every party signed of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from ...common.canonical.terms import decode_terms
from ...common.card import read_json
from ...common.errors import DataError
from ...common.messages import ReleaseTerms
from ...common.protocols.alignment.alignment import Alignment, Population
from ..parties.alignments import Aligned
from .json_values import OPTIONAL, from_json_values, to_json_values
from .statements import Signatures

FORMAT = "dpmosaic alignment 1"
_SIGNED = "signed"


@dataclass(frozen=True)
class AlignmentCertificate:
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

    alignment_id: str
    created: str
    versions: Mapping[str, str]
    sizes: tuple[int, ...]
    people: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...]
    zcdp_rho: Fraction
    sigma: float
    signed: Signatures | None = field(default=None, metadata=OPTIONAL)

    @classmethod
    def load(cls, path: Path) -> AlignmentCertificate:
        """Reads the certificate's file.

        Raises:
            DataError: the file cannot be read, or holds no certificate of an alignment.
        """
        return cls.from_json(read_json(path))

    @classmethod
    def from_json(cls, form: object) -> AlignmentCertificate:
        """Reads a certificate.

        Args:
            form: output of `to_json`.

        Raises:
            DataError: the format differs, or a value is damaged; names the place.
        """
        if not isinstance(form, dict) or form.get("format") != FORMAT:
            raise DataError(
                f"expected an alignment of the format {FORMAT!r}, got another; align the rows again"
            )
        return from_json_values(
            cls, {key: part for key, part in form.items() if key != "format"}, "alignment"
        )

    def to_json(self) -> dict[str, Any]:
        """The certificate as JSON values."""
        return {"format": FORMAT, **to_json_values(self)}

    def digest(self) -> bytes:
        """SHA-256 of the certificate without its signatures."""
        content = {key: part for key, part in self.to_json().items() if key != _SIGNED}
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).digest()

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

    def aligned(self, population: Population) -> Aligned:
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
