import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CodedAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError
from dpmosaic.common.measurement import Measurement
from dpmosaic.common.privacy.budget import Accountant, Budget, Charge
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.common.privacy.cost import Adjacency, exponential_cost, gaussian_cost, grid_of, score_cost
from dpmosaic.common.protocols.partition import Partition
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.certificates import issuing as module
from dpmosaic.curator.certificates import privacy_loss
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.issuing import issue, unreviewed_label
from dpmosaic.curator.measurers.measurer import Observer
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.parts.fitted import FittedModel
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.releasing.release import ReleaseOrder, stated_plan

DOMAIN = Domain.coded({"a": 2, "b": 3})
SIGMA = 5.0
CURATOR = Observer("the curator", "it colludes with no party", math.sqrt(1.5))
COLLUDERS = Observer("any one party", "nothing", 1.0)


def gaussian(sigma=SIGMA):
    return Charge("measure", ("a",), gaussian_cost(sigma, Adjacency.ZERO_OUT), ((sigma,),))


UNREVIEWED = Domain((CodedAttribute("a", 2, reviewed=False), CodedAttribute("b", 3)))


def promise(*charges, **options):
    return issued(*charges, **options)["promise"]


def issued(*charges, budget=None, more=(), domain=DOMAIN, **options):
    accountant = Accountant(Fraction(1)).charge(*charges)
    order = ReleaseOrder(
        domain,
        ReleaseSpec(budget or Budget(1.0, 1e-6), protocol="trusted"),
        Independent(),
        Workload.parse(DOMAIN, "1way"),
    )
    measurement = Measurement(View(("a",)), np.array([4.0, 6.0]), SIGMA, 0.02, True)
    fitted = FittedModel(estimate(DOMAIN, [measurement], total=10), (measurement, *more), (), ())
    plan = stated_plan(order, Partition.of_slices(domain, [(10, (("a",), ("b",)))]))
    certificate = issue(plan, accountant, fitted, **options)
    form = json.loads(json.dumps(certificate.to_json()))
    assert Certificate.from_json(form) == certificate
    return form


@pytest.fixture
def factors(monkeypatch):
    """Noise factors for which a privacy loss distribution was computed."""
    computed = []
    original = privacy_loss.checked_epsilon

    def watched(accountant, delta, unit, noise_factor):
        computed.append(noise_factor)
        return original(accountant, delta, unit, noise_factor)

    monkeypatch.setattr(privacy_loss, "checked_epsilon", watched)
    return computed


def test_a_domain_that_nobody_has_reviewed_labels_the_release():
    form = issued(gaussian(), domain=UNREVIEWED)
    assert form["plan"]["unreviewed"] == ["a"]
    assert not form["differentially_private"]
    (label,) = form["labels"]
    assert label.startswith("NOT DIFFERENTIALLY PRIVATE as stated: bounds or categories of a were read from")
    reviewed = issued(gaussian())
    assert "unreviewed" not in reviewed["plan"]
    assert reviewed["differentially_private"]


def test_a_label_names_some_unreviewed_attributes_and_counts_the_others():
    label = unreviewed_label([f"x{number}" for number in range(8)])
    assert "x0, x1, x2, x3, x4 and 3 more were read from private rows" in label


def test_states_the_promise_against_each_observer():
    found = promise(gaussian(), gaussian(), observers=(CURATOR, COLLUDERS))
    outer, inner = found["observers"]
    assert (outer["who"], outer["assumes"]) == ("the curator", "it colludes with no party")
    assert (inner["who"], inner["assumes"]) == ("any one party", "nothing")
    assert inner["zcdp_rho"] == found["zcdp_rho_spent"]
    assert inner["epsilon"] == found["epsilon_by_privacy_loss_distribution"]
    assert outer["zcdp_rho"] == pytest.approx(found["zcdp_rho_spent"] / 1.5)
    assert outer["epsilon"] < 0.9 * inner["epsilon"]


