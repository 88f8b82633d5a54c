"""The files of a release of people, and whether they are what its certificate says."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path, PurePosixPath

from ...common.canonical.terms import decode_terms
from ...common.crypto.digests import sha256_of
from ...common.errors import DataError, ProtocolError
from ...common.federation.card import FederationList
from ...common.privacy.cost import ALL_ROWS, WORDS_OF_PARTS, Adjacency, PrivacyUnit
from ...common.terms import ReleaseTerms
from ..certificates.certificate import Certificate
from ..certificates.check import Check
from ..certificates.verify import BINS, CERTIFICATE, WARNING, check_published, verify_certificate
from .certificate import (
    OF_ALIGNMENT,
    OF_RECORDS,
    Lifetime,
    PeopleCertificate,
    Spent,
    digest_of,
    earlier_name,
    epsilon_of,
    is_inside,
    is_part,
)

RECORDS, CHOICES = "records", "choices"
"""Folders of the releases of records, and of the certificates of what columns hold."""

_FILE_NAME_LENGTH = 100


def file_name(name: str) -> str:
    """A table's name as that of a file."""
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
    return safe[:_FILE_NAME_LENGTH]


def check_file_names(names: Iterable[str]) -> None:
    """Refuses names of tables that are the same as those of files."""
    files: dict[str, str] = {}
    for name in names:
        if (other := files.setdefault(file_name(name).casefold(), name)) != name:
            raise DataError(
                f"expected names of tables that differ as those of files, got {other!r} and {name!r}; rename "
                "one"
            )


def verify_people(folder: Path, federation: FederationList | None = None) -> Iterator[Check]:
    """Verifies the certificate of a release of people and the files beside it, offline.

    The costs of the parts are those of their certificates, and add up to what is stated; epsilon follows from
    them, and is at most what was promised; a label of one part is one of the whole. Over parties, each part
    is verified by what these signed. Nobody signs a release from one place, so what its parts say themselves
    is its maker's word.

    Args:
        folder: of the release.
        federation: cards whose identities were compared; None of a release from one place.

    Raises:
        DataError: there is no such certificate, or it is one over parties and no cards were given.
    """
    certificate = PeopleCertificate.load(folder / CERTIFICATE)
    yield from check_files(certificate, folder)
    held = _certificates(folder)
    signed = any(one.signed is not None for one in held.values())
    # What parties signed is verified with the files that it names.
    for part in () if signed else certificate.parts:
        if part.of == OF_RECORDS and part.certificate in held:
            own = folder / RECORDS / file_name(part.table)
            yield from _of_part(part, check_published(held[part.certificate], own))
    yield _check_record(certificate, held)
    yield _check_parts(certificate, held)
    if signed:
        if federation is None:
            raise DataError("--federation: expected the file of all cards of a release over parties; name it")
        yield from _verify_parts(certificate, held, folder, federation)
    elif federation is not None:
        yield Check("form", False, "no part is signed, so not the certificate of a release over daemons")
    lifetime = certificate.lifetime
    if lifetime is not None:
        yield from _check_lifetime(certificate, lifetime, folder)
    earlier = Fraction(0) if lifetime is None else lifetime.zcdp_rho_earlier
    spent = sum((part.zcdp_rho for part in certificate.parts), earlier)
    epsilon = epsilon_of(certificate.parts, certificate.budget, earlier)
    same = (certificate.zcdp_rho_spent, certificate.epsilon_spent) == (spent, epsilon)
    yield Check("costs", same, "add up" if same else "do not add up to what is stated")
    budget = certificate.budget
    if budget.epsilon is None:
        kept = budget.zcdp_rho is not None and spent <= budget.zcdp_rho
    else:
        kept = epsilon is not None and epsilon <= budget.epsilon
    yield Check("promise", kept, "kept" if kept else "more was spent than promised")
    labels = {label for one in held.values() for label in one.labels}
    private = certificate.differentially_private and not certificate.labels and not labels
    yield Check(
        "label", private, "differentially private" if private else "labelled as not a private release"
    )


