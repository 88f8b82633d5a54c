"""Rules of a domain: how they are read and checked, what they exclude, and which rows break them."""

import itertools
import re

import numpy as np
import pytest

from dpmosaic.common.data.coding import Coding, merged_codes
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.rules import read_rules
from dpmosaic.common.data.rules.breaking import broken
from dpmosaic.common.data.rules.determines import Determines
from dpmosaic.common.data.table import Table, decode_table, encode_table
from dpmosaic.common.errors import DataError

ATTRIBUTES = {
    "sex": ["M", "F", ""],
    "rel": ["Wife", "Husband", "Other"],
    "zip": ["100", "101", "900", "999"],
    "state": ["NY", "CA", ""],
    "gain": {"type": "numeric", "min": 0, "max": 100, "bins": 5, "atoms": [0, 100]},
    "loss": {"type": "numeric", "min": 0, "max": 10, "bins": 11, "integer": True},
    "total": {"type": "numeric", "min": 0, "max": 120, "bins": 6},
    "start": {"type": "date", "edges": ["2020-01-01", "2020-05-01", "2020-12-31"], "nullable": True},
    "end": {
        "type": "date",
        "edges": ["2020-01-01", "2020-04-01", "2020-07-01", "2021-12-31"],
        "format": "%d.%m.%Y",
    },
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True, "nullable": True},
    "member": {"type": "boolean", "nullable": True},
}

ROWS = {
    "sex": ["M", "F", "", "M"],
    "rel": ["Wife", "Wife", "Wife", "Other"],
    "zip": ["100", "100", "101", "900"],
    "state": ["NY", "CA", "NY", "CA"],
    "gain": ["0", "5", "100", "7.5"],
    "loss": [3, 2, 0, 0],
    "total": [3.0, 7.0, 101.0, 7.5],
    "start": ["2020-05-01", "2020-05-02", None, "2020-06-01"],
    "end": ["01.05.2020", "01.05.2020", "01.01.2020", "01.06.2021"],
    "age": [None, 30, 17, 18],
    "member": ["true", None, "false", "TRUE"],
}


def ruled(*rules):
    return Domain.from_json({"attributes": ATTRIBUTES, "rules": list(rules)})


def raw():
    return {name: np.array(cells, dtype=object) for name, cells in ROWS.items()}


BROKEN = {
    "categories that exclude each other": (
        {"impossible": {"sex": ["M"], "rel": ["Wife"]}},
        [True, False, False, False],
    ),
    "null is a missing value": (
        {"impossible": {"sex": [None], "rel": ["Wife", "Husband"]}},
        [False, False, True, False],
    ),
    "numbers above a bound": (
        {"impossible": {"gain": {"above": 0}, "loss": {"above": 0}}},
        [False, True, False, False],
    ),
    "numbers of a list": ({"impossible": {"gain": [0, 100], "loss": [0]}}, [False, False, True, False]),
    "both sides of an interval": (
        {"impossible": {"age": {"at_least": 10, "below": 20}, "rel": ["Wife"]}},
        [False, False, True, False],
    ),
    "not a number leaves missing values out": (
        {"impossible": {"gain": {"not": 0}, "sex": ["F", ""]}},
        [False, True, True, False],
    ),
    "dates below a bound": (
        {"impossible": {"start": {"at_least": "2020-05-01"}, "sex": ["M"]}},
        [True, False, False, True],
    ),
    "booleans": ({"impossible": {"member": [True], "sex": ["M"]}}, [True, False, False, True]),
    "a dependency with a map": (
        {"determines": {"from": "zip", "to": "state"}, "map": {"100": "NY", "101": "CA"}},
        [False, True, True, False],
    ),
    "a dependency without a map, by the most frequent value": (
        {"determines": {"from": "rel", "to": "state"}},
        [False, True, False, False],
    ),
    "dates in order, by their own formats": (
        {"at_most": ["start", "end"]},
        [False, True, False, False],
    ),
    "a sum": ({"sum": "total", "of": ["gain", "loss"]}, [False, False, True, False]),
    "a product": ({"product": "total", "of": ["gain", "loss"]}, [True, True, True, True]),
    "missing where a condition holds": (
        {"null": "age", "when": {"sex": ["M"]}},
        [False, False, False, True],
    ),
    "missing only there": (
        {"null": "age", "when": {"sex": ["F"]}, "only": True},
        [True, True, False, False],
    ),
}