@pytest.mark.parametrize("sigma", [2.0**-10, 1.0, 300.0])
def test_the_cost_against_an_observer_bounds_the_cost_of_the_noise_it_sees(sigma):
    accountant = Accountant(Fraction(10**7)).charge(gaussian(sigma))
    for square in (1, 2, 100):
        seen = module._rho_seen(accountant, math.sqrt(square))
        exact = 1 / (2 * (square * sigma**2 - 2.5 / grid_of(sigma) ** 2))
        assert exact * (1 - 1e-14) <= seen <= exact * 1.0001


def test_a_step_without_gaussian_noise_costs_every_observer_the_same():
    selected = Charge("select", (), exponential_cost(0.1))
    found = promise(gaussian(), selected, observers=(CURATOR,))["observers"][0]
    assert found["zcdp_rho"] == pytest.approx(float(gaussian().zcdp_rho) / 1.5 + 0.1**2 / 8)
    assert found["epsilon"] is None


def test_computes_one_privacy_loss_distribution_per_noise_factor(factors):
    promise(gaussian(), observers=(CURATOR, COLLUDERS, CURATOR, COLLUDERS))
    assert sorted(factors) == [1.0, CURATOR.noise_factor]


def test_without_a_delta_observers_have_only_rho(factors):
    found = promise(gaussian(), budget=Budget(zcdp_rho=1.0), observers=(CURATOR,))
    assert found["observers"][0]["epsilon"] is None
    assert found["observers"][0]["zcdp_rho"] > 0
    assert "epsilon_by_privacy_loss_distribution" not in found
    assert factors == []


def test_lists_no_observers_if_all_see_the_same_noise():
    assert "observers" not in promise(gaussian())


def test_charges_and_measurements_mark_interactions():
    cost = gaussian_cost(SIGMA, Adjacency.ZERO_OUT, (2, 3))
    pair = Charge("pairs", ("a", "b"), cost, ((SIGMA,),), interaction=(2, 3))
    values = np.array([1.0, 0.0, -1.0, -1.0, 0.0, 1.0])
    measured = Measurement(View(("a", "b"), interaction=True), values, SIGMA, float(cost))
    form = issued(gaussian(), pair, more=(measured,))
    assert [(c["step"], c["kind"]) for c in form["charges"]] == [
        ("measure", "marginal"),
        ("pairs", "interaction"),
    ]
    assert form["charges"][1]["zcdp_rho"] == float(cost)
    stated = [(m["clique"], m["interaction"]) for m in form["measurements"]]
    assert stated == [(["a"], False), (["a", "b"], True)]
    spent = 1 / 25 + (1 / 3) / 25
    assert form["promise"]["epsilon_by_privacy_loss_distribution"] == pytest.approx(
        gaussian_epsilon(math.sqrt(spent), 1e-6), rel=1e-3
    )


def test_scores_are_marked_so_that_a_reader_can_tell_how_far_a_record_moves_them():
    """Under replace-one a record moves a score by 2, so that its noise hides less than that of a marginal."""
    cost = score_cost(SIGMA, Adjacency.ZERO_OUT, 2)
    scores = Charge("select", (), cost, ((SIGMA, SIGMA),), scores=True)
    form = issued(gaussian(), scores, Charge("choose", (), exponential_cost(0.1)))
    assert [c["kind"] for c in form["charges"]] == ["marginal", "scores", "other"]


def test_refuses_a_charge_of_an_unknown_kind():
    form = issued(gaussian())
    form["charges"][0]["kind"] = "scoring"
    with pytest.raises(
        DataError, match="expected a kind of answer: marginal, interaction, scores, labels, alignment, other"
    ):
        Certificate.from_json(form)


def test_lists_no_observers_of_a_run_that_is_not_private(factors):
    found = promise(gaussian(), not_private="it is a test", observers=(CURATOR,))
    assert "observers" not in found
    assert factors == []


@pytest.mark.parametrize("factor", [0.99, math.nan])
def test_refuses_an_observer_with_less_noise_than_was_charged(factor):
    with pytest.raises(ValueError, match="less noise than was charged"):
        Observer("a party", "nothing", factor)
