"""The runner of the families: its cells, its figures and its comparison."""

import itertools
import json

import numpy as np
import pytest
from families import main, variants
from families_cell import Cell, accuracy, cliques_of, compared, figures, structure_cliques
from families_exact import exact_rows
from families_shown import Compared, gain, mean
from families_shown import compared as beside
from tables import CHOSEN_ON, generate

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table


@pytest.mark.slow
def test_a_run_prints_the_comparison_and_resumes_from_its_file(tmp_path, capsys):
    out = tmp_path / "results.json"
    asked = ["small8", "--epsilon", "1", "--seeds", "1", "--mechanism", "mosaic", "independent"]
    main([*asked, "--out", str(out)])
    first = json.loads(out.read_text())
    assert {*first} == {
        "small8||0|1|real",
        "small8|trusted|1|1|mosaic",
        "small8|trusted|1|1|independent",
    }
    found = first["small8|trusted|1|1|mosaic"]
    assert 0 < found["pairs"] < found["triples"] < 1
    assert found["cpu_seconds"] > 0
    assert found["peak_mib"] > 50
    printed = capsys.readouterr().out
    assert f"pairs {found['pairs']:.5f}" in printed
    ratio = found["pairs"] / first["small8|trusted|1|1|independent"]["pairs"]
    assert f"ratio of pairs      {ratio:.3f} of independent" in printed
    # Cells that are there are not run again: the figures of the second run are those of the file.
    first["small8|trusted|1|1|mosaic"]["pairs"] = 0.125
    out.write_text(json.dumps(first))
    main([*asked, "--out", str(out)])
    assert "pairs 0.12500" in capsys.readouterr().out
    assert json.loads(out.read_text()) == first


@pytest.mark.slow
def test_a_release_beyond_its_limit_is_out_of_time():
    found = figures(Cell("latent60", "trusted", 1.0, 1, "randdpgen"), 0.0)
    assert found == {"failed": "out of time", "limit_s": 0.0}


def test_a_cell_that_was_out_of_time_is_run_again_with_a_larger_limit(tmp_path, monkeypatch):
    out, ran = tmp_path / "results.json", []
    monkeypatch.setattr(
        "families.figures",
        lambda cell, limit_s: ran.append(limit_s) or {"failed": "out of time", "limit_s": limit_s},
    )
    asked = ["small8", "--epsilon", "1", "--seeds", "1", "--mechanism", "mst", "--out", str(out)]
    for limit in ("10", "10", "20", "20"):
        main([*asked, "--limit", limit])
    assert ran == [10.0, 10.0, 20.0, 20.0]


@pytest.mark.slow
def test_a_refused_release_says_why():
    pytest.importorskip("opacus", reason="dp-select needs the extra 'gan'")
    found = figures(Cell("small8", "masked", 1.0, 1, "dp-select"), 60.0)
    assert "protocol" in found["failed"]


def test_halves_have_their_own_variants():
    assert variants("chosen", []) == [*CHOSEN_ON]
    assert variants("reported", ["small"]) == ["small8", "small14"]
    with pytest.raises(ValueError, match="small8"):
        variants("chosen", ["small8"])


def test_real_rows_have_no_distance():
    made = generate("parity3-12", 1, rows=1_000)
    found = compared(made, made.table)
    assert (found["pairs"], found["triples"], found["structure"]) == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_distances_are_means_over_all_marginals():
    made = generate("small8", 1)
    real, other = made.table, generate("small8", 1).holdout.rows(0, 300)
    for figure, k in (("pairs", 2), ("triples", 3)):
        distances = []
        for names in itertools.combinations(real.domain.names, k):
            cells = [list(zip(*(t.column(n).tolist() for n in names), strict=True)) for t in (real, other)]
            distances.append(sum(abs(cells[0].count(c) - cells[1].count(c)) for c in {*cells[0], *cells[1]}))
        assert compared(made, other)[figure] == pytest.approx(np.mean(distances) / 600)


def test_of_many_triples_2000_are_compared_always_the_same():
    domain = Domain.coded({f"a{place}": 2 for place in range(40)})
    found = cliques_of(domain, 3)
    assert len({*found}) == 2_000
    assert found == cliques_of(domain, 3)
    assert all(domain.canonical(clique) == clique for clique in found)
    assert len(cliques_of(domain, 2)) == 780