@pytest.mark.parametrize(("rule", "rows"), BROKEN.values(), ids=BROKEN)
def test_says_which_rows_break_a_rule(rule, rows):
    (found,) = broken(ruled(rule), raw())
    assert found.tolist() == rows


@pytest.mark.parametrize(("rule", "rows"), BROKEN.values(), ids=BROKEN)
def test_a_rule_is_written_as_it_was_read(rule, rows):
    domain = ruled(rule)
    assert domain.to_json()["rules"] == [rule]
    assert Domain.from_json(domain.to_json()) == domain
    assert hash(Domain.from_json(domain.to_json())) == hash(domain)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "rows"), BROKEN.values(), ids=BROKEN)
def test_an_excluded_combination_of_codes_has_only_values_that_break_the_rule(rule, rows):
    """And of the others some values obey it: by drawing values of every combination."""
    domain = ruled(rule)
    (read,) = domain.rules
    allowed = read.allowed(domain)
    if allowed is None:
        assert isinstance(read, Determines)
        return
    clique, mask = allowed
    domain = Domain.from_json({name: ATTRIBUTES[name] for name in clique})
    cells = np.array(list(np.ndindex(*mask.shape)))
    obeyed = np.zeros(len(cells), dtype=bool)
    for seed in range(40):
        # Without rules, so that values of different columns are drawn apart.
        values = decode_table(Table.from_codes(domain, cells), np.random.default_rng(seed))
        (found,) = broken(ruled(rule), values)
        obeyed |= ~found
    sums = "of" in rule
    assert not obeyed[~mask.ravel()].any()
    assert sums or obeyed[mask.ravel()].all()


REFUSED = {
    "rules that are no list": ({}, "list of rules"),
    "a rule of no kind": ([{"unlikely": {}}], '"impossible"'),
    "two rules in one": ([{"at_most": ["age", "loss"], "sum": "age"}], '"impossible"'),
    "an unknown column": ([{"impossible": {"sex": ["M"], "weight": {"above": 0}}}], "no attribute 'weight'"),
    "a condition on one column alone": ([{"impossible": {"sex": ["M"]}}], "2 or more different"),
    "an unknown category": ([{"impossible": {"sex": ["X"], "rel": ["Wife"]}}], "no category"),
    "a missing value in a column without one": (
        [{"impossible": {"rel": [None], "sex": ["M"]}}],
        "no category",
    ),
    "a bound inside a bin": ([{"impossible": {"age": {"below": 18}, "sex": ["M"]}}], "inside a bin"),
    "a value that shares its bin": ([{"impossible": {"age": {"equal": 10}, "sex": ["M"]}}], "inside a bin"),
    "a bound of text": ([{"impossible": {"sex": {"above": 0}, "rel": ["Wife"]}}], "something else"),
    "a number for a date": ([{"impossible": {"start": {"above": 0}, "rel": ["Wife"]}}], "something else"),
    "a bound that is no number": (
        [{"impossible": {"age": {"above": "x"}, "sex": ["M"]}}],
        "numbers or dates",
    ),
    "an empty list": ([{"impossible": {"age": [], "sex": ["M"]}}], "list of categories"),
    "a map to an unknown category": (
        [{"determines": {"from": "zip", "to": "state"}, "map": {"100": "TX"}}],
        "lists a value",
    ),
    "a map that is no object": ([{"determines": {"from": "zip", "to": "state"}, "map": ["NY"]}], "as map"),
    "a determinant with wide bins": ([{"determines": {"from": "age", "to": "state"}}], "several values"),
    "a dependent column with wide bins": ([{"determines": {"from": "state", "to": "age"}}], "several values"),
    "an order of text": ([{"at_most": ["sex", "age"]}], "no numbers or dates"),
    "a sum of one part": ([{"sum": "total", "of": ["gain"]}], "two or more parts"),
    "two rules of one total": (
        [{"sum": "total", "of": ["gain", "loss"]}, {"product": "total", "of": ["gain", "loss"]}],
        "one rule that computes 'total'",
    ),
    "a total of itself": (
        [{"sum": "total", "of": ["gain", "age"]}, {"product": "age", "of": ["total", "loss"]}],
        "from itself",
    ),
    "a column that is its own part": ([{"sum": "total", "of": ["gain", "total"]}], "different columns"),
    "a column that cannot be missing": ([{"null": "rel", "when": {"sex": ["M"]}}], "no category"),
    "missing without a condition": ([{"null": "age", "when": {}}], "column -> categories"),
}


