import math
from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.errors import PolicyError
from dpmosaic.common.messages import PROTOCOL_VERSION, ReleaseTerms
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.party.policy import Policy

TERMS = ReleaseTerms("r", PROTOCOL_VERSION, "indicator", Adjacency.ZERO_OUT, 0.1)
POLICY = Policy(
    protocols=frozenset({"indicator"}),
    adjacencies=frozenset({Adjacency.ZERO_OUT}),
    max_release_rho=Fraction(0.1),
    lifetime_rho=Fraction(0.1) * 3,
    min_records=50,
    max_cells=1_000,
)


def test_what_lies_on_every_limit_is_allowed():
    POLICY.check_terms(TERMS, record_count=50, reserved=Fraction(0.1) * 2)
    POLICY.check_cells(1_000)


def test_the_defaults_refuse_every_release():
    with pytest.raises(PolicyError, match="does not allow the protocol 'indicator'"):
        Policy().check_terms(TERMS, 10**9, Fraction(0))


def test_the_defaults_refuse_every_marginal():
    with pytest.raises(PolicyError, match="max_cells"):
        Policy().check_cells(1)


@pytest.mark.parametrize(
    ("default", "reason"),
    [
        ("protocols", "protocol"),
        ("adjacencies", "adjacency"),
        ("max_release_rho", "max_release_rho"),
        ("lifetime_rho", "lifetime_rho"),
    ],
)
def test_each_limit_left_at_its_default_refuses_alone(default, reason):
    policy = replace(POLICY, **{default: getattr(Policy(), default)})
    with pytest.raises(PolicyError, match=reason):
        policy.check_terms(TERMS, 50, Fraction(0))


@pytest.mark.parametrize("version", [0, PROTOCOL_VERSION + 1])
def test_another_protocol_version_is_refused_with_both_versions(version):
    terms = replace(TERMS, protocol_version=version)
    with pytest.raises(PolicyError, match=f"speaks protocol version {PROTOCOL_VERSION}, the .* {version};"):
        POLICY.check_terms(terms, 50, Fraction(0))


def test_another_protocol_is_refused():
    with pytest.raises(PolicyError, match="does not allow the protocol 'trusted'"):
        POLICY.check_terms(replace(TERMS, protocol="trusted"), 50, Fraction(0))


def test_another_adjacency_is_refused():
    with pytest.raises(PolicyError, match="does not allow the adjacency 'replace-one'"):
        POLICY.check_terms(replace(TERMS, adjacency=Adjacency.REPLACE_ONE), 50, Fraction(0))


def test_too_few_records_are_refused_without_saying_how_many():
    with pytest.raises(PolicyError, match="min_records") as refusal:
        POLICY.check_terms(TERMS, 49, Fraction(0))
    assert not any(character.isdigit() for character in str(refusal.value))


def test_a_release_past_its_limit_by_the_last_digit_is_refused():
    terms = replace(TERMS, granted_rho=math.nextafter(0.1, 1))
    with pytest.raises(PolicyError, match="max_release_rho"):
        POLICY.check_terms(terms, 50, Fraction(0))


def test_a_release_past_what_is_left_of_the_lifetime_is_refused():
    with pytest.raises(PolicyError, match="lifetime_rho"):
        POLICY.check_terms(TERMS, 50, Fraction(0.1) * 2 + Fraction(1, 2**200))


def test_a_marginal_of_one_cell_too_many_is_refused():
    with pytest.raises(PolicyError, match="ask for a smaller marginal"):
        POLICY.check_cells(1_001)