def test_a_structure_too_large_for_its_rows_is_compared_by_triples_with_the_label():
    parity, regions = generate("parity4-18", 1, rows=1_000), generate("centres4x16-10", 1, rows=1_000)
    assert structure_cliques(parity) == [parity.structure]
    assert len(structure_cliques(regions)) == 6
    assert all(regions.label in clique for clique in structure_cliques(regions))


def test_accuracy_is_that_of_rows_of_the_same_rule():
    domain = Domain.coded({"x": 8, "y": 2})
    x = np.arange(4_000) % 8
    right, wrong = (Table.from_codes(domain, np.column_stack([x, y])) for y in (x // 4, 1 - x // 4))
    assert accuracy(right, right, "y") == 1.0
    assert accuracy(wrong, right, "y") == 0.0
    constant = Table.from_codes(domain, np.column_stack([x, 0 * x]))
    assert accuracy(constant, right, "y") == 0.5


@pytest.mark.slow
def test_exact_rows_have_the_pairs_and_the_structure_of_the_table():
    made = generate("parity3-12", 1, rows=2_000)
    rng = np.random.default_rng(1)
    pairs, structure = (compared(made, exact_rows(made.table, of, rng)) for of in ((), made.structure))
    assert max(pairs["pairs"], structure["pairs"]) < 0.002
    # Parity is right in 90 % of the rows, and in half of those that have only its pairs.
    assert pairs["structure"] == pytest.approx(0.4, abs=0.05)
    assert structure["structure"] < 0.005
    assert structure["accuracy"] > pairs["accuracy"] + 0.2


def test_a_gain_is_the_share_of_that_of_the_exact_structure():
    references = {"exact pairs": {"accuracy": 0.5}, "exact structure": {"accuracy": 0.9}}
    assert gain({"accuracy": 0.8}, references, "accuracy") == pytest.approx(0.75)
    assert gain({"accuracy": 0.8}, {}, "accuracy") is None
    assert gain({"failed": "out of time"}, references, "accuracy") is None


def test_the_best_other_mechanism_is_chosen_for_each_figure():
    found = {
        "mosaic": {"pairs": 0.2, "accuracy": 0.7},
        "aim": {"pairs": 0.4, "accuracy": 0.6},
        "mst": {"pairs": 0.5, "accuracy": 0.8},
        "ppsyn": {"failed": "out of time"},
    }
    assert beside(found, "pairs") == Compared(0.2, 0.4, "aim")
    assert beside(found, "pairs").ratio == pytest.approx(0.5)
    assert beside(found, "accuracy", max) == Compared(0.7, 0.8, "mst")
    assert beside({"mosaic": {"pairs": 0.2}}, "pairs") is None


def test_a_mechanism_that_failed_for_one_seed_has_no_mean():
    assert mean([{"pairs": 0.2, "accuracy": None}, {"pairs": 0.4, "accuracy": None}]) == {
        "pairs": pytest.approx(0.3),
        "accuracy": None,
    }
    assert mean([{"pairs": 0.2}, {"failed": "out of time"}]) == {"failed": "out of time"}


def test_a_page_gets_the_comparison_in_place_of_its_tables(tmp_path):
    page, out = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text("Before.\n\n**One party, central noise**\n\n| old |\n| --- |\n\nAfter.\n")
    figures = {"pairs": 0.1, "triples": 0.2, "structure": None, "accuracy": 0.7, "cpu_seconds": 3.0}
    figures |= {"seconds": 3.0, "peak_mib": 100.0}
    worse = figures | {"pairs": 0.2, "accuracy": 0.75}
    found = {"real": figures, "mosaic": figures, "mst": worse}
    keys = {name: f"small8|trusted|1|1|{name}" for name in found} | {"real": "small8||0|1|real"}
    out.write_text(json.dumps({keys[name]: of for name, of in found.items()}))
    asked = ["small8", "--epsilon", "1", "--seeds", "1", "--mechanism", "mosaic", "mst"]
    main([*asked, "--out", str(out), "--page", str(page)])
    assert page.read_text() == (
        "Before.\n\n**One party, central noise**\n\n"
        "| table | pairs 1 | triples 1 | accuracy 1 |\n| --- | --- | --- | --- |\n"
        "| small8 | 0.50 mst | 1.00 mst | -0.050 mst |\n\nAfter.\n"
    )