@pytest.mark.parametrize(("rules", "reason"), REFUSED.values(), ids=REFUSED)
def test_refuses(rules, reason):
    with pytest.raises(DataError, match=reason):
        Domain.from_json({"attributes": ATTRIBUTES, "rules": rules})


def test_refuses_rules_that_no_row_can_obey_together():
    with pytest.raises(DataError, match="no row can obey"):
        ruled(
            *({"impossible": {"sex": [one], "rel": ["Wife", "Husband"]}} for one in ("M", "F", "")),
            {"impossible": {"rel": ["Other"], "zip": ["100", "101", "900"]}},
            {"impossible": {"rel": ["Other"], "zip": ["999"]}},
        )


AUTO = {"type": "numeric", "min": 0, "max": 99, "bins": "auto", "integer": True, "nullable": True}


@pytest.mark.parametrize(
    ("condition", "boundaries"),
    [
        ({"below": 18}, (18,)),
        ({"at_least": 18}, (18,)),
        ({"above": 18}, (19,)),
        ({"at_least": 10, "at_most": 20}, (10, 21)),
        ({"not": 7}, (7, 8)),
        ([0, None], (1,)),
    ],
)
def test_chosen_bins_begin_where_a_condition_begins_or_ends_to_hold(condition, boundaries):
    rule = {"impossible": {"age": condition, "sex": ["M"]}}
    domain = Domain.from_json({"attributes": {"age": AUTO, "sex": ["M", "F"]}, "rules": [rule]})
    assert domain.rules[0].boundaries(domain) == {"age": boundaries, "sex": ()}
    firsts = (*sorted({0, *boundaries}), domain["age"].size - 1)
    chosen = Coding({"age": firsts}).domain(domain)
    fine, merged = (found.rules[0].allowed(found)[1] for found in (domain, chosen))
    new = merged_codes(domain["age"], firsts)
    assert np.array_equal(fine, merged[new])


def test_a_map_may_list_values_that_a_release_has_not_chosen_yet():
    zips = {"type": "categorical", "categories": ["100", "other"], "other": "other", "open": True}
    rule = {"determines": {"from": "zip", "to": "state"}, "map": {"100": "NY", "900": "CA"}}
    form = {"attributes": {"zip": zips, "state": ["NY", "CA"]}, "rules": [rule]}
    domain = Domain.from_json(form)
    assert domain.to_json()["rules"] == [rule]
    assert domain.rules[0].allowed(domain)[1].tolist() == [[True, False], [True, True]]


def test_a_projected_domain_keeps_the_rules_within_its_columns():
    domain = ruled({"impossible": {"sex": ["M"], "rel": ["Wife"]}}, {"at_most": ["start", "end"]})
    assert [rule.columns for rule in domain.project(["rel", "sex", "end"]).rules] == [("sex", "rel")]


def test_values_of_inequalities_and_sums_are_drawn_together():
    rules = [{"at_most": ["start", "end"]}, {"sum": "total", "of": ["gain", "loss"]}]
    domain = ruled(*rules)
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, domain[name].size, 4000) for name in domain}
    table = Table.from_codes(domain, codes)
    excluded = np.zeros(4000, dtype=bool)
    for rule in domain.rules:
        excluded |= rule.forbids(domain, codes)
    table = table.take(np.flatnonzero(~excluded))
    values = decode_table(table, rng)
    assert not any(rows.any() for rows in broken(domain, values))
    again = encode_table(domain, values)
    for name in domain:
        same = again.column(name) == table.column(name)
        assert (name, same.mean()) >= (name, 1.0 if name != "total" else 0.95)


