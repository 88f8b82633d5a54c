"""What every release over daemons does with its journal: seal its terms, give up, collect signatures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from functools import partial

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.crypto.identity import Identity
from ...common.errors import MosaicError
from ...common.history import START
from ...common.promises.statement import Claim, check_statement
from ...common.protocols.dropouts.plan import DropoutPlan
from ...common.terms import ReleaseTerms
from ..certificates.certificate import Certificate
from ..certificates.statements import Signatures
from ..certificates.verify import sign_terms
from ..parties.asking import Asking
from ..parties.federation import Federation
from ..parties.journal import Journal
from ..parties.marks import Marks
from .abandoning import abandon
from .agreement import Agreement, Sealing, nothing_delivered


def sealing(journal: Journal, signer: Identity) -> Sealing:
    """Notes the first terms that are proposed, and signs them."""

    def seal_terms(proposed: ReleaseTerms) -> tuple[ReleaseTerms, bytes]:
        terms = decode_terms(journal.note_once("terms", encode_terms(proposed)))
        return terms, sign_terms(signer, terms)

    return seal_terms


def giving_up(journal: Journal) -> Callable[[Federation, MosaicError], None]:
    """Abandons a release that a party or dealer refused, unless a query was answered."""

    def give_up(federation: Federation, refusal: MosaicError) -> None:
        if not journal.has_answers():
            noted = journal.note("terms")
            assert noted is not None, "parties are asked to accept noted terms"
            clients = federation.clients_of(decode_terms(noted))
            raise type(refusal)(f"{refusal}. {_abandonment_text(abandon(journal, clients))}") from refusal

    return give_up


def signatures_of(
    claim: Claim,
    agreement: Agreement,
    asking: Asking,
    marks: Marks | None = None,
    gone: Collection[str] = (),
) -> Signatures:
    """The signed statements of the parties and dealers on a release, each checked.

    A curator that deals signs nothing but the terms. Parties that dropped out before, and those that do so
    now where the terms allow it, are left out.

    Args:
        claim: certificate that they are asked to sign.
        agreement: who takes part, and the terms that they accepted.
        asking: how to wait for them.
        marks: marks of their ledgers that were seen before; kept up to date.
        gone: names of the parties that dropped out before.
    """
    marks = Marks() if marks is None else marks
    terms = encode_terms(agreement.terms)
    clients = agreement.federation.clients_of(agreement.terms)
    identities = {entry.name: entry.identity for entry in agreement.terms.plan.participants}
    plan = agreement.terms.plan
    if isinstance(plan, DropoutPlan):
        left = {name: partial(client.certify, claim) for name, client in clients.items() if name not in gone}
        statements = asking.each(left, plan.may_drop_out - len(gone))
    else:
        for client in clients.values():
            client.foresee("Certify", claim)
        statements = {
            name: asking.persist(partial(client.certify, claim), nothing_delivered)
            for name, client in clients.items()
        }
    for name, statement in statements.items():
        check_statement(statement, identities[name], terms, claim.certificate)
        marks.follow(name, identities[name], START, statement.mark)
    parties = {entry.name: statements.pop(entry.name) for entry in plan.roster if entry.name in statements}
    return Signatures.of(terms, agreement.signature, parties, statements)


def end_at_dropped_out(agreement: Agreement, certificate: Certificate) -> None:
    """Ends a certified release at the parties that did not sign, where they can be reached again.

    Their keys are erased, and what they did not spend is no longer reserved.

    Args:
        agreement: who took part.
        certificate: with signatures.
    """
    signing = () if certificate.signed is None else certificate.signed.parties
    missing = {member.name for member in agreement.terms.plan.roster} - {said.name for said in signing}
    for name, client in agreement.federation.clients_of(agreement.terms).items():
        if name in missing:
            with contextlib.suppress(MosaicError):
                client.abandon(agreement.terms.release_id)


def _abandonment_text(failed: Mapping[str, str]) -> str:
    if not failed:
        return "The release is abandoned, and no party keeps a budget for it; start a new one"
    return (
        f"The release is abandoned, but {', '.join(failed)} may keep a budget for it until "
        "`dpmosaic curator abandon` reaches them; start a new one"
    )
