"""Every mechanism of the catalogue keeps the contract of mechanisms: it is tested by being listed."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, Needs
from dpmosaic.curator.mechanisms.dp_gan.settings import GanSettings
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.curator.mechanisms.randdpgen.randdpgen import RandDPGen
from dpmosaic.simulations.contracts.trial import chain_table, measurer_over, run_mechanism
from dpmosaic.testing import MechanismContract

pytestmark = pytest.mark.slow

CASES = {
    **{
        (name, variant): make
        for name, entry in CATALOGUE.items()
        for variant, make in entry.variants.items()
        if variant not in entry.on_paper
    },
    ("randdpgen", "by marginals"): lambda: RandDPGen(selection="marginals"),
}
ON_PAPER = [
    (name, variant)
    for name, entry in CATALOGUE.items()
    for variant in entry.on_paper
    if entry.needs is not Needs.RECORDS
]
OVER_PARTIES = [case for case in CASES if CATALOGUE[case[0]].needs is not Needs.RECORDS]
"""Those that leave records with the parties, and need no promise but zCDP."""

WHOLE = [
    case
    for case in CASES
    if case[0] in ("mosaic", "randdpgen", "aim", "mwem", "ppsyn") and case != ("randdpgen", "paper")
]
"""Those that measure every marginal of a small workload when the budget is huge."""


def marked(case):
    records = CATALOGUE[case[0]].needs is Needs.RECORDS
    return pytest.param(case, id=" ".join(case), marks=[pytest.mark.gan] if records else [])


class TestMechanisms(MechanismContract):
    @pytest.fixture(params=[marked(case) for case in CASES])
    def case(self, request):
        return request.param

    @pytest.fixture
    def mechanism(self, case):
        made = CASES[case]()
        small = {"epochs": 0.5, "sample_rate": 0.05, "hidden": 8, "latent": 4}
        return replace(made, **small) if isinstance(made, GanSettings) else made

    @pytest.fixture
    def needs_scores(self, case):
        return CATALOGUE[case[0]].needs is Needs.SCORES

    @pytest.fixture
    def needs_records(self, case):
        return CATALOGUE[case[0]].needs is Needs.RECORDS

    @pytest.fixture
    def total_is_public(self, case):
        # The paper's PrivBayes pays for the number of records, which all others take as public.
        return case != ("privbayes", "paper")

    @pytest.fixture
    def measures_listed_marginals(self, case):
        # The networks of PrivBayes have tables of more attributes than can be listed beforehand. The default
        # mechanism lists triples, and measures unions of those that are large.
        return case[0] not in ("privbayes", "mosaic")

    def test_it_has_the_name_and_the_variant_of_its_entry(self, case, mechanism):
        assert mechanism.name == case[0]
        assert mechanism.describe()["variant"] == ("paper" if case[1] == "paper" else "default")

    @pytest.mark.parametrize("case", OVER_PARTIES, ids=" ".join)
    def test_a_promise_in_zcdp_is_granted_as_it_is(self, mechanism):
        assert mechanism.granted(Budget(zcdp_rho=0.5)) == Fraction(1, 2)

    @pytest.mark.parametrize("case", OVER_PARTIES, ids=" ".join)
    def test_a_huge_budget_makes_all_that_was_selected_exact(self, mechanism):
        table = chain_table()
        fitted, _ = run_mechanism(mechanism, table, Budget(zcdp_rho=1e8))
        selected = [done.clique for done in fitted.rounds] or [m.clique for m in fitted.measurements]
        assert selected
        for clique in selected:
            assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12), clique

    @pytest.mark.parametrize("case", WHOLE, ids=" ".join)
    def test_a_huge_budget_gives_the_exact_workload(self, mechanism):
        table = chain_table()
        fitted, _ = run_mechanism(mechanism, table, Budget(zcdp_rho=1e8))
        for clique in itertools.combinations(table.domain.names, 2):
            assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12), clique


@pytest.mark.parametrize(("name", "variant"), ON_PAPER)
@pytest.mark.parametrize(
    "parties",
    [
        {},
        {"protocol": "masked", "grid": "2x2"},
        {"protocol": "indicator", "grid": "1x2"},
        {"protocol": "masked", "grid": "2x2", "tolerated": 2},
    ],
    ids=lambda given: str(given),
)
def test_refuses_a_variant_on_paper_where_no_exact_marginals_are_shown(name, variant, parties):
    mechanism = CATALOGUE[name].variants[variant]()
    measurer = measurer_over(chain_table(200), mechanism.granted(Budget(1.0, 1e-9)), **parties)
    workload = Workload.all_kway(measurer.domain, 2)
    with pytest.raises(DataError, match="use the protocol 'theorem'"):
        mechanism.run(measurer, workload, RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()