@pytest.mark.parametrize("decimals", [0, 2])
def test_products_are_those_of_the_drawn_factors_rounded_as_their_column_is(decimals):
    quantity = {"type": "numeric", "min": 1, "max": 20, "bins": 4, "integer": True}
    price = {"type": "numeric", "min": 0.5, "max": 99.99, "bins": 8, "decimals": 2}
    amount = {"type": "numeric", "min": 0, "max": 2000, "bins": 20, "decimals": decimals, "nullable": True}
    form = {"attributes": {"quantity": quantity, "price": price, "amount": amount}}
    domain = Domain.from_json(form | {"rules": [{"product": "amount", "of": ["quantity", "price"]}]})
    rng = np.random.default_rng(3)
    codes = {name: rng.integers(0, domain[name].size, 5_000) for name in domain}
    (rule,) = domain.rules
    table = Table.from_codes(domain, codes).take(np.flatnonzero(~rule.forbids(domain, codes)))
    values = decode_table(table, rng)
    amounts = np.array(values["amount"], dtype=float)
    found, known = values["quantity"] * values["price"], ~np.isnan(amounts)
    assert known.any()
    assert (np.abs(amounts - found)[known] <= 0.5 * 10.0**-decimals + 1e-9).all()
    assert not broken(domain, values)[0].any()
    off = values | {"amount": amounts + 2}
    assert (broken(domain, off)[0] == known).all()


def test_a_total_may_be_a_part_of_another_one_whichever_is_stated_first():
    part = {"type": "numeric", "min": 0, "max": 20, "bins": 2, "integer": True}
    form = {
        name: part | {"max": high, "bins": 1} for name, high in (("a", 20), ("b", 20), ("c", 40), ("d", 800))
    }
    rules = [{"product": "d", "of": ["c", "b"]}, {"sum": "c", "of": ["a", "b"]}]
    domain = Domain.from_json({"attributes": form, "rules": rules})
    values = decode_table(Table.from_codes(domain, np.zeros((500, 4), int)), np.random.default_rng(3))
    assert np.array_equal(values["c"], values["a"] + values["b"])
    assert np.array_equal(values["d"], values["c"] * values["b"])


def test_totals_and_raised_values_have_the_type_and_the_form_of_their_column():
    euros = {"type": "numeric", "min": 0, "max": 5000, "bins": 1, "decimals": 2, "format": "{:,} EUR"}
    whole = {"type": "numeric", "min": 0, "max": 9, "bins": 1, "integer": True, "nullable": True}
    form = {
        "attributes": {"net": euros, "tax": euros, "gross": {**euros, "max": 10000}, "n": whole, "m": whole}
    }
    form["rules"] = [{"sum": "gross", "of": ["net", "tax"]}, {"at_most": ["n", "m"]}]
    domain = Domain.from_json(form)
    codes = np.zeros((300, 5), int)
    codes[:100, 3] = 1
    values = decode_table(Table.from_codes(domain, codes), np.random.default_rng(3))
    assert not any(rows.any() for rows in broken(domain, values))
    assert all(re.fullmatch(r"[0-9,]+(\.[0-9]{1,2})? EUR", text) for text in values["gross"])
    assert {type(value) for value in values["m"]} == {int}
    assert {type(value) for value in values["n"]} == {int, type(None)}
    assert np.array_equal(encode_table(domain, values).column("gross"), codes[:, 2])


def test_starts_and_ends_in_one_bin_are_uniform_over_the_triangle():
    bins = {"type": "numeric", "min": 0.0, "max": 1.0, "bins": 1}
    domain = Domain.from_json({"attributes": {"a": bins, "b": bins}, "rules": [{"at_most": ["a", "b"]}]})
    values = decode_table(Table.from_codes(domain, np.zeros((20000, 2), int)), np.random.default_rng(1))
    assert np.all(values["a"] <= values["b"])
    # Means of the least and the largest of two uniform numbers; three standard errors are 0.005.
    assert values["a"].mean() == pytest.approx(1 / 3, abs=0.006)
    assert values["b"].mean() == pytest.approx(2 / 3, abs=0.006)


