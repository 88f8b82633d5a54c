import itertools
import json

import numpy as np
import pytest

import dpmosaic
from dpmosaic.common.errors import BudgetError, DataError, ModelError
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.registry import BUILT_IN, THEOREM
from dpmosaic.curator.certificates.statements import Unstated
from dpmosaic.party.party import Party
from dpmosaic.simulations.simulate import simulate

pytestmark = pytest.mark.slow

DOMAIN = dpmosaic.Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})
BUDGET = dpmosaic.Budget(1.0, 1e-9)
CHEAP = dpmosaic.Budget(zcdp_rho=0.02)
"""Without a delta there is no privacy loss distribution to compute, which takes most of a run's time."""


def table(records=600, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, records)
    columns = [first, first % 2, rng.integers(0, 4, records), rng.integers(0, 2, records)]
    return dpmosaic.Table.from_codes(DOMAIN, np.column_stack(columns))


@pytest.mark.parametrize("protocol", BUILT_IN)
@pytest.mark.parametrize("mechanism", ["randdpgen", "independent", dpmosaic.RandDPGen.of_the_paper()])
def test_every_protocol_runs_every_mechanism_within_its_grant(protocol, mechanism):
    result = simulate(table(), epsilon=BUDGET, grid="2x2", protocol=protocol, mechanism=mechanism, seed=3)
    promise = result.certificate.promise
    assert promise.zcdp_rho_spent <= promise.zcdp_rho_granted
    assert result.rows.record_count == 600
    assert result.rows.domain == DOMAIN
    assert result.certificate.plan.spec.protocol == protocol


def test_noise_on_every_record_exceeds_noise_on_their_sum():
    options = {"epsilon": BUDGET, "protocol": "indicator", "mechanism": "independent"}
    letter, sum_first = (simulate(table(), **options, record_wise=option) for option in (True, False))
    sigmas = [result.certificate.measurements[0].sigma for result in (letter, sum_first)]
    assert sigmas[0] == pytest.approx(600**0.5 * sigmas[1], rel=0.01)


@pytest.mark.parametrize("protocol", ["masked", "indicator"])
@pytest.mark.parametrize("grid", ["1x1", "3x1", "1x4", "3x2"])
def test_any_grid_gives_the_exact_table_at_a_huge_budget(grid, protocol):
    real = table()
    result = simulate(real, epsilon=dpmosaic.Budget(zcdp_rho=1e9), grid=grid, protocol=protocol, seed=1)
    for clique in (("a", "b"), ("a", "c"), ("c", "d")):
        assert np.allclose(result.fitted.model.marginal(clique), real.marginal(clique), atol=4)
    assert result.metrics["kway"][1]["total_variation"] < 0.02


def first_sigma(**options):
    options = {"epsilon": CHEAP, "mechanism": "independent", **options}
    return simulate(table(), **options).certificate.measurements[0].sigma


def test_the_default_protocol_is_masked():
    assert (
        simulate(table(), epsilon=CHEAP, mechanism="independent").certificate.plan.spec.protocol == "masked"
    )


@pytest.mark.parametrize("grid", ["1x1", "4x1", "1x4", "2x2"])
def test_masked_shares_without_collusions_have_the_noise_of_a_trusted_place(grid):
    assert first_sigma(grid=grid, collusions=0) == pytest.approx(first_sigma(protocol="trusted"), rel=1e-9)


@pytest.mark.parametrize(
    ("grid", "collusions", "factor"),
    [("1x1", None, 1), ("2x1", None, 2), ("2x2", None, 4 / 3), ("2x2", 1, 4 / 3), ("2x2", 3, 4)],
)
def test_tolerated_collusions_add_the_noise_of_colluding_parties(grid, collusions, factor):
    sigma = first_sigma(grid=grid, collusions=collusions)
    assert sigma == pytest.approx(factor**0.5 * first_sigma(protocol="trusted"), rel=1e-9)


