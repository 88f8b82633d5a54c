import copy
import json

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.certificates.facts import Facts
from dpmosaic.simulations.simulate import simulate


def test_a_real_certificate_is_read_as_it_comes_out_of_its_file():
    domain = Domain.coded({"a": 2, "b": 3, "c": 2})
    table = Table.from_codes(domain, np.array([[0, 1, 1], [1, 2, 0], [1, 0, 0], [0, 0, 1]]))
    result = simulate(table, budget=Budget(zcdp_rho=0.5), grid="2x2", mechanism="randdpgen", seed=1)
    facts = Facts.of(json.loads(json.dumps(result.certificate)))
    assert facts.sizes == {"a": 2, "b": 3, "c": 2}
    assert (facts.records, facts.protocol, facts.mechanism) == (4, "masked", "randdpgen")
    assert facts.labels == tuple(result.certificate["labels"])
    assert sum(facts.steps.values()) == pytest.approx(facts.spent_rho)
    assert (facts.epsilon, facts.delta) == (None, None)
    assert facts.domain_digest == domain.digest()
    assert set(facts.pair_bounds) == {("a", "b"), ("a", "c"), ("b", "c")}


def test_pairs_are_modelled_measured_and_held_together_where_the_certificate_says_so(certificate):
    certificate["model"]["cliques"] = [["kind", "age", "code"], ["town"]]
    certificate["plan"]["parties"][1] = [["kind"], ["age", "code", "town"]]
    facts = Facts.of(certificate)
    assert facts.modelled == {("kind", "age"), ("kind", "code"), ("age", "code")}
    assert facts.measured == {("kind", "age"), ("age", "code"), ("code", "town")}
    assert [pair for pair in facts.pairs if facts.together(pair)] == [("code", "town")]


def test_the_smallest_noise_counts_where_a_clique_was_measured_twice(certificate):
    certificate["measurements"].append({"clique": ["age"], "sigma": 3.0})
    certificate["measurements"].append({"clique": ["kind"], "sigma": 90.0})
    facts = Facts.of(certificate)
    assert (facts.sigmas["age",], facts.sigmas["kind",]) == (3.0, 20.0)


def test_a_pair_has_its_own_bound_or_that_of_the_larger_marginal_of_the_fewest_cells(certificate):
    """Of kind x age x town and kind x age x code the second has fewer cells, though its bound is larger."""
    certificate["error_bounds"] = [
        {"clique": ["kind", "age", "town"], "total_variation": 0.1, "confidence": 0.95},
        {"clique": ["kind", "age", "code"], "total_variation": 0.3, "confidence": 0.95},
        {"clique": ["kind", "code"], "total_variation": 0.4, "confidence": 0.95},
    ]
    bounds = Facts.of(certificate).pair_bounds
    assert bounds == {
        ("kind", "age"): 0.3,
        ("kind", "code"): 0.4,
        ("kind", "town"): 0.1,
        ("age", "code"): 0.3,
        ("age", "town"): 0.1,
    }


@pytest.mark.parametrize("other", [None, [], {"format": "dpmosaic certificate 99"}, {"a": 1}])
def test_what_is_no_certificate_is_refused(other):
    with pytest.raises(DataError, match="expected a certificate"):
        Facts.of(other)


@pytest.mark.parametrize(
    ("part", "value"),
    [("plan", None), ("promise", {}), ("error_bounds", [3]), ("steps", []), ("model", {"cliques": 1})],
)
def test_a_damaged_certificate_is_refused(certificate, part, value):
    damaged = copy.deepcopy(certificate)
    damaged[part] = value
    with pytest.raises(DataError, match="damaged"):
        Facts.of(damaged)


def test_a_promise_that_is_no_number_is_refused(certificate):
    certificate["promise"]["epsilon"] = "one"
    with pytest.raises(DataError, match="damaged"):
        Facts.of(certificate)