def test_a_chain_of_inequalities_is_kept_even_where_redraws_hardly_ever_obey_it():
    bins = {"type": "numeric", "min": 0, "max": 1000, "bins": 1, "integer": True}
    names = "abcdefgh"
    domain = Domain.from_json(
        {
            "attributes": dict.fromkeys(names, bins),
            "rules": [{"at_most": list(pair)} for pair in itertools.pairwise(names)],
        }
    )
    values = decode_table(Table.from_codes(domain, np.zeros((50, 8), int)), np.random.default_rng(2))
    assert not any(rows.any() for rows in broken(domain, values))
    assert encode_table(domain, values).record_count == 50


def test_the_last_code_of_a_domain_with_absent_people_breaks_no_dependency():
    rule = {"determines": {"from": "zip", "to": "state"}, "map": {"100": "NY"}}
    form = {"attributes": {name: ATTRIBUTES[name] for name in ("zip", "state")}, "rules": [rule]}
    domain = Domain.from_json(form).with_absent()
    (read,) = domain.rules
    codes = {"zip": np.array([0, 0, 4]), "state": np.array([3, 1, 1])}
    assert read.forbids(domain, codes).tolist() == [False, True, False]


def test_refuses_codes_that_depend_on_a_column_if_people_may_be_absent():
    rule = {"determines": {"from": "zip", "to": "state"}, "map": {"0": 1}}
    domain = Domain.from_json({"attributes": {"zip": 3, "state": 2}, "rules": [rule]})
    assert domain.rules[0].allowed(domain)[1].tolist() == [[False, True], [True, True], [True, True]]
    with pytest.raises(DataError, match="holds codes"):
        domain.with_absent()


def test_other_categories_together_determine_nothing():
    zips = {"type": "categorical", "categories": ["100", "other"], "other": "other"}
    form = {"attributes": {"zip": zips, "state": ["NY", "CA"]}}
    form["rules"] = [{"determines": {"from": "zip", "to": "state"}}]
    domain = Domain.from_json(form)
    rows = {"zip": np.array(["100", "200", "300"]), "state": np.array(["NY", "NY", "CA"])}
    assert not broken(domain, rows)[0].any()
    learned = domain.rules[0].with_map(domain, np.array([1, 0]))
    assert learned.pairs == (("100", "CA"),)


def test_a_list_of_rules_is_read_without_a_domain():
    assert read_rules([{"at_most": ["a", "b"]}])[0].columns == ("a", "b")


@pytest.mark.parametrize(
    ("more", "condition", "atoms"),
    [
        ({"scale": "symlog"}, {"above": 20}, (20.0,)),
        ({"scale": "log", "min": 1}, {"at_least": 20, "below": 33.3}, (20.0, 33.3)),
        ({"scale": "symlog", "integer": True, "max": 100_000}, {"above": 20_000.5}, (20_000.0,)),
        ({"scale": "symlog", "decimals": 2}, {"not": 20}, (20.0,)),
        ({"scale": "symlog"}, {"above": 5_000_000}, ()),
        ({"integer": True}, {"above": 20}, ()),
    ],
)
def test_a_bound_of_a_number_whose_bins_a_release_chooses_gets_a_code_where_it_needs_one(
    more, condition, atoms
):
    number = {"type": "numeric", "min": 0, "max": 1000, "bins": "auto"} | more
    form = {
        "attributes": {"test": ["a", "b"], "value": number},
        "rules": [{"impossible": {"test": ["a"], "value": condition}}],
    }
    domain = Domain.from_json(form)
    assert domain["value"].atoms == atoms
    assert Domain.from_json(domain.to_json()) == domain
    # Each code keeps the rule or breaks it, whatever value it stands for.
    codes = np.arange(domain["value"].size)
    forbidden = domain.rules[0].forbids(domain, {"test": np.zeros_like(codes), "value": codes})
    values = domain["value"].decode(codes, np.random.default_rng(1))
    (met,) = condition.items() if len(condition) == 1 else (None,)
    if met is not None:
        told = {"above": values > met[1], "not": values != met[1]}[met[0]]
        assert (forbidden == told).all()
