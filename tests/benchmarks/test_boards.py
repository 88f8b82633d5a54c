"""The score of pairs of SDNist against sums over cells that are written out, and the rules of its table."""

import itertools
import json
import math
import sys
from pathlib import Path

import boards
import boards_score
import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table

PAGE = Path(boards.__file__).parent.parent / "docs" / "published.md"


def columns(rows):
    return {name: np.array(codes) for name, codes in zip("gab", zip(*rows, strict=True), strict=True)}


def share(rows, cell, places):
    return sum(all(row[p] == value for p, value in zip(places, cell, strict=True)) for row in rows) / len(
        rows
    )


def drawn(seed, rows, sizes=(3, 4, 2, 3)):
    rng = np.random.default_rng(seed)
    return [tuple(int(rng.integers(size)) for size in sizes) for _ in range(rows)]


@pytest.mark.parametrize("seed", range(3))
def test_the_score_is_500_times_two_less_the_mean_distance_of_pairs(seed):
    real, other = drawn(seed, 17), drawn(seed + 50, 9)
    distances = []
    for pair in itertools.combinations(range(4), 2):
        cells = {tuple(row[p] for p in pair) for row in real + other}
        distances.append(sum(abs(share(real, c, pair) - share(other, c, pair)) for c in cells))
    tables = [{f"c{p}": np.array([row[p] for row in rows]) for p in range(4)} for rows in (real, other)]
    assert boards_score.k_marginal(*tables).value == pytest.approx((2 - sum(distances) / 6) * 500)


def test_a_group_is_judged_by_its_share_of_the_distance_which_counts_as_one_at_most():
    # Group 0 is half of the real rows, group 1 a quarter, group 2 a quarter; the other table is all group 1.
    real = columns([(0, 0, 0), (0, 1, 1), (1, 0, 1), (2, 1, 0)])
    other = columns([(1, 0, 1), (1, 0, 1)])
    score = boards_score.k_marginal(real, other, "g")
    # One pair, (a, b): group 0 misses all of its half; group 1 has .75 too much, more than its share.
    assert score.groups == {0: pytest.approx(0), 1: pytest.approx(0), 2: pytest.approx(0)}
    assert score.value == pytest.approx((2 - (0.5 + 0.75 + 0.25)) * 500)
    near = columns([(0, 0, 0), (0, 0, 0), (1, 0, 1), (2, 1, 0)])
    score = boards_score.k_marginal(real, near, "g")
    # A quarter of the rows moved within group 0: a distance of .5 over its share of .5.
    assert score.groups == {0: pytest.approx(0), 1: pytest.approx(1000), 2: pytest.approx(1000)}
    assert score.value == pytest.approx((2 - 0.5) * 500)


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_groups_are_those_of_sums_over_their_cells(seed):
    real, other = drawn(seed, 40), drawn(seed + 50, 30)
    tables = [{n: np.array([row[p] for row in rows]) for p, n in enumerate("gabc")} for rows in (real, other)]
    score = boards_score.k_marginal(*tables, "g")
    for group in sorted({row[0] for row in real}):
        its = share(real, [group], [0])
        found = []
        for pair in itertools.combinations((1, 2, 3), 2):
            cells = {tuple(row[p] for p in pair) for row in real + other if row[0] == group}
            apart = [
                abs(share(real, (group, *c), (0, *pair)) - share(other, (group, *c), (0, *pair)))
                for c in cells
            ]
            found.append(min(sum(apart), its) / its)
        assert score.groups[group] == pytest.approx(1000 * (1 - sum(found) / 3))


@pytest.mark.parametrize("group", [None, "g"])
def test_the_same_rows_have_a_thousand_and_rows_without_a_common_cell_none(group):
    real = columns([(0, 0, 1), (1, 1, 0), (1, 0, 0)])
    other = columns([(2, 2, 2), (2, 2, 2), (2, 2, 2)])
    assert boards_score.k_marginal(real, real, group).value == 1000
    assert boards_score.k_marginal(real, other, group).value == pytest.approx(0)


@pytest.mark.parametrize("reach", [(5, 60), (1, 60), (5, 70), (1, 70)])
def test_numbers_are_cut_at_quantiles_of_the_real_rows_that_leave_a_bin_beyond_them(reach):
    rng = np.random.default_rng(1)
    real = np.concatenate([rng.integers(5, 61, 100), [5, 60, 0, 0]])
    other = np.array([*reach, 0, 20, 33, 40])
    numbers = sorted(int(code) for code in real if code)
    bins = 20 - 1 - (reach[0] < 5) - (reach[1] > 60)
    # The smallest number that so many of the real rows do not exceed, as a place in their order.
    edges = {numbers[math.ceil(place * (len(numbers) - 1) / bins - 1e-9)] for place in range(bins)}
    edges = sorted(edges | {60, *reach})
    for codes, binned in zip((real, other), boards_score.bin_numbers(real, other, True), strict=True):
        for code, its in zip(codes.tolist(), binned.tolist(), strict=True):
            inside = [i for i, (a, b) in enumerate(itertools.pairwise(edges)) if a < code <= b]
            assert its == (0 if code == 0 else 1 + (inside or [0])[0])


