"""Verifies a certificate offline: who signed it, and that its numbers follow from what was signed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.crypto.digests import sha256_of
from ...common.crypto.identity import Identity, verify
from ...common.errors import MosaicError, ProtocolError
from ...common.federation.card import Card, FederationList
from ...common.promises.statement import TERMS, Statement, check_statement
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.trust import DEALT_BY_CURATOR, curator_deals
from ...common.terms import ReleaseTerms
from .certificate import Certificate
from .charges_check import check_charges, cost_of_ledgers, costs_of
from .check import Check
from .dropouts_check import check_dropouts, missing_parties
from .issuing import some_of, unreviewed_label
from .statements import PartyStatement
from .terms_check import check_terms, fault_of_choice

UNVERIFIED: Mapping[str, str] = {
    "error_bounds": "error bounds",
    "rounds": "rounds",
    "selected_by": "how marginals were selected",
    "measurements": "the noise of measurements",
    "model": "the model",
    "created": "its time",
    "versions": "the versions of software",
    "plan.steps": "titles and planned shares of steps",
}
"""What of a certificate does not follow from signed terms, ledgers and files, in words."""


CERTIFICATE = "certificate.json"
"""File of the certificate of a release."""

BINS = "bins"
"""The folder of the release that chooses bins, in that of the release that uses them."""

WARNING = "NOT-FOR-RELEASE.txt"
"""Says why the results of a labelled run, or one file, must not be released, since a table cannot say it."""

_TABLES = tuple(f"synthetic.{kind}" for kind in ("csv", "parquet", "feather", "xlsx", "sav", "dta", "xpt"))

READ = frozenset({*_TABLES, "model.npz", "evidence.npz", "report.html", "storage.json"})
"""Files of a release that commands read or people open; one that no certificate names is foreign."""


def sign_terms(identity: Identity, terms: ReleaseTerms) -> bytes:
    """The curator's signature of a release's terms."""
    return identity.sign(TERMS, encode_terms(terms))


def named_file(folder: Path, name: str) -> Path | None:
    """The path of a published file; None if the name is not that of a file in the folder or its `BINS`."""
    plain = Path(name).name == name or Path(name) == Path(BINS, Path(name).name)
    return folder / name if plain and name not in ("", "..", ".") else None


def foreign(certificate: Certificate, folder: Path) -> list[str]:
    """Names of the files in the folder of a release that its certificate does not name.

    Those that commands read come first. Private results with a warning beside them are left out.
    """
    held = {path.name for path in folder.iterdir() if path.is_file()}
    warned = {name for name in held if f"{name}.{WARNING}" in held}
    warnings = {WARNING, *(f"{name}.{WARNING}" for name in warned)}
    others = held - set(certificate.outputs) - ((warned | warnings) - READ) - {CERTIFICATE}
    return sorted(others, key=lambda name: (name not in READ, name))


def verify_certificate(
    certificate: Certificate, federation: FederationList, folder: Path | None = None
) -> Iterator[Check]:
    """Verifies a certificate against pinned identities; contacts nobody and takes no word of the curator.

    Args:
        certificate: certificate of a release.
        federation: cards whose identities were compared out of band.
        folder: folder of the published files; those that are there are compared with the certificate.
    """
    signed = certificate.signed
    if signed is None:
        yield Check("form", False, "not signed, so not the certificate of a release over daemons")
        return
    try:
        terms = decode_terms(signed.terms)
    except ProtocolError:
        yield Check("form", False, "the signed terms are damaged")
        return
    yield _check_label(certificate, terms)
    curator = federation.curator
    yield _run_check(
        f"curator {curator.name}",
        lambda: verify(curator.identity, TERMS, signed.terms, signed.curator_signature),
        "signed the terms",
    )
    statements = {
        party.name: Statement(party.entries, party.signature, party.mark) for party in signed.parties
    }
    dropped = missing_parties(terms, statements)
    yield _check_parties(terms, statements, federation, dropped)
    for card in federation.parties:
        if card.name in statements:
            yield _check_party(card, statements[card.name], signed.terms, certificate)
    yield from _check_dealers(certificate, terms, federation)
    entries = {name: said.entries for name, said in statements.items()}
    yield from check_dropouts(certificate, terms, entries)
    # A party that dropped out is asked no other queries than the others.
    others = next(iter(entries.values()), ())
    try:
        ledgers = costs_of(terms.plan, entries | dict.fromkeys(dropped, others))
    except ProtocolError as error:
        yield Check("charges", False, str(error))
        return
    yield from check_terms(certificate, terms, cost_of_ledgers(ledgers, terms))
    yield from check_charges(certificate, terms, ledgers)
    yield Check(
        "not verified",
        True,
        f"{', '.join(UNVERIFIED.values())} are the curator's own statements",
    )
    if folder is not None:
        yield from _check_files(certificate, folder)
        if terms.plan.chosen is not None:
            said = "as the plan names it, at the cost that it states; verify it too"
            yield from _check_choice(folder / BINS, lambda chose: fault_of_choice(chose, terms), said)


def check_published(certificate: Certificate, folder: Path) -> Iterator[Check]:
    """Compares the published files of a release that nobody signed with its certificate.

    Args:
        certificate: of the release.
        folder: of its files; those that are there are compared.
    """
    yield from _check_files(certificate, folder)
    if certificate.plan.bins is not None or (folder / BINS / CERTIFICATE).is_file():

        def fault_of(chose: Certificate) -> str:
            return "" if certificate.names(chose) else "not the certificate that the plan names"

        yield from _check_choice(folder / BINS, fault_of, "as the plan names it")


def _check_label(certificate: Certificate, terms: ReleaseTerms) -> Check:
    """Whether the release is private as stated, by what the parties signed of its domain."""
    unreviewed = terms.purpose.unreviewed or certificate.plan.unreviewed
    if unreviewed:
        return Check("label", False, unreviewed_label(unreviewed))
    private = certificate.differentially_private and not certificate.labels
    return Check(
        "label", private, "differentially private" if private else "labelled as not a private release"
    )


def _check_parties(
    terms: ReleaseTerms,
    statements: Mapping[str, Statement],
    federation: FederationList,
    dropped: Collection[str],
) -> Check:
    known = {card.name: card.identity for card in federation.parties}
    named = {entry.name: entry.identity for entry in terms.plan.roster}
    odd = sorted(
        name
        for name in {*statements, *named}
        if (name not in statements and name not in dropped)
        or name not in named
        or known.get(name) != named[name]
    )
    if odd:
        return Check(
            "parties", False, f"not all signed, or identities differ from the cards: {', '.join(odd)}"
        )
    return Check("parties", True, f"all {len(named)} identities match the cards")


def _check_dealers(
    certificate: Certificate, terms: ReleaseTerms, federation: FederationList
) -> Iterator[Check]:
    """Whether all named dealers are pinned and signed; those that are parties signed as parties."""
    masked, signed = terms.masked_plan, certificate.signed
    if masked is None or not masked.dealers or signed is None:
        return
    cards = {card.name: card for card in federation.dealers}
    known = {name: card.identity for name, card in cards.items()}
    known |= {entry.name: entry.identity for entry in masked.roster} | {
        CURATOR_DEALS: federation.curator.identity
    }
    others = [entry.name for entry in masked.participants[len(masked.roster) :]]
    signing = [name for name in others if name != CURATOR_DEALS]
    odd = {dealer.name for dealer in masked.dealers if known.get(dealer.name) != dealer.identity}
    odd |= {
        dealer.name
        for dealer in masked.dealers
        if dealer.identity == federation.curator.identity and dealer.name != CURATOR_DEALS
    }
    odd |= set(signing) ^ {said.name for said in signed.dealers}
    if odd:
        what = f"not all signed, or identities differ from the cards: {', '.join(sorted(odd))}"
        yield Check("dealers", False, what)
    else:
        yield Check(
            "dealers", True, f"{', '.join(dealer.name for dealer in masked.dealers)}, as on the cards"
        )
    if curator_deals(masked):
        yield Check(f"dealer {CURATOR_DEALS}", True, f"{DEALT_BY_CURATOR}; see under trust what it can read")
    for said in signed.dealers:
        if said.name in cards:
            yield _check_dealer(cards[said.name], said, signed.terms, certificate)


def _check_dealer(card: Card, said: PartyStatement, terms: bytes, certificate: Certificate) -> Check:
    what = f"dealer {card.name}"
    if said.entries:
        return Check(what, False, "signed entries of a ledger, and dealers charge nothing")
    statement = Statement((), said.signature, said.mark)
    return _run_check(
        what,
        lambda: check_statement(statement, card.identity, terms, certificate.digest()),
        "signed the certificate",
    )


def _check_party(card: Card, statement: Statement, terms: bytes, certificate: Certificate) -> Check:
    return _run_check(
        f"party {card.name}",
        lambda: check_statement(statement, card.identity, terms, certificate.digest()),
        f"signed {len(statement.entries)} entries and the certificate",
    )


def _check_choice(folder: Path, fault_of: Callable[[Certificate], str], said: str) -> Iterator[Check]:
    """The certificate of the release that chose codes, if this folder has it, and the files that it names.

    Args:
        folder: of that release.
        fault_of: what is wrong with its certificate; empty if nothing is.
        said: what is said of one with which nothing is wrong.
    """
    what = f"{BINS}/{CERTIFICATE}"
    if not (folder / CERTIFICATE).is_file():
        yield Check(what, True, "not in this folder, so not checked")
        return
    try:
        chose = Certificate.load(folder / CERTIFICATE)
    except MosaicError:
        yield Check(what, False, "not a certificate of this version")
        return
    fault = fault_of(chose)
    yield Check(what, not fault, fault or said)
    yield from _check_files(chose, folder)


def _check_files(certificate: Certificate, folder: Path) -> Iterator[Check]:
    """Compares every published file that is there with the certificate, and names those that it does not."""
    for name, stated in certificate.outputs.items():
        path = named_file(folder, name)
        if path is None:
            yield Check(f"file {name}", False, "not the name of a file")
        elif not path.is_file():
            yield Check(f"file {name}", True, "not in this folder, so not checked")
        else:
            same = sha256_of(path) == stated
            yield Check(f"file {name}", same, "as certified" if same else "not the file that was certified")
    others = foreign(certificate, folder)
    if others:
        taken = READ.isdisjoint(others)
        yield Check("other files", taken, f"in the folder, and not certified: {some_of(others)}")


def _run_check(what: str, check: Callable[[], object], finding: str) -> Check:
    try:
        check()
    except MosaicError as error:
        return Check(what, False, str(error))
    return Check(what, True, finding)
