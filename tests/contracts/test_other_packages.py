"""A protocol and a source of another package, from their metadata to a release and to a party's rows."""

import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.protocols.registry import find_protocol, protocol_named
from dpmosaic.curator.mechanisms.catalogue import entry_named, mechanism_named
from dpmosaic.party.answerers.catalogue import answerer_of
from dpmosaic.party.policies.policy import Policy
from dpmosaic.party.policies.source import source_of
from dpmosaic.simulations.contracts.trial import Trial, chain_table
from dpmosaic.simulations.simulate import simulate
from support.terms import terms_of

PROTOCOL = """
    from dpmosaic.common.protocols.registry import Protocol, Scores, Users
    from dpmosaic.curator.measurers.catalogue import MEASURERS
    from dpmosaic.party.answerers.indicator import IndicatorAnswerer

    PROTOCOL = Protocol("acme", Users.DAEMONS, Scores.NEVER, "the vendor", "The vendor was trusted.")
    MEASURING = MEASURERS["indicator"]

    class Answerer(IndicatorAnswerer):
        pass
    """
SOURCE = """
    from dataclasses import dataclass

    from dpmosaic.common.data.table import Table

    @dataclass(frozen=True)
    class Rows:
        options: dict
        folder: object

        def columns(self):
            return ("a",)

        def read(self, domain):
            return Table.from_codes(domain, {"a": [int(self.options["first"]), len(self.folder.name)]})

    def rows(options, folder):
        return Rows(options, folder)
    """


@pytest.fixture
def acme(install):
    lines = {"protocols": "PROTOCOL", "measurers": "MEASURING", "answerers": "Answerer"}
    return install("acme", "4.0", PROTOCOL, **{group: f"acme = acme:{name}" for group, name in lines.items()})


@pytest.mark.slow
def test_a_release_by_a_protocol_of_another_package_names_it(acme):
    found = simulate(
        chain_table(200), epsilon=Budget(2.0, 1e-9), grid="2x2", protocol="acme", mechanism="independent"
    )
    assert found.certificate.plan.spec.protocol == "acme"
    assert found.certificate.differentially_private
    assert find_protocol("acme").explanation == "The vendor was trusted."


def test_a_party_takes_part_in_it_only_if_its_policy_says_so(acme):
    assert answerer_of("acme").__module__ == "acme"
    terms = terms_of(protocol="acme", granted=0.1)
    refusals = Policy(protocols=frozenset({"masked"})).refusals(terms, 100, ())
    assert any("'acme'" in str(refusal) for refusal in refusals)
    table = chain_table(50)
    trial = Trial(1, "acme", "1x2")
    assert trial.agreement(table.domain, trial.parties(table)).terms.spec.protocol == "acme"


def test_refuses_a_protocol_that_its_package_calls_otherwise(install):
    install("acme", "4.0", PROTOCOL, protocols="other = acme:PROTOCOL")
    with pytest.raises(DataError, match="'other': its package calls it 'acme'"):
        protocol_named("other")


def test_a_source_of_another_package_gets_its_options_and_the_folder(install, tmp_path):
    install("acme", "4.0", SOURCE, sources="vendor = acme:rows")
    folder = tmp_path / "abc"
    source = source_of({"kind": "vendor", "options": {"first": "7"}}, folder)
    assert source.read(Domain.coded({"a": 9})).column("a").tolist() == [7, 3]


def test_refuses_an_unknown_kind_of_source_with_those_that_are_installed(install, tmp_path):
    install("acme", "4.0", SOURCE, sources="vendor = acme:rows")
    with pytest.raises(DataError, match=r"one that an installed package brings \(vendor\), got 'other'"):
        source_of({"kind": "other"}, tmp_path)


def test_refuses_a_mechanism_that_is_no_entry(install):
    install("acme", "4.0", "ring = 3\n", mechanisms="ring = acme:ring")
    with pytest.raises(DataError, match=r"'ring' of the package acme 4.0: expected Entry, got int"):
        mechanism_named("ring")
    with pytest.raises(DataError, match=r"expected one of mosaic, .*, ring, got 'rang'"):
        entry_named("rang")