def test_the_certificate_states_observers_of_masked_shares():
    promise = simulate(table(), epsilon=BUDGET, grid="2x2", collusions=2).certificate.promise
    public, curator, parties = promise.observers
    assert (public.who, curator.who) == ("the public", "the curator")
    assert "2 of the 4 parties" in parties.who
    assert "does not collude" in curator.assumes
    assert public.zcdp_rho == pytest.approx(parties.zcdp_rho / 2)
    assert public.epsilon < parties.epsilon <= 1.0005
    assert len(simulate(table(), epsilon=CHEAP, collusions=0).certificate.promise.observers) == 2


def test_metrics_include_traffic_and_openings_grow_with_the_records():
    few, many = (
        simulate(table(records), epsilon=CHEAP, grid="2x2", seed=1).metrics["traffic_bytes"]
        for records in (600, 1200)
    )
    for number, place in itertools.product(range(2), repeat=2):
        for direction in ("in", "out"):
            # 300 records more in each slice, and no attribute has fewer than two cells of four bytes.
            grown = many[number][place][direction] - few[number][place][direction]
            assert grown >= 300 * 2 * 4
    assert [[set(party) for party in row] for row in few] == [[{"in", "out"}] * 2] * 2


def test_the_size_of_noisy_histograms_does_not_depend_on_the_records():
    options = {"epsilon": CHEAP, "grid": "2x2", "mechanism": "independent", "seed": 1}
    few, many = (simulate(table(n), **options).metrics["traffic_bytes"] for n in (600, 1200))
    assert all(
        abs(few[i][j][way] - many[i][j][way]) < 50 for i in (0, 1) for j in (0, 1) for way in few[i][j]
    )


def test_a_protocol_without_parties_has_no_traffic():
    assert simulate(table(), epsilon=CHEAP, grid="2x2", protocol=THEOREM).metrics["traffic_bytes"] == []


@pytest.mark.parametrize("options", [{}, {"grid": "2x2"}, {"protocol": "trusted"}])
def test_one_seed_gives_one_table_labelled_as_not_a_release(options):
    one, again, other = (simulate(table(), epsilon=CHEAP, **options, seed=seed) for seed in (1, 1, 2))
    assert one.rows.digest() == again.rows.digest() != other.rows.digest()
    assert not one.certificate.differentially_private
    assert "known seed" in one.certificate.labels[0]


def test_without_a_seed_the_noise_is_fresh_and_the_certificate_unlabelled():
    one, other = (simulate(table(), epsilon=BUDGET) for _ in range(2))
    assert one.rows.digest() != other.rows.digest()
    assert one.certificate.differentially_private
    assert one.certificate.labels == ()
    assert one.certificate.promise.epsilon_by_privacy_loss_distribution <= 1.0005


@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle"])
def test_labels_every_output_of_paper_protocols(protocol):
    result = simulate(table(), epsilon=BUDGET, grid="2x2", protocol=protocol)
    for labels in (result.certificate.labels, result.metrics["labels"]):
        assert labels[0].startswith("NOT DIFFERENTIALLY PRIVATE")
    assert not result.certificate.differentially_private
    assert result.certificate.promise.epsilon_by_privacy_loss_distribution is Unstated.UNSTATED


def test_averaging_copies_states_its_real_cost():
    promise = simulate(table(), epsilon=BUDGET, grid="2x2", protocol="indicator-mle").certificate.promise
    assert promise.zcdp_rho_really_spent == pytest.approx(4 * promise.zcdp_rho_spent)
    assert promise.epsilon_really_spent > 1.9


@pytest.mark.parametrize("protocol", ["masked", "indicator"])
def test_the_certificate_accounts_for_every_step(protocol):
    certificate = simulate(table(), epsilon=BUDGET, grid="2x2", protocol=protocol).certificate
    charges = certificate.charges
    assert sum(certificate.steps.values()) == pytest.approx(certificate.promise.zcdp_rho_spent)
    assert sum(charge.zcdp_rho for charge in charges) == pytest.approx(sum(certificate.steps.values()))
    measured = [charge.clique for charge in charges if charge.clique]
    assert sorted(measured) == sorted(m.clique for m in certificate.measurements)
    scored = [charge.step for charge in charges if not charge.clique]
    assert scored == ["scores"] * {"masked": 5, "indicator": 0}[protocol]
    assert all(len(charge.noise_sigmas_by_slice) == 2 for charge in charges)
    assert certificate.plan.parties == ((("a", "b"), ("c", "d")),) * 2