def rows_before(lifetime: Lifetime, folder: Path) -> bytes:
    """The beginning of the file of a release that is the table of the one before; empty without a file."""
    path = folder / lifetime.table
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(lifetime.table_bytes)


def earlier_certificates(certificate: PeopleCertificate, folder: Path) -> list[PeopleCertificate]:
    """The certificates of the releases that one continues, from its folder, the first one first.

    Raises:
        DataError: one is missing, or is none.
    """
    number = 1 if certificate.lifetime is None else certificate.lifetime.number
    return [PeopleCertificate.load(folder / earlier_name(one)) for one in range(1, number)]


def _check_lifetime(certificate: PeopleCertificate, lifetime: Lifetime, folder: Path) -> Iterator[Check]:
    """The releases that one continues: each as the next one names it, at its cost, with its rows unchanged.

    What an earlier release cost follows from its own folder, which is verified by itself.
    """
    try:
        earlier = earlier_certificates(certificate, folder)
    except DataError:
        yield Check("earlier releases", False, "a certificate is missing or damaged")
        return
    for before, after in itertools.pairwise([*earlier, certificate]):
        if fault := _fault_of_link(before, after):
            yield Check("earlier releases", False, fault)
            return
    yield Check("earlier releases", True, f"{len(earlier)} of {lifetime.releases} that share the promise")
    if earlier:
        stated, beginning = earlier[-1].outputs.get(lifetime.table), rows_before(lifetime, folder)
        same = len(beginning) == lifetime.table_bytes and hashlib.sha256(beginning).hexdigest() == stated
        yield Check("earlier rows", same, "as released before" if same else "not those released before")


def _fault_of_link(before: PeopleCertificate, after: PeopleCertificate) -> str:
    """Why a release does not continue the one before it; empty if it does."""
    one, other = before.lifetime, after.lifetime
    if one is None or other is None or before.labels or not before.differentially_private:
        return "one does not share a promise, or is labelled as not a private release"
    if other.earlier != before.digest().hex():
        return "one is not that which the next one names"
    if (other.number, other.releases, other.settings) != (one.number + 1, one.releases, one.settings):
        return "they are not one after the other of the same releases"
    if (before.budget, before.adjacency) != (after.budget, after.adjacency):
        return "they do not share one promise"
    own = sum((part.zcdp_rho for part in before.parts), one.zcdp_rho_earlier)
    if before.zcdp_rho_spent != own or other.zcdp_rho_earlier != own:
        return "costs do not add up to what is stated"
    return ""


def _of_part(part: Spent, checks: Iterable[Check]) -> Iterator[Check]:
    """Checks with the part that they are about."""
    return (replace(check, what=f"{part.table}, {part.of}: {check.what}") for check in checks)


def _verify_parts(
    certificate: PeopleCertificate, held: dict[str, Certificate], folder: Path, federation: FederationList
) -> Iterator[Check]:
    """Each part by what its parties signed, and the alignment at the cost that they signed in all parts."""
    for part in certificate.parts:
        if part.certificate in held:
            own = folder / RECORDS / file_name(part.table) if part.of == OF_RECORDS else None
            yield from _of_part(part, verify_certificate(held[part.certificate], federation, own))
    aligned = {
        Fraction(0) if one.plan.alignment is None else Fraction(one.plan.alignment.zcdp_rho)
        for one in held.values()
    }
    stated = {part.zcdp_rho for part in certificate.parts if part.of == OF_ALIGNMENT} or {Fraction(0)}
    same = aligned == stated
    said = "at the cost that the parties signed" if same else "not at the cost that the parties signed"
    yield Check("alignment", same, said if stated != {Fraction(0)} else "none")
    yield _check_release(certificate, {digest: _terms_of(one) for digest, one in held.items()})


