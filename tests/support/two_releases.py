"""A release that chooses codes, and one that uses them, over parties in this process that sign."""

from datetime import UTC, datetime
from fractions import Fraction

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.federation.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.promises.statement import Claim
from dpmosaic.curator.certificates.verify import sign_terms
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.curator.releasing.agreement import agree
from dpmosaic.curator.releasing.journalled import signatures_of
from dpmosaic.curator.releasing.release import make_release
from dpmosaic.party.policies.policy import Policy
from support.verifiers import failed_checks

SIGNER = Identity.from_seed(b"c" * 32)
TLS = self_signed("a", new_tls_key(), datetime.now(UTC))
LIMITS = Policy(
    protocols=frozenset({"masked", "trusted"}),
    adjacencies=frozenset(Adjacency),
    max_release_rho=Fraction(1),
    lifetime_rho=Fraction(1),
    max_cells=10**6,
    max_labels_delta=1e-6,
)


def signing(change=lambda terms: terms):
    """Seals terms as the curator changes and signs them."""

    def sealed(proposed):
        terms = change(proposed)
        return terms, sign_terms(SIGNER, terms)

    return sealed


def released(order, links, release_id, domain=None, change=lambda made, terms: made, sealing=None):
    """Makes a release that all parties sign.

    Args:
        order: order of the release.
        links: connections to the parties.
        release_id: its id.
        domain: domain of the parties' tables; that of the order by default.
        change: what the curator makes of the certificate before the parties sign its digest.
        sealing: see `agree`.

    Returns:
        The release as it was made, and its signed certificate.
    """
    agreement = agree(
        domain or order.domain,
        links,
        order.proposal(release_id),
        chosen=order.chosen,
        sealing=sealing or signing(),
    )
    layout = agreement.terms.plan
    made = make_release(order, layout, agreement.measurer(), RandomStream.from_seed(5))
    certificate = change(made.certificate, agreement.terms)
    claim = Claim(release_id, certificate.digest(), certificate.promise.zcdp_rho_spent)
    return made, certificate.with_signatures(signatures_of(claim, agreement, Asking()))


def listed(links, domain):
    """The cards of the curator and of all parties."""
    own = [link.party._institution for row in links for link in row]
    parties = tuple(Card.issue(PARTY, one.name, one.identity, TLS, domain) for one in own)
    return FederationList(Card.issue(CURATOR, "c", SIGNER, TLS, None), parties, ())


def failed(certificate, federation, folder=None):
    """What a reader detects."""
    return failed_checks(certificate, federation, folder)
