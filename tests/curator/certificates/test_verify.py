"""A certificate that all parties signed, and every false statement and defect that a reader detects.

Parties sign the digest of a certificate that they do not see. A curator that deceives them therefore gets
valid signatures on anything: here every altered certificate is signed again by all parties.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pytest

from dpmosaic.common.about import About
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.digests import sha256_of
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.federation.card import CURATOR, DEALER, PARTY, Card, FederationList
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.promises.binding import BindingsInMemory
from dpmosaic.common.promises.statement import Claim, Statement, first_link, next_link, state
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.statements import Signatures
from dpmosaic.curator.certificates.verify import sign_terms, verify_certificate
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.parts.ending import ended
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.curator.parties.dealer import CuratorDealer
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.releasing.agreement import agree
from dpmosaic.curator.releasing.journalled import signatures_of
from dpmosaic.curator.releasing.release import ReleaseOrder, make_release
from dpmosaic.simulations.contracts.trial import Trial
from support.certificates import signed_by
from support.verifiers import failed_checks

pytestmark = pytest.mark.slow

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 2})
TABLE = Table.from_codes(DOMAIN, np.column_stack([np.arange(3000) % n for n in DOMAIN.sizes]))
SIGNER, STRANGER = Identity.from_seed(b"c" * 32), Identity.from_seed(b"s" * 32)
NAMES = ("party-1-1", "party-1-2", "party-2-1", "party-2-2")
TLS = self_signed("a", new_tls_key(), datetime.now(UTC))
TRIAL = Trial(1, protocol="masked", grid="2x2")
DEALERS = ("dealer-1", "dealer-2", "dealer-3")
IDENTITIES = {name: Identity.from_seed(TRIAL.keys.child_key("identity", name)) for name in (*NAMES, *DEALERS)}


@dataclass(frozen=True)
class Grouping(Independent):
    """Measures the interaction of a pair with two values of one attribute as a group, and nothing else."""

    def run(self, measurer, workload, stream, report):
        """See `Mechanism.run`."""
        query = Query(View(("a", "b"), groups=((0, 1, 1), ()), interaction=True), measurer.granted, "one-way")
        found = measurer.measure([query])
        model = estimate(measurer.domain, [], total=measurer.record_count)
        return ended(measurer, self.steps(measurer, workload), model, found, averages={})


def certified(dealers, mechanism):
    """The certificate of a release over four parties and so many dealers; without any, the curator deals."""
    order = ReleaseOrder(
        DOMAIN,
        ReleaseSpec(
            Budget(epsilon=1.0, delta=1e-9),
            about=About("waiting times", "data-office@example.org", "2026-05-01"),
        ),
        mechanism,
        Workload.parse(DOMAIN, "2way"),
    )
    trial = replace(TRIAL, granted=order.granted, dealers=dealers)
    links = trial.parties(TABLE)
    dealing = (
        trial.dealing(links)
        if dealers
        else [CuratorDealer(SIGNER, RandomStream.from_seed(3), BindingsInMemory())]
    )
    agreement = agree(
        DOMAIN,
        links,
        order.proposal("ab" * 16),
        dealers=dealing,
        sealing=lambda terms: (terms, sign_terms(SIGNER, terms)),
    )
    layout = agreement.terms.plan
    made = make_release(order, layout, agreement.measurer(), RandomStream.from_seed(4)).certificate
    claim = Claim("ab" * 16, made.digest(), made.promise.zcdp_rho_spent)
    return made.with_signatures(signatures_of(claim, agreement, Asking()))


@pytest.fixture(scope="module")
def signed():
    """A certificate of a release that scored and measured; the curator dealt."""
    return certified(0, mechanism_named("mosaic"))


@pytest.fixture(scope="module")
def dealt():
    """A certificate that three dealers signed too."""
    return certified(3, mechanism_named("independent"))


@pytest.fixture(scope="module")
def grouped():
    """A certificate of a release that measured groups of codes."""
    return certified(0, Grouping())


def federation(curator=SIGNER, **others):
    def card(name, role, identity):
        return Card.issue(role, name, identity, TLS, Domain.coded({"a": 3}) if role == PARTY else None)

    parties, dealers = (
        tuple(card(name, role, others.get(name, IDENTITIES[name])) for name in names)
        for names, role in ((NAMES, PARTY), (DEALERS, DEALER))
    )
    return FederationList(card("c", CURATOR, curator), parties, dealers)


def failed(certificate, listed=None, folder=None):
    return failed_checks(certificate, listed or federation(), folder)


def changed(certificate, path, value):
    """The certificate with one value changed; a value that is a function is given the old one."""
    form = certificate.to_json()
    place = form
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value(place[path[-1]]) if callable(value) else value
    return Certificate.from_json(form)


def signed_again(certificate):
    return signed_by(IDENTITIES, certificate)


def test_verifies_a_certificate_that_all_parties_signed(signed):
    lines = list(verify_certificate(signed, federation()))
    assert all(line.passed for line in lines), [line for line in lines if not line.passed]
    assert [line.what for line in lines] == [
        "label", "curator c", "parties", *(f"party {name}" for name in NAMES), "dealers", "dealer curator",
        "promise", "record", "table", "purpose", "trust", "charges", "budget", "recomputed", "not verified",
    ]  # fmt: skip
    kinds = {charge.kind for charge in signed.charges}
    assert kinds == {"interaction", "scores"}
    (curator,) = [line for line in lines if line.what == "dealer curator"]
    assert "dealt by the curator: for trials" in curator.finding


def test_verifies_a_certificate_that_three_dealers_signed_and_says_who_would_have_to_collude(dealt):
    lines = {line.what: line for line in verify_certificate(dealt, federation())}
    assert all(line.passed for line in lines.values())
    assert {f"dealer {name}" for name in DEALERS} <= set(lines)
    assert "dealer curator" not in lines
    assert "Two of dealer-1, dealer-2 and dealer-3 together with a party of a slice" in lines["trust"].finding


def test_verifies_a_certificate_of_groups_by_the_cost_of_their_shape(grouped):
    lines = list(verify_certificate(grouped, federation()))
    assert all(line.passed for line in lines), [line for line in lines if not line.passed]
    (charge,), (measured,) = grouped.charges, grouped.measurements
    assert (charge.kind, charge.clique, charge.groups) == ("interaction", ("a", "b"), (2, 2))
    assert (measured.clique, measured.groups) == (("a", "b"), (2, 2))
    assert Certificate.from_json(grouped.to_json()) == grouped
    assert grouped.sigmas == {}


@pytest.mark.parametrize("groups", [[], [3, 2], [2], [2, 2, 2], [2, 4], [0, 2]])
def test_detects_groups_that_the_cost_does_not_fit(grouped, groups):
    assert failed(signed_again(changed(grouped, ("charges", 0, "groups"), groups))) == {"charges"}


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("signed", "dealers", 0, "signature"), "00" * 64, {"dealer dealer-1"}),
        (("signed", "dealers", 2, "mark", "events"), 9, {"dealer dealer-3"}),
        (("signed", "dealers"), lambda all: all[1:], {"dealers"}),
        (("signed", "dealers", 1, "name"), "dealer-1", {"dealers", "dealer dealer-1"}),
        (("signed", "dealers", 1, "entries"), "entries of a party", {"dealer dealer-2"}),
    ],
)
def test_detects_a_dealer_that_did_not_sign(dealt, path, value, what):
    if value == "entries of a party":
        value = dealt.to_json()["signed"]["parties"][0]["entries"]
        assert value
    assert failed(changed(dealt, path, value)) == what


def test_detects_a_dealer_that_is_not_the_one_on_the_card(dealt):
    found = failed(dealt, federation(**{"dealer-2": STRANGER}))
    assert found == {"dealers", "dealer dealer-2"}


FALSE_STATEMENTS = [
    (("promise", "epsilon"), 0.01, {"promise", "recomputed"}),
    (("promise", "delta"), 1e-12, {"promise", "recomputed"}),
    (("plan", "spec", "budget", "epsilon"), 0.01, {"promise", "recomputed"}),
    (("promise", "zcdp_rho_granted"), 1e-6, {"promise", "recomputed"}),
    (("promise", "zcdp_rho_spent"), 1e-6, {"recomputed"}),
    (("promise", "zcdp_rho_really_spent"), 1e-6, {"recomputed"}),
    (("promise", "epsilon_by_privacy_loss_distribution"), 0.5, {"recomputed"}),
    (("promise", "observers", 0, "who"), "everybody together", {"recomputed"}),
    (("promise", "observers", 0, "assumes"), "nothing", {"recomputed"}),
    (("promise", "observers", 0, "zcdp_rho"), 1e-6, {"recomputed"}),
    (("promise", "observers", 0, "epsilon"), 0.001, {"recomputed"}),
    (("promise", "observers"), [], {"recomputed"}),
    (("plan", "record_counts"), [10**9, 10**9], {"table"}),
    (("plan", "names", 0, 0), "party-9-9", {"table"}),
    (("plan", "parties", 0), lambda held: held[::-1], {"table"}),
    (("plan", "attributes", "a"), 4, {"table"}),
    (("plan", "domain_digest"), "0" * 64, {"purpose"}),
    (("plan", "mechanism", "name"), "aim", {"purpose"}),
    (("plan", "workload", 0, "weight"), 2.0, {"purpose"}),
    (("plan", "spec", "about", "purpose"), "marketing", {"purpose"}),
    (("plan", "spec", "about", "contact"), "somebody@example.org", {"purpose"}),
    (("plan", "spec", "about", "asked"), "2026-05-02", {"purpose"}),
    (("plan", "spec", "rows"), 7, {"purpose"}),
    (("plan", "spec", "protocol"), "trusted", {"trust"}),
    (("plan", "spec", "adjacency"), "replace-one", {"trust", "recomputed"}),
    (("plan", "spec", "rows_per_person"), 2, {"record", "recomputed"}),
    (("plan", "privacy_unit"), "Everybody is protected, whatever their rows.", {"record"}),
    (("plan", "spec", "collusions"), 3, {"trust"}),
    (("plan", "dealers"), ["dealer-1"], {"trust"}),
    (("plan", "evaluators"), ["party-1-2", "party-2-1"], {"trust"}),
    (("plan", "collusion"), "Everybody together could read nothing.", {"trust"}),
    (("plan", "spec", "check"), "one-hot", {"trust"}),
    (("plan", "spec", "sample"), 5, {"trust"}),
    (("charges", 0, "zcdp_rho"), 1e-9, {"charges"}),
    (("charges", 0, "noise_sigmas_by_slice", 0, 0), 1e9, {"charges"}),
    (("charges", 0, "noise_sigmas_by_slice", 0, 0), 1e-200, {"charges"}),
    (("charges"), lambda all: all[:-1], {"charges"}),
    (("charges", 0, "kind"), "scores", {"charges"}),
    (("charges", 0, "step"), "another", {"recomputed"}),
    (("labels",), ["NOT PRIVATE"], {"label"}),
    (("differentially_private",), False, {"label"}),
    (("plan", "unreviewed"), ["a"], {"label", "purpose"}),
    (("plan", "records_sigma"), 2.0, {"table"}),
    (("plan", "unseen"), [{"name": "a", "usual": 0, "moved": 1.0, "below": 0.0, "above": 0.0}], {"table"}),
]


@pytest.mark.parametrize(
    ("path", "value", "what"), FALSE_STATEMENTS, ids=[str(path) for path, _, _ in FALSE_STATEMENTS]
)
def test_detects_a_false_statement_that_all_parties_signed(signed, path, value, what):
    path = (path,) if isinstance(path, str) else path
    assert failed(signed_again(changed(signed, path, value))) == what


def test_a_statement_that_is_altered_after_it_was_signed_fails_at_every_party(signed):
    assert {f"party {name}" for name in NAMES} <= failed(changed(signed, ("model", "size_mb"), 9.0))


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("signed", "curator_signature"), "00" * 64, {"curator c"}),
        (("signed", "parties", 0, "signature"), "00" * 64, {"party party-1-1"}),
        (("signed", "parties", 0, "mark", "events"), 1, {"party party-1-1"}),
        (("signed", "parties", 1, "entries", 0, "zcdp_rho"), "1/8", {"party party-1-2", "charges"}),
        (("signed", "parties", 1, "entries"), [], {"party party-1-2", "charges"}),
        (("signed", "parties"), lambda all: all[1:], {"parties", "charges"}),
    ],
)
def test_detects_each_altered_signature(signed, path, value, what):
    assert failed(changed(signed, path, value)) == what


def test_a_party_that_charged_more_than_the_others_is_detected(signed):
    """As after a query that only one party of a slice was asked."""
    party = signed.signed.parties[3]
    link = first_link(signed.signed.terms)
    entries = []
    for entry in party.entries:
        dearer = replace(entry, zcdp_rho=entry.zcdp_rho * 2)
        link = next_link(link, dearer)
        entries.append(replace(dearer, signature=IDENTITIES[party.name].sign("ledger entry", link)))
    claim = Claim("ab" * 16, signed.digest(), 1.0)
    said = state(IDENTITIES[party.name], entries, link, claim, party.mark)
    statements = {p.name: Statement(p.entries, p.signature, p.mark) for p in signed.signed.parties}
    statements[party.name] = said
    again = Signatures.of(signed.signed.terms, signed.signed.curator_signature, statements, {})
    assert "charges" in failed(signed.with_signatures(again))


def test_detects_identities_that_differ_from_the_cards(signed):
    assert failed(signed, federation(**{"party-1-1": STRANGER})) == {"parties", "party party-1-1"}
    assert failed(signed, federation(STRANGER)) == {"curator c", "dealers"}


def test_other_terms_invalidate_every_signature(signed):
    other = signed.signed.terms.replace(b"ab" * 16, b"ba" * 16)
    assert other != signed.signed.terms
    found = failed(changed(signed, ("signed", "terms"), other.hex()))
    assert {"curator c", *(f"party {name}" for name in NAMES)} <= found


def test_published_files_are_compared_with_the_certificate(signed, tmp_path):
    (tmp_path / "synthetic.csv").write_text("a,b,c\n0,0,0\n")
    outputs = {"synthetic.csv": sha256_of(tmp_path / "synthetic.csv"), "model.npz": "0" * 64}
    certificate = signed_again(signed.with_outputs(outputs))
    assert failed(certificate, folder=tmp_path) == set()
    (tmp_path / "synthetic.csv").write_text("a,b,c\n0,0,1\n")
    (tmp_path / "model.npz").write_bytes(b"another model")
    assert failed(certificate, folder=tmp_path) == {"file synthetic.csv", "file model.npz"}
    odd = signed_again(signed.with_outputs({"../x": "0" * 64}))
    assert failed(odd, folder=tmp_path) == {"file ../x", "other files"}


def test_detects_a_certificate_that_is_not_of_daemons(signed):
    assert failed(changed(signed, ("signed", "terms"), "00")) == {"form"}
    assert failed(replace(signed, signed=None)) == {"form"}
