"""Codes that one release chose under differential privacy, as the plans of later releases state them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ..data.coding import Coding
from ..errors import DataError

CHOICE = "bins"
"""Name of the mechanism of a release that chooses codes and makes no table."""

_RELEASE_ID = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Chosen:
    """Chosen codes, and the release that chose them; public.

    Attributes:
        release_id: id of the release that chose them.
        certificate: SHA-256 of its certificate, as hexadecimal digits.
        zcdp_rho: its grant, zCDP; a part of the budget of every release that uses the codes.
        coding: the chosen codes.
        labels_delta: what its labels took of the delta of every release that uses the codes; zero if it
            looked for none.
    """

    release_id: str
    certificate: str
    zcdp_rho: float
    coding: Coding
    labels_delta: float = 0.0

    def __post_init__(self) -> None:
        if not _RELEASE_ID.fullmatch(self.release_id) or not _DIGEST.fullmatch(self.certificate):
            raise DataError("a plan must name the release that chose its codes by id and certificate")
        if not 0 < self.zcdp_rho < math.inf:
            raise DataError("a plan must state what the choice of its codes cost as a positive finite rho")
        # A choice without codes is of a first step, which leaves none to its parties.
        codes = bool(self.coding.runs or self.coding.labels)
        unlike = bool(self.labels_delta) != bool(self.coding.labels)
        if not 0 <= self.labels_delta < 1 or (codes and unlike):
            raise DataError("a plan must state the delta of chosen labels")