def _check_release(certificate: PeopleCertificate, held: Mapping[str, ReleaseTerms | None]) -> Check:
    """Whether all parts were signed as parts of one release, none is left out, and the tables are those.

    What a part that is left out answered may be in bins that others state, at a cost that nobody counts.
    """
    wholes = [() if terms is None else terms.whole for terms in held.values()]
    one_release = all(wholes) and all(whole == wholes[0] for whole in wholes)
    signed = [terms for terms in held.values() if terms is not None]
    granted = sum((terms.granted_cost.zcdp_rho for terms in signed), Fraction(0))
    parts = [part for terms in signed if (part := terms.plan.related) is not None]
    complete = all(part.are_all(granted) for part in parts)
    tables = {
        digest: "" if terms is None or terms.plan.related is None else terms.plan.related.table
        for digest, terms in held.items()
    }
    same = all(tables.get(part.certificate, part.table) == part.table for part in certificate.parts)
    if one_release and complete and same:
        return Check("release", True, "all parts of one")
    return Check("release", False, "parts of several releases, not all of one, or of other tables")


def _terms_of(certificate: Certificate) -> ReleaseTerms | None:
    """What parties signed of a part; None if nobody did, or it is damaged."""
    if certificate.signed is None:
        return None
    try:
        return decode_terms(certificate.signed.terms)
    except ProtocolError:
        return None


def _check_record(certificate: PeopleCertificate, held: Mapping[str, Certificate]) -> Check:
    """Whether the promise is for whom the parts are, and under their adjacency."""
    # The words are the same under any adjacency.
    words = PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS).in_words
    same = {one.plan.spec.adjacency for one in held.values()} <= {certificate.adjacency}
    if not same or certificate.privacy_unit not in (words, words.replace(*WORDS_OF_PARTS)):
        return Check("record", False, "protects somebody else, or under another adjacency, than its parts")
    return Check("record", True, words)


def check_files(certificate: PeopleCertificate, folder: Path) -> Iterator[Check]:
    """Compares every published file with the certificate, and names those that it does not."""
    for name, stated in certificate.outputs.items():
        path = folder / name
        if not is_inside(name):
            yield Check(f"file {name}", False, "not the name of a file in this folder")
        elif not path.is_file():
            yield Check(f"file {name}", False, "missing")
        else:
            same = sha256_of(path) == stated
            yield Check(f"file {name}", same, "as certified" if same else "not the file that was certified")
    # The files of a release of records are named by its own certificate.
    inside = [PurePosixPath(name).parent for name in certificate.outputs if name.startswith(f"{RECORDS}/")]
    inside += [one / BINS for one in inside]
    found = (
        PurePosixPath(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if path.is_file()
    )
    known = {*certificate.outputs, CERTIFICATE, WARNING}
    others = sorted(str(one) for one in found if str(one) not in known and one.parent not in inside)
    if others:
        yield Check("other files", False, f"in the folder, and not certified: {others[0]}")


def _certificates(folder: Path) -> dict[str, Certificate]:
    """The certificates of the parts, by their digest."""
    paths = [*folder.glob(f"{RECORDS}/*/{CERTIFICATE}"), *folder.glob(f"{CHOICES}/*.json")]
    found = [Certificate.load(path) for path in sorted(paths)]
    return {digest_of(one): one for one in found}


def _check_parts(certificate: PeopleCertificate, held: dict[str, Certificate]) -> Check:
    """Whether each part with a certificate is one of those in the folder, as that says."""

    def is_held(part: Spent) -> bool:
        if not part.certificate:
            return True
        return part.certificate in held and is_part(part, held[part.certificate])

    if not all(map(is_held, certificate.parts)):
        return Check("parts", False, "one is not as its certificate in the folder says")
    if not {part.certificate for part in certificate.parts}.issuperset(held):
        return Check("parts", False, "a certificate in the folder is that of no part")
    return Check("parts", True, f"{len(certificate.parts)}, as their certificates say")