@pytest.mark.parametrize("protocol", BUILT_IN)
def test_a_certificate_survives_writing_and_reading(protocol):
    certificate = simulate(table(), epsilon=BUDGET, grid="2x2", protocol=protocol, seed=1).certificate
    form = json.loads(json.dumps(certificate.to_json()))
    read = dpmosaic.Certificate.from_json(form)
    assert read == certificate
    assert read.digest() == certificate.digest()
    assert read.plan.attributes == {"a": 3, "b": 2, "c": 4, "d": 2}
    assert read.plan.domain_digest == DOMAIN.digest()
    assert sum(read.steps.values()) == pytest.approx(read.promise.zcdp_rho_spent)


@pytest.mark.parametrize(
    ("options", "selected_by"),
    [
        ({"protocol": "trusted"}, "exact L1 distances with noise"),
        ({"grid": "2x2"}, "exact L1 distances with noise"),
        ({"grid": "2x2", "collusions": 2}, "noisy interactions of pairs"),
        (
            {"mechanism": dpmosaic.RandDPGen(selection="marginals")},
            "L1 distances estimated from noisy marginals",
        ),
        ({"protocol": "indicator", "grid": "2x2"}, "noisy interactions of pairs"),
        ({"protocol": "theorem", "grid": "2x2"}, "noisy interactions of pairs"),
        ({"mechanism": "independent"}, ""),
    ],
)
def test_the_certificate_states_how_marginals_were_selected(options, selected_by):
    result = simulate(table(), epsilon=CHEAP, seed=1, **options)
    assert result.certificate.selected_by == result.fitted.selection == selected_by


def test_error_bounds_hold_for_rows_and_not_only_for_the_model():
    """Next to no noise, and twenty rows: what is wrong is that rows are few."""
    budget = dpmosaic.Budget(zcdp_rho=1e4)
    made = simulate(table(), epsilon=budget, protocol="trusted", mechanism="privbayes", rows=20, seed=1)
    bounds = {bound.clique: bound.l1 for bound in made.certificate.error_bounds}
    assert set(bounds) == set(itertools.combinations("abcd", 2))
    for pair, bound in bounds.items():
        error = np.abs(30 * made.rows.marginal(pair) - table().marginal(pair)).sum()
        assert 30 < error <= bound <= 2 * error, pair


def test_replace_one_adds_more_noise_for_the_same_promise():
    options = {"epsilon": BUDGET, "mechanism": "independent"}
    neighbours = (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE)
    runs = [simulate(table(), **options, adjacency=adjacency).certificate for adjacency in neighbours]
    sigmas = [certificate.measurements[0].sigma for certificate in runs]
    assert sigmas[1] == pytest.approx(sigmas[0] * 2**0.5, rel=1e-3)


ALIGNED = {"overlap": 0.8, "shuffle": True, "typos": 0.02}


@pytest.mark.parametrize("population", ["everywhere", "anywhere"])
@pytest.mark.parametrize("grid", ["2x1", "1x2", "2x3"])
def test_aligned_parties_release_their_joined_rows_at_a_huge_budget(grid, population):
    budget = dpmosaic.Budget(zcdp_rho=1e6)
    made = simulate(
        table(), epsilon=budget, grid=grid, **ALIGNED, population=population, alignment_rho=1.0, seed=1
    )
    assert made.metrics["kway"][1]["total_variation"] < 0.02
    assert made.rows.domain.sizes == tuple(size + (population == "anywhere") for size in DOMAIN.sizes)


def test_the_certificate_of_aligned_parties_states_positions_and_not_numbers_of_rows():
    made = simulate(table(), epsilon=CHEAP, grid="2x2", **ALIGNED, mechanism="independent", seed=1)
    assert min(made.certificate.plan.record_counts) > 300
    assert abs(made.rows.record_count - 480) < 200


