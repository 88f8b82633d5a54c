"""What a party spent since the backup from which its ledger was restored, by certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...common.canonical.terms import decode_terms
from ...common.errors import DataError, MosaicError, ProtocolError
from ...common.federation.card import read_json
from ...common.history import Mark
from ...common.privacy.spending import Cost, together
from ..accounts.ledger import Ledger


@dataclass(frozen=True)
class Recount:
    """What certificates say of a restored ledger.

    Attributes:
        spent: what the party charged in releases that the ledger does not know.
        is_old: whether a certificate states a mark that the ledger lacks, so that it has forgotten events.
    """

    spent: Cost
    is_old: bool


def recount(certificates: Sequence[Path], name: str, ledger: Ledger) -> Recount:
    """Adds up what a party charged in releases that its restored ledger does not know.

    A release that the backup has as open is not added: the ledger counts its whole grant.

    Args:
        certificates: files of certificates of releases and of alignments.
        name: name of the party.
        ledger: the restored ledger.

    Raises:
        DataError: a file is no certificate that this party signed.
    """
    unknown: dict[str, Cost] = {}
    is_old = False
    for path in certificates:
        release_id, charged, mark = _of(path, name)
        if ledger.terms(release_id) is None:
            unknown[release_id] = charged
        try:
            ledger.check_contains(mark)
        except ProtocolError:
            is_old = True
    return Recount(together(unknown.values()), is_old)


def _of(path: Path, name: str) -> tuple[str, Cost, Mark]:
    """The release of a certificate, what the party charged in it, and the mark that it signed."""
    form = read_json(path)
    try:
        own = next(_signed_by(form, name))
        terms = decode_terms(bytes.fromhex(form["signed"]["terms"]))  # type: ignore[index]
        rho = sum((Fraction(entry["zcdp_rho"]) for entry in own["entries"]), Fraction(0))
        # Whatever labels it was charged for, it was granted no more delta than this.
        charged = Cost(terms.unit, rho, terms.granted_cost.delta)
        mark = Mark(own["mark"]["events"], bytes.fromhex(own["mark"]["head"]))
    except (StopIteration, KeyError, ValueError, TypeError, AttributeError, MosaicError) as cause:
        raise DataError(
            f"expected a certificate that party {name!r} signed, and {path} is none; ask its curator for it"
        ) from cause
    return terms.release_id, charged, mark


def _signed_by(form: Any, name: str) -> Iterator[dict[str, Any]]:
    return (said for said in form["signed"]["parties"] if said["name"] == name)