BASE = {
    **{"agep": 10, "sex": 0, "msp": 1, "noc": 2, "npf": 2, "housing_type": 0, "own_rent": 1, "indp": 3},
    **{"indp_cat": 2, "edu": 9, "pincp": 20, "pincp_decile": 5, "povpip": 4, "dvet": 0, "drem": 2, "dphy": 2},
}
"""A person of 40 to 43 years, married, in a house with one child."""
CHILD = {"msp": 0, "indp": 0, "indp_cat": 0, "pincp": 0, "pincp_decile": 0, "edu": 3}

INCONSISTENT = {
    "child_DVET": {"agep": 2, **CHILD, "dvet": 2},
    "child_MSP": {"agep": 2, **CHILD, "msp": 6},
    "child_PINCP": {"agep": 2, **CHILD, "pincp": 15},
    "child_PINCP_DECILE": {"agep": 2, **CHILD, "pincp_decile": 1},
    "child_INDP": {"agep": 2, **CHILD, "indp": 7},
    "child_INDP_CAT": {"agep": 2, **CHILD, "indp_cat": 7},
    "child_phd": {"agep": 2, **CHILD, "edu": 12},
    "adult_N, marital status": {"msp": 0},
    "adult_N, income": {"pincp": 0},
    "adult_N, decile": {"pincp_decile": 0},
    "adult_N, education": {"edu": 0},
    "adult_N, walking": {"dphy": 0},
    "adult_N, memory": {"drem": 0},
    "toddler_DPHY": {"agep": 0, **CHILD, "edu": 0, "drem": 0},
    "toddler_DREM": {"agep": 0, **CHILD, "edu": 0, "dphy": 0},
    "toddler_diploma": {"agep": 0, **CHILD, "edu": 5, "drem": 0, "dphy": 0},
    "invalid_INDP_CAT": {"indp": 0},
    "too_many_children": {"noc": 4, "npf": 2},
    "gq_own_jail": {"housing_type": 1, "noc": 0, "npf": 0},
    "gq_own_dorm": {"housing_type": 2, "noc": 0, "npf": 0},
    "gq_h_family_NPF": {"housing_type": 1, "own_rent": 0, "noc": 0},
    "gq_h_family_NOC": {"housing_type": 1, "own_rent": 0, "npf": 0},
    "house_NOC": {"noc": 0},
    "house_OWN_RENT": {"own_rent": 0},
}
"""SDNist's name of an inconsistency -> what makes the person so."""


def people(*changes):
    domain = Domain.load(boards.DOMAIN)
    rows = [{**dict.fromkeys(domain.names, 0), **BASE, **change} for change in changes]
    return Table.from_codes(domain, np.array([[row[name] for name in domain.names] for row in rows]))


@pytest.mark.parametrize("change", INCONSISTENT.values(), ids=INCONSISTENT)
def test_every_inconsistency_of_sdnist_breaks_a_rule(change):
    assert boards.inconsistent(people({}, change)) == 1


def test_people_who_are_possible_break_no_rule():
    toddler = {"agep": 0, **CHILD, "edu": 0, "drem": 0, "dphy": 0}
    guest = {"housing_type": 2, "own_rent": 0, "noc": 0, "npf": 0}
    large = {"noc": 20, "npf": 19}
    assert boards.inconsistent(people({}, toddler, {"agep": 2, **CHILD}, guest, large)) == 0


def test_the_page_has_the_scores_that_reports_print():
    cells = {"10/sample/1": {"score": 987.0, "inconsistent rows": 0.0}}
    lines = [line for line in boards.markdown(cells).splitlines() if "report" in line]
    page = PAGE.read_text(encoding="utf-8")
    assert len(lines) == 3
    assert [line for line in lines if line not in page] == []


@pytest.mark.parametrize(("least", "fails"), [("981", False), ("983", True)])
def test_a_mean_below_the_least_score_fails_and_cells_are_not_run_again(tmp_path, monkeypatch, least, fails):
    out = tmp_path / "cells.json"
    cells = {
        f"10/mosaic/{s}": {"score": score, "inconsistent rows": 0.0} for s, score in ((1, 980), (2, 984))
    }
    out.write_text(json.dumps(cells))
    asked = [
        "boards.py",
        "nowhere",
        "--columns",
        "10",
        "--mechanism",
        "mosaic",
        "--seeds",
        "2",
        "--out",
        str(out),
    ]
    monkeypatch.setattr(sys, "argv", [*asked, "--least", least])
    if fails:
        with pytest.raises(SystemExit, match="expected a score of mosaic of at least 983"):
            boards.main()
    else:
        boards.main()


@pytest.mark.slow
def test_a_release_of_ten_columns_is_judged_by_a_sample_of_the_table_and_keeps_the_rules(tmp_path):
    rng = np.random.default_rng(0)
    rows = people(*({"edu": int(edu), "sex": int(edu) % 2} for edu in rng.integers(1, 13, 400)))
    lines = [
        ",".join(rows.domain.names),
        *(",".join(map(str, row)) for row in zip(*rows.columns, strict=True)),
    ]
    (tmp_path / "nist2019.csv").write_text("\n".join(lines) + "\n")
    real = boards.load(tmp_path, 10)
    assert set(real.domain.names) == set(boards.TEN)
    figures = boards.cell(real, "mst", 1)
    assert 0 < figures["score"] < 1000
    assert figures["inconsistent rows"] == 0
    assert boards.cell(real, "sample", 1)["score"] > figures["score"]
