"""Measures and tables of `benchmarks/published.py`, on small tables."""

import importlib
import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def people(tmp_path):
    """A folder with 600 rows of four attributes; the first two agree in most rows."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 600)
    second = np.where(rng.random(600) < 0.9, first, 1 - first)
    columns = [first, second, rng.integers(0, 3, 600), rng.integers(0, 2, 600)]
    folder = tmp_path / "nltcs"
    folder.mkdir()
    (folder / "domain.json").write_text(json.dumps({"a": 2, "b": 2, "c": 3, "d": 2}))
    lines = ["a,b,c,d", *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    (folder / "nltcs.csv").write_text("\n".join(lines) + "\n")
    return folder


def table(**columns):
    domain = Domain.from_json({name: int(max(codes)) + 1 for name, codes in columns.items()})
    return Table(domain, tuple(np.asarray(codes, dtype=np.uint8) for codes in columns.values()))


def test_the_workload_error_is_the_mean_l1_distance_of_marginals_over_the_records(benchmark):
    real = table(a=[0, 0, 1, 1], b=[0, 1, 0, 1], c=[0, 0, 1, 1])
    other = Table(real.domain, (real.column("a"), real.column("a"), real.column("c")))
    by_hand = []
    for pair in itertools.combinations(["a", "b", "c"], 2):
        cells = [
            [sum((rows.column(pair[0]) == i) & (rows.column(pair[1]) == j)) for i in (0, 1) for j in (0, 1)]
            for rows in (real, other)
        ]
        by_hand.append(sum(abs(int(x) - int(y)) for x, y in zip(*cells, strict=True)) / 4)
    measured = benchmark("published").workload_error(2)(real, lambda rows: other, 1)
    assert measured == {"L1": pytest.approx(np.mean(by_hand))}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_wasserstein_distance_is_that_of_the_best_of_all_pairings(benchmark, k):
    rng = np.random.default_rng(k)
    left, right = rng.random((5, k)), rng.random((5, k))
    best = min(
        np.mean([math.dist(left[i], right[j]) for i, j in enumerate(order)])
        for order in itertools.permutations(range(5))
    )
    assert benchmark("published_tab_pe").wasserstein(left, right) == pytest.approx(best)


def test_a_table_is_at_no_distance_from_itself_and_at_one_from_its_opposite(benchmark):
    zeros, ones = table(a=[0, 1] * 50, b=[0, 0, 1, 1] * 25), None
    distance = benchmark("published_tab_pe").mean_wasserstein
    assert distance(zeros, zeros, 2, np.random.default_rng(0)) == 0
    ones = Table(zeros.domain, (np.ones(100, dtype=np.uint8), np.ones(100, dtype=np.uint8)))
    # Half of the rows are a step of 1 away in one attribute alone: 1/2 in each.
    assert distance(zeros, ones, 1, np.random.default_rng(0)) == pytest.approx(0.5)


@pytest.mark.slow
def test_prediction_is_measured_on_rows_that_the_release_has_not_seen(benchmark):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    real = table(label=label, same=label, row=np.arange(400) % 200)
    seen = []

    def release(rows):
        seen.append(rows)
        return Table(rows.domain, (1 - rows.column("label"), rows.column("same"), rows.column("row")))

    measured = benchmark("published_tab_pe").measured_as_tab_pe(real, release, 1, label="label")
    assert seen[0].record_count == 280
    assert measured["real accuracy"] == measured["real macro F1"] == 1
    # Synthetic labels are the opposite of the real ones, so everything that is learned is wrong.
    assert measured["accuracy"] == measured["macro F1"] == 0
    assert measured["1-WD"] >= 0


def test_every_number_of_a_paper_belongs_to_a_protocol_and_a_table_that_are_measured(benchmark):
    protocols = benchmark("published").PROTOCOLS
    tables = benchmark("published_tables")
    for name in protocols:
        for mechanism, values in tables.of_papers(name).items():
            for table_name, epsilon, _metric in values:
                assert table_name in protocols[name].tables, mechanism
                assert float(epsilon) in protocols[name].epsilons, mechanism
            assert min(values.values()) > 0
    assert set(tables.TITLES) == set(protocols)


def test_the_page_has_the_papers_numbers_as_they_are_printed(benchmark):
    page = (BENCHMARKS.parent / "docs" / "published.md").read_text(encoding="utf-8")
    printed = benchmark("published_tables").markdown({})
    assert [line for line in printed.splitlines() if line.startswith("|") and line not in page] == []


def test_a_refreshed_page_has_new_figures_and_its_own_words(benchmark):
    tables = benchmark("published_tables")
    page = f"# Title\n\nBefore.\n\n{tables.markdown({})}\n\nAfter.\n"
    cells = {"pairs/nltcs/1/mosaic/1": {"L1": 0.002}, "pairs/nltcs/1/mosaic/2": {"L1": 0.004}}
    new = tables.refreshed(page, cells)
    assert "| `mosaic` | ours |  |  |  |  | 0.003 |  |  |  |  |\n" in new
    assert tables.refreshed(new, {}) == page
    assert [line for line in page.splitlines() if line not in new.splitlines()] == []


def test_the_codings_of_the_aim_paper_have_its_domain_sizes(benchmark):
    # McKenna and others, table 3: adult 4e16, titanic 9e7.
    for name, cells in (("adult", 4e16), ("titanic", 9e7)):
        domain = Domain.load(BENCHMARKS / "domains" / f"{name}-aim.json")
        assert math.prod(domain[one].size for one in domain) == pytest.approx(cells, rel=0.1)


def test_cells_are_run_once_and_stand_beside_the_papers_numbers(
    benchmark, people, tmp_path, monkeypatch, capsys
):
    published, out = benchmark("published"), tmp_path / "cells.json"
    asked = [
        "published.py",
        str(people),
        "--out",
        str(out),
        "--protocol",
        "pairs",
        "--epsilon",
        "1",
        "--seeds",
    ]
    monkeypatch.setattr(sys, "argv", [*asked, "1", "--mechanism", "independent", "--markdown"])
    published.main()
    printed = capsys.readouterr().out
    found = json.loads(out.read_text())["pairs/nltcs/1/independent/1"]["L1"]
    # a and b agree in nine of ten rows: independent rows miss 4 * 0.2 of L1 in one pair of six, and the noise
    # of one-way marginals, from a fixed seed, adds to it.
    assert 0.12 < found < 0.25
    assert f"| `independent` | ours |  |  |  |  | {found:.3g} |" in printed
    assert "| AIM | paper | 0.172 |" in printed
    monkeypatch.setattr(published, "cell", lambda *of: pytest.fail("a cell was run again"))
    published.main()
    assert f"{found:.5g}" in capsys.readouterr().out
