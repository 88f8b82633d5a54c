"""Rows that no rule is broken by, from every model, and dependencies that are learned."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.rules.breaking import broken
from dpmosaic.common.data.rules.satisfying import example
from dpmosaic.common.data.table import Table, decode_table, encode_table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError
from dpmosaic.common.measurement import Measurement
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.parts.fitted import FittedModel
from dpmosaic.curator.mechanisms.parts.records import SelectedRecords
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.releasing.likely_map import likely_map, measured_likelihoods, modelled_likelihoods
from dpmosaic.curator.releasing.obedience import obedient, obeying
from dpmosaic.simulations.simulate import simulate
from support import kinds

NAMES = "abcde"
SIZES = {"a": 3, "b": 2, "c": 4}
ATTRIBUTES = {
    **{name: [f"{name}{code}" for code in range(size)] for name, size in SIZES.items()},
    "d": {"type": "numeric", "min": 0, "max": 8, "bins": 4, "integer": True, "nullable": True},
    "e": {"type": "numeric", "min": 0, "max": 6, "bins": 3, "atoms": [0]},
    "f": {"type": "numeric", "min": 0, "max": 14, "bins": 5},
}


def categories(name):
    return st.lists(st.sampled_from(ATTRIBUTES[name]), min_size=1, max_size=2, unique=True)


def conditions():
    return st.one_of(
        st.tuples(categories("a"), categories("b")).map(lambda pair: {"a": pair[0], "b": pair[1]}),
        st.tuples(categories("b"), categories("c")).map(lambda pair: {"b": pair[0], "c": pair[1]}),
        st.tuples(categories("c"), st.sampled_from([{"above": 0}, {"at_least": 4}, {"equal": 0}])).map(
            lambda pair: {"c": pair[0], "e": pair[1]}
        ),
        categories("a").map(lambda found: {"a": found, "d": [None]}),
    )


def maps():
    determined = st.fixed_dictionaries({name: st.sampled_from(ATTRIBUTES["b"]) for name in ATTRIBUTES["c"]})
    return st.one_of(st.just({}), determined.map(lambda found: {"map": found}))


def rules():
    return st.one_of(
        conditions().map(lambda found: {"impossible": found}),
        maps().map(lambda found: {"determines": {"from": "c", "to": "b"}, **found}),
        st.sampled_from([["d", "e"], ["e", "d", "f"], ["d", "f"]]).map(lambda names: {"at_most": names}),
        st.sampled_from(["sum", "product"]).map(lambda kind: {kind: "f", "of": ["d", "e"]}),
        categories("a").map(lambda found: {"null": "d", "when": {"a": found}}),
        categories("b").map(lambda found: {"null": "d", "when": {"b": found}, "only": True}),
    )


@st.composite
def domains(draw):
    """A domain with one to three rules that some row obeys."""
    listed = draw(st.lists(rules(), min_size=1, max_size=3))
    try:
        return Domain.from_json({"attributes": ATTRIBUTES, "rules": listed})
    except DataError:
        return Domain.from_json({"attributes": ATTRIBUTES, "rules": listed[:1]})


def rows_of(domain, count, seed):
    """Rows that break many rules."""
    rng = np.random.default_rng(seed)
    return Table.from_codes(domain, {name: rng.integers(0, domain[name].size, count) for name in domain})


def fitted(model):
    return FittedModel(model, (), (), ())


MODELS = {
    "a graphical model": lambda domain: MarkovRandomField.uniform(domain, 500.0),
    "rows": lambda domain: SelectedRecords(rows_of(domain, 200, 1), (), 200.0),
    "few rows": lambda domain: SelectedRecords(rows_of(domain, 2, 1), (), 2.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@given(domain=domains(), seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_no_row_breaks_a_rule_from_any_model(model, domain, seed):
    rows = rows_of(domain, 60, seed)
    found = obedient(rows, fitted(model(domain)), np.random.default_rng(seed))
    assert (found.domain, found.record_count) == (domain, 60)
    values = decode_table(found, np.random.default_rng(seed))
    assert not any(breaking.any() for breaking in broken(domain, values))


@pytest.mark.slow
@given(domain=domains())
@settings(max_examples=60, deadline=None)
def test_an_example_obeys_all_rules(domain):
    codes = example(domain)
    assert codes is not None
    row = {name: np.array([code]) for name, code in codes.items()}
    assert not any(rule.forbids(domain, row)[0] for rule in domain.rules)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["mosaic", "privbayes", "mst"])
@given(domain=domains(), seed=st.integers(0, 2**16))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_row_of_a_release_breaks_a_rule(mechanism, domain, seed):
    made = simulate(
        rows_of(domain, 300, seed),
        epsilon=Budget(1.0, 1e-6),
        protocol="trusted",
        mechanism=mechanism,
        seed=seed,
    )
    values = decode_table(made.rows, np.random.default_rng(seed))
    assert not any(breaking.any() for breaking in broken(domain, values))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parties", [{"grid": "2x2"}, {"grid": "1x2", "overlap": 0.9, "population": "anywhere"}], ids=str
)
def test_a_rule_about_columns_of_different_parties_is_zero_in_the_model_of_masked_parties(parties):
    attributes = {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"], "d": ["0", "1", "2"]}
    rules = [
        {"impossible": {"a": ["0"], "d": ["2"]}},
        {"determines": {"from": "d", "to": "b"}, "map": {"0": "1"}},
    ]
    table = rows_of(Domain.from_json({"attributes": attributes, "rules": rules}), 300, 0)
    made = simulate(table, epsilon=Budget(2.0, 1e-6), protocol="masked", seed=1, **parties)
    domain = made.rows.domain
    for rule in domain.rules:
        clique, allowed = rule.allowed(domain)
        assert not made.fitted.model.marginal(clique)[~allowed.ravel()].any()
        assert not made.rows.marginal(clique)[~allowed.ravel()].any()


def test_rows_that_obey_are_kept_as_they_are():
    domain = Domain.from_json(
        {"attributes": ATTRIBUTES, "rules": [{"impossible": {"a": ["a0"], "b": ["b0"]}}]}
    )
    rows = rows_of(domain, 300, 0)
    obeying = rows.take(np.flatnonzero((rows.column("a") > 0) | (rows.column("b") > 0)))
    model = fitted(MarkovRandomField.uniform(domain, 300.0))
    assert obedient(obeying, model, np.random.default_rng(0)).digest() == obeying.digest()


def test_redrawn_rows_are_distributed_as_in_the_model_given_the_rules():
    """A model of rows that knows nothing of the rule."""
    rule = {"impossible": {"a": ["a0", "a1"], "b": ["b0"]}}
    domain = Domain.from_json({"attributes": ATTRIBUTES, "rules": [rule]})
    rng = np.random.default_rng(0)
    table = rows_of(domain, 30000, 3)
    found = obedient(table, fitted(SelectedRecords(table, (), 1.0)), rng).marginal(("a", "b")) / 30000
    # Uniform over the four cells that are left; standard error 0.0025.
    np.testing.assert_allclose(found, [0, 1 / 4, 0, 1 / 4, 1 / 4, 1 / 4], atol=0.01)


def test_the_seed_determines_the_rows():
    domain = Domain.from_json({"attributes": ATTRIBUTES, "rules": [{"sum": "f", "of": ["d", "e"]}]})
    rows, model = rows_of(domain, 300, 0), fitted(MarkovRandomField.uniform(domain, 300.0))
    made = [obedient(rows, model, np.random.default_rng(seed)).digest() for seed in (1, 1)]
    assert made[0] == made[1]


def test_contradictory_rules_are_refused_before_any_budget_is_spent():
    listed = [{"impossible": {"a": ATTRIBUTES["a"], "b": [category]}} for category in ATTRIBUTES["b"]]
    with pytest.raises(DataError, match="no row can obey"):
        Domain.from_json({"attributes": ATTRIBUTES, "rules": listed})


@functools.cache
def dependency(sigma):
    """Noisy counts of zip codes and states: true map, records, and counts."""
    rng = np.random.default_rng(5)
    truth = rng.choice(12, 200, p=rng.dirichlet(np.full(12, 0.5)))
    records = rng.geometric(0.01, 200).astype(float)
    counts = np.zeros((200, 12))
    counts[np.arange(200), truth] = records
    return truth, records, counts + rng.normal(scale=sigma, size=counts.shape), counts


def right(found, truth, records):
    return float(records @ (found == truth) / records.sum())


def test_a_map_is_exact_without_noise():
    truth, records, noisy, counts = dependency(1e-6)
    for likelihoods in (modelled_likelihoods(counts), records[:, None] * noisy / 1e-12):
        assert np.array_equal(likely_map(likelihoods, records, counts.sum(axis=0)), truth)


def test_a_map_keeps_the_marginal_that_the_most_likely_values_lose():
    truth, records, noisy, counts = dependency(40.0)
    likelihoods, wanted = records[:, None] * noisy / 40.0**2, counts.sum(axis=0)
    priced, greedy = likely_map(likelihoods, records, wanted), likelihoods.argmax(axis=1)
    apart = [
        np.abs(np.bincount(found, weights=records, minlength=12) - wanted).sum() / (2 * records.sum())
        for found in (priced, greedy)
    ]
    assert apart[0] < 0.03 < apart[1]
    assert right(priced, truth, records) >= right(greedy, truth, records)


@pytest.mark.parametrize("columns", [("zip", "state"), ("state", "zip")])
def test_likelihoods_are_those_of_all_measurements_of_the_pair(columns):
    domain = Domain.coded(
        {columns[0] if columns[0] == "zip" else "state": 3, "zip" if columns[0] != "zip" else "state": 2}
    )
    clique = domain.names
    rng = np.random.default_rng(0)
    records = np.array([5.0, 7.0, 9.0])[: domain["zip"].size]
    noisy = [rng.normal(size=6) for _ in range(2)]
    measured = [
        Measurement(View(clique), values, sigma, 0.0) for values, sigma in zip(noisy, (1.0, 2.0), strict=True)
    ]
    others = [Measurement(View((clique[0],)), np.zeros(domain[clique[0]].size), 1.0, 0.0)]
    found = measured_likelihoods([*measured, *others], domain, ("zip", "state"), records)
    table = (noisy[0] + noisy[1] / 4).reshape(domain.sizes)
    table = table if clique == ("zip", "state") else table.T
    np.testing.assert_allclose(found, records[:, None] * table)
    assert measured_likelihoods(others, domain, ("zip", "state"), records) is None


@pytest.mark.slow
def test_a_release_learns_a_dependency_and_keeps_its_columns_marginals():
    rng = np.random.default_rng(0)
    zips, states = [f"z{i}" for i in range(60)], [f"s{i}" for i in range(6)]
    of_zip = rng.integers(0, 6, 60)
    form = {"attributes": {"zip": zips, "state": states, "x": ["0", "1"]}}
    form["rules"] = [{"determines": {"from": "zip", "to": "state"}}]
    domain = Domain.from_json(form)
    places = rng.choice(60, 5000, p=rng.dirichlet(np.ones(60)))
    rows = np.column_stack([places, of_zip[places], (of_zip[places] + rng.integers(0, 3, 5000)) % 2])
    table = Table.from_codes(domain, rows)
    made = simulate(table, epsilon=Budget(2.0, 1e-6), protocol="trusted", seed=3).rows
    assert np.mean(of_zip[made.column("zip")] == made.column("state")) > 0.9
    pairs = set(zip(made.column("zip").tolist(), made.column("state").tolist(), strict=True))
    assert len(pairs) == len({zip_code for zip_code, _ in pairs})
    for pair in itertools.combinations(domain.names, 2):
        share = 5000 / made.record_count
        assert np.abs(table.marginal(pair) - share * made.marginal(pair)).sum() / 10000 < 0.15


class EvenRows:
    """Rows of which each code is as likely as others."""

    def __init__(self, domain):
        self.domain = domain

    def generate(self, rows, rng):
        return Table.from_codes(
            self.domain, {n: rng.integers(0, self.domain[n].size, rows) for n in self.domain}
        )


def test_values_of_columns_that_follow_from_one_date_break_no_rule_with_others():
    names = dict(enumerate("Mo Di Mi Do Fr Sa So".split(), start=1))
    form = {
        "date": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 40},
        "day": {"type": "numeric", "min": 1, "max": 31, "bins": 31, "integer": True},
        "month": [*range(1, 13)],
        "weekday": [*names.values()],
        "weekend": {"type": "boolean"},
        "open": ["no", "yes"],
    }
    rules = [
        {"part": "day", "column": "day", "of": "date"},
        {"part": "month", "column": "month", "of": "date"},
        {"part": "weekday", "column": "weekday", "of": "date", "map": {str(k): v for k, v in names.items()}},
        {"part": "weekday", "column": "weekend", "of": "date", "map": {str(k): k > 5 for k in names}},
        {"impossible": {"weekday": ["So"], "open": ["yes"]}},
        {"impossible": {"month": [12], "open": ["no"]}},
        {"impossible": {"weekend": [True], "day": {"at_most": 2}}},
    ]
    domain = Domain.from_json({"attributes": form, "rules": rules})
    rng, source = np.random.default_rng(1), EvenRows(domain)
    rows = obeying(source.generate(5000, rng), domain.rules, source, rng)
    values = decode_table(rows, rng)
    assert [found.sum() for found in broken(domain, values)] == [0] * len(rules)
    # All that is left to the values is which day of the bin it is.
    again = encode_table(domain, values)
    for name in domain:
        assert (again.column(name) == rows.column(name)).all(), name
    assert len(np.unique(rows.column("weekday"))) == 7


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(kinds.domains(most=3), st.data())
def test_columns_that_follow_keep_to_rules_with_others_in_any_domain(domain, data):
    form = data.draw(kinds.following(domain)).to_json()
    form["attributes"]["other"] = ["x", "y", "z"]
    followed = [rule.get("column", rule.get("steps")) for rule in form["rules"]]
    for name in followed:
        attribute = form["attributes"][name]
        if isinstance(attribute, list):
            value = data.draw(st.sampled_from([one for one in attribute if one]))
            form["rules"].append({"impossible": {name: [value], "other": data.draw(categories_of("xyz"))}})
        if data.draw(st.booleans()):
            form["rules"].append({"determines": {"from": "other", "to": followed[0]}, "map": {}})
    try:
        domain = Domain.from_json(form)
    except DataError:
        assume(False)
    seed = data.draw(st.integers(0, 1000))
    rng, source = np.random.default_rng(seed), EvenRows(domain)
    rows = obeying(source.generate(300, rng), domain.rules, source, rng)
    values = decode_table(rows, rng)
    for rule, found in zip(domain.rules, broken(domain, values), strict=True):
        assert not found.any(), rule


def categories_of(letters):
    return st.lists(st.sampled_from([*letters]), min_size=1, max_size=2, unique=True)