def test_aligned_parties_protect_a_person_who_is_added_or_removed_by_the_same_noise():
    options = {"grid": "1x2", "mechanism": "independent", **ALIGNED}
    neighbours = (Adjacency.ZERO_OUT, Adjacency.ADD_REMOVE)
    sigmas = {first_sigma(**options, adjacency=adjacency) for adjacency in neighbours}
    assert len(sigmas) == 1


def test_one_seed_gives_one_table_of_aligned_parties():
    options = {"epsilon": CHEAP, "grid": "1x2", "mechanism": "independent", **ALIGNED}
    one, again = (simulate(table(), **options, seed=1).rows for _ in range(2))
    assert one.digest() == again.digest()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"overlap": 1.5}, "overlap: expected a share"),
        ({"typos": -1.0}, "typos: expected a share"),
        ({"typos": 1.0}, "whom all parties of a slice hold"),
        ({"overlap": 0.8, "population": "somewhere"}, "population: expected one of"),
        ({"overlap": 0.8, "alignment_rho": 0.0}, "positive finite rho"),
        ({"overlap": 0.8, "protocol": "indicator"}, "expected 'masked' over aligned rows"),
        ({"identifiers": ["a"]}, "one identifier for each row"),
    ],
)
def test_refuses_to_align_before_anything_is_measured(options, named):
    with pytest.raises(DataError, match=named):
        simulate(table(), epsilon=CHEAP, grid="1x2", **options)


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"grid": "0x2"}, DataError, "at least 1 x 1"),
        ({"grid": "2x9"}, DataError, "grid"),
        ({"grid": "700x1"}, DataError, "grid"),
        ({"grid": "two"}, DataError, "grid"),
        ({"protocol": "magic"}, DataError, "protocol: expected one of"),
        ({"mechanism": "magic"}, DataError, "mechanism: expected one of"),
        ({"workload": "9way"}, DataError, "k from 1 to"),
        ({"workload": dpmosaic.Workload((("a", "z"),), (1.0,))}, DataError, "z"),
        ({"workload": "nowhere.json"}, DataError, "nowhere.json"),
        ({"target": "z"}, DataError, "target: expected an attribute of the domain that has others"),
        ({"target": "a", "workload": "2way"}, DataError, "without a workload, .* got both"),
        ({"record_wise": True}, DataError, "indicator"),
        ({"collusions": 1}, BudgetError, "tolerated collusions: expected 0 to 0 of 1 parties"),
        ({"collusions": 4, "grid": "2x2"}, BudgetError, "tolerated collusions: expected 0 to 3"),
        ({"collusions": -1, "grid": "2x2"}, BudgetError, "tolerated collusions: expected 0 to 3"),
        ({"collusions": 0, "protocol": "trusted"}, DataError, "tolerates none; leave them out"),
        ({"collusions": 0, "protocol": "indicator"}, DataError, "tolerates none; leave them out"),
        ({"check": "two-hot", "grid": "2x2"}, DataError, "check: expected 'one-hot' or none"),
        ({"check": "one-hot", "protocol": "trusted"}, DataError, "opens nothing"),
        ({"rows": 0}, DataError, "rows: expected at least 1"),
        ({"mechanism": dpmosaic.RandDPGen(maxsize=2)}, DataError, "cells"),
        ({"mechanism": dpmosaic.RandDPGen(max_model_mb=1e-6)}, ModelError, "max_model_mb"),
        ({"epsilon": dpmosaic.Budget(zcdp_rho=1e30)}, BudgetError, "lower the budget"),
        ({"epsilon": dpmosaic.Budget(zcdp_rho=1e-30)}, BudgetError, "grant more"),
    ],
)
def test_refuses_invalid_arguments_before_spending_budget(options, error, named, monkeypatch):
    answered = []
    monkeypatch.setattr(Party, "answer", lambda self, query: answered.append(query))
    with pytest.raises(error, match=named):
        simulate(table(), **{"epsilon": BUDGET, **options})
    assert answered == []
