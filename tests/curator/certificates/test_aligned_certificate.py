"""A certificate over aligned parties states the alignment and its cost, and a reader detects false ones."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.federation.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.conversion import zcdp_epsilon
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.privacy.rounding import text_above
from dpmosaic.common.promises.binding import BindingsInMemory
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.verify import sign_terms
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.parties.asking import Asking
from dpmosaic.curator.parties.dealer import CuratorDealer
from dpmosaic.curator.releasing.agreement import agree
from dpmosaic.curator.releasing.journalled import signatures_of
from dpmosaic.curator.releasing.release import ReleaseOrder, make_release
from dpmosaic.curator.report.page import release_report
from support.aligned import ALIGNMENT_ID, SIGMA, AlignedRelease, People
from support.certificates import signed_by
from support.verifiers import failed_checks

pytestmark = pytest.mark.slow

DOMAIN = Domain(
    (CategoricalAttribute("a", ("x", "y")), NumericAttribute("b", 0, 3, 4), CodedAttribute("c", 2))
)
PEOPLE = People(DOMAIN, ["ab c", "abc"], records=60)
SIGNER = Identity.from_seed(b"c" * 32)
TLS = self_signed("a", new_tls_key(), datetime.now(UTC))
RELEASE_ID = "ab" * 16


def made_over(population, adjacency=Adjacency.ADD_REMOVE):
    """A release over aligned parties, and the institutions."""
    domain = DOMAIN.with_absent() if population is Population.ANYWHERE else DOMAIN
    order = ReleaseOrder(
        domain,
        ReleaseSpec(Budget(epsilon=1.0, delta=1e-9), adjacency),
        mechanism_named("mosaic"),
        Workload.parse(domain, "2way"),
    )
    release = AlignedRelease(PEOPLE, population, granted=order.granted, adjacency=adjacency)
    agreement = agree(
        DOMAIN,
        release.links,
        order.proposal(RELEASE_ID),
        sealing=lambda terms: (terms, sign_terms(SIGNER, terms)),
        dealers=[CuratorDealer(SIGNER, RandomStream.from_seed(3), BindingsInMemory())],
        aligned=release.aligned,
    )
    measurer = agreement.measurer()
    made = make_release(order, agreement.terms.plan, measurer, RandomStream.from_seed(4))
    certificate = made.certificate
    claim = Claim(RELEASE_ID, certificate.digest(), certificate.promise.zcdp_rho_spent)
    signed = certificate.with_signatures(signatures_of(claim, agreement, Asking()))
    return replace(made, certificate=signed), release.institutions


@pytest.fixture(scope="module")
def made():
    return made_over(Population.EVERYWHERE)


@pytest.fixture(scope="module")
def signed(made):
    return made[0].certificate


def failed(made, certificate):
    institutions = made[1]
    cards = tuple(
        Card.issue(PARTY, each.name, each.identity, TLS, Domain.coded({"a": 2})) for each in institutions
    )
    curator = Card.issue(CURATOR, "c", SIGNER, TLS, None)
    return failed_checks(certificate, FederationList(curator, cards))


def signed_again(made, certificate):
    return signed_by({each.name: each.identity for each in made[1]}, certificate)


def test_states_the_alignment_and_what_it_cost(signed):
    stated = signed.plan.alignment
    assert (stated.alignment_id, stated.population) == (ALIGNMENT_ID, "everywhere")
    assert stated.people == PEOPLE.people
    assert stated.zcdp_rho == pytest.approx(Fraction(1, 2 * 4**2))
    # Noise of the dummies, and of the matcher with twice its variance.
    assert stated.sigma == pytest.approx(3**0.5 * SIGMA)
    assert signed.plan.record_counts == tuple(PEOPLE.sizes)
    assert signed.records == PEOPLE.people[0][2] + PEOPLE.people[1][0]


def test_states_the_epsilon_of_release_and_alignment_together(signed):
    promise = signed.promise
    together = promise.zcdp_rho_spent + float(signed.plan.alignment.zcdp_rho)
    assert promise.epsilon == 1.0
    assert promise.zcdp_rho_with_alignment == pytest.approx(together)
    assert promise.epsilon_with_alignment == pytest.approx(zcdp_epsilon(together, 1e-9))


def test_survives_its_file(signed):
    assert Certificate.from_json(signed.to_json()) == signed


def test_verifies_if_all_parties_signed_it(made, signed):
    assert failed(made, signed) == set()


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        (("plan", "alignment", "alignment_id"), "f" * 32, {"alignment"}),
        (("plan", "alignment", "population"), "anywhere", {"alignment"}),
        (("plan", "alignment", "people", 0, 2), 10**6, {"alignment"}),
        (("plan", "alignment", "sigma"), 0.5, {"alignment"}),
        (("plan", "alignment", "zcdp_rho"), "1/1000000", {"alignment", "recomputed"}),
        (("plan", "alignment", "match_keys"), 2, {"alignment"}),
        (("plan", "alignment"), None, {"alignment", "recomputed"}),
        (("promise", "zcdp_rho_with_alignment"), 0.001, {"recomputed"}),
        (("promise", "epsilon_with_alignment"), 1.0, {"recomputed"}),
        (("plan", "record_counts"), [7, 7], {"table"}),
        (("plan", "spec", "adjacency"), "zero-out", {"trust"}),
    ],
)
def test_a_false_statement_is_detected_although_all_parties_signed_it(made, signed, path, value, found):
    form = signed.to_json()
    place = form
    for key in path[:-1]:
        place = place[key]
    assert place[path[-1]] != value
    place[path[-1]] = value
    assert failed(made, signed_again(made, Certificate.from_json(form))) >= found


def test_the_report_says_whose_records_they_are_and_what_the_alignment_cost(made, signed):
    page = release_report(signed, made[0].synthetic)
    assert "the people whom every party of their slice knows" in page
    assert f"preserve statistics of about {signed.records} real ones" in page
    assert f"epsilon = {text_above(signed.promise.epsilon_with_alignment)}" in page
    assert "The number of records is not public" in " ".join(page.split())


def test_the_report_says_that_the_promise_is_given_the_links_with_several_match_keys(made, signed):
    several = replace(signed.plan, alignment=replace(signed.plan.alignment, match_keys=2))
    for plan, said in ((signed.plan, False), (several, True)):
        page = release_report(replace(signed, plan=plan), made[0].synthetic)
        assert ("linked records, given the links" in " ".join(page.split())) == said


def test_synthetic_rows_are_as_many_as_the_noisy_number_of_people(made, signed):
    assert made[0].synthetic.record_count == signed.records


def test_over_people_of_any_party_values_may_be_absent():
    made, institutions = made_over(Population.ANYWHERE, Adjacency.ZERO_OUT)
    assert failed((made, institutions), made.certificate) == set()
    assert made.certificate.records == sum(map(sum, PEOPLE.people))
    assert made.synthetic.domain == DOMAIN.with_absent()
    assert "the value “absent”" in release_report(made.certificate, made.synthetic)
