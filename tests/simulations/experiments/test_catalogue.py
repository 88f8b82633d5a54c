from dataclasses import replace

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, mechanism_named
from dpmosaic.simulations.baselines.catalogue import BASELINES
from dpmosaic.simulations.experiments.catalogue import EXPERIMENTS, experiment_named
from dpmosaic.simulations.experiments.cell import Cell
from dpmosaic.simulations.experiments.experiment import Quick, Reported
from dpmosaic.simulations.experiments.measures import MEASURES

GIVES = {
    "kway": {"tv_2way", "kl_2way", "tv_3way", "kl_3way"},
    "kway4": {"tv_4way"},
    "svm": {"misclassification_variance", "misclassification", "misclassification_of_real"},
    "fold_svm": {"misclassification"},
    "fold_tree": {"misclassification"},
    "trees": {"misclassification", "misclassification_of_real"},
    "workload": {"workload_error"},
    "ranges": {"range_3d", "range_5d"},
    "nist": {"clustering", "classification", "regression"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_cell_of_every_experiment_is_valid_and_gives_the_shown_values(name):
    experiment = EXPERIMENTS[name]
    shown = {value.value for value in experiment.shown}
    for cell in dict.fromkeys(experiment.cells(1)):
        assert Cell.from_json(cell.to_json()) == cell
        assert set(cell.measures) <= set(MEASURES)
        assert shown <= {"seconds"}.union(*(GIVES[measure] for measure in cell.measures))
        if cell.method in BASELINES:
            assert (cell.variant, cell.settings) == ("default", ())
        else:
            mechanism_named(cell.method, cell.variant, dict(cell.settings))
            entry = CATALOGUE[cell.method]
            assert cell.protocol in entry.protocols or (
                cell.variant in entry.on_paper and cell.protocol == "theorem"
            )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_quick_run_is_a_part_of_the_experiment_with_the_same_notes(name):
    experiment = EXPERIMENTS[name]
    quick = experiment.for_quick_run()
    assert set(quick.cells(1)) <= set(experiment.cells(1))
    assert 2 <= len(set(quick.cells(1))) <= 14
    assert quick.notes == experiment.notes
    assert all(sentence.endswith(".") for sentence in experiment.notes)


def test_the_papers_tables_are_complete():
    counts = {name: sum(len(r.numbers) for r in e.reported) for name, e in EXPERIMENTS.items() if e.reported}
    assert counts == {"randdpgen-table1": 30, "randdpgen-table2": 30, "randdpgen-table3": 30}
    (first,) = EXPERIMENTS["randdpgen-table1"].reported
    assert first.numbers["Big5, K = S = 4", 0.8] == 0.0459
    assert first.lines == ("RandDPGen, theorem", "RandDPGen, indicator", "RandDPGen, masked")


def test_the_quick_table_has_both_tables_and_three_protocols():
    cells = EXPERIMENTS["randdpgen-table1"].for_quick_run().cells(1)
    assert {(cell.table, cell.protocol) for cell in cells} == {
        (table, protocol) for table in ("adult", "big5") for protocol in ("theorem", "indicator", "masked")
    }


def test_figures_of_the_same_releases_share_cells():
    table, figure = EXPERIMENTS["randdpgen-table1"], EXPERIMENTS["randdpgen-figure4"]
    assert table.cells(2) == figure.cells(2)


def test_seeds_of_a_cell_differ_and_first_seeds_come_first(experiment):
    cells = experiment.cells(2)
    assert len(set(cells)) == len(cells) == 12
    assert [cell.seed for cell in cells] == [1] * 6 + [2] * 6
    with pytest.raises(DataError, match="at least 1"):
        experiment.cells(0)


def test_refuses_an_unknown_experiment_and_lists_the_known():
    with pytest.raises(DataError, match=r"randdpgen-table1.*got 'nothing'"):
        experiment_named("nothing")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"panels": 2}, "two panels share a label"),
        ({"lines": 2}, "two lines share a label"),
        ({"shown": 2}, "two values share a label"),
        ({"numbers": {("Nobody", 1.0): 0.1}}, "reported for Nobody"),
        ({"numbers": {("Adult", 7.0): 0.1}}, "reported for Adult at 7"),
        ({"compared": ("nothing",)}, "compared with an unknown line"),
        ({"quick": Quick((3.0,))}, "the quick run names an unknown panel"),
        ({"quick": Quick((1.0,), ("Nobody",))}, "the quick run names an unknown panel"),
        ({"quick": Quick((1.0,), lines=("nothing",))}, "the quick run names an unknown panel"),
    ],
)
def test_refuses_an_inconsistent_experiment(experiment, changes, says):
    changed = {}
    for name, value in changes.items():
        if name == "numbers":
            changed["reported"] = (Reported("paper", "tv_2way", value, ()),)
        elif name == "compared":
            changed["reported"] = (Reported("paper", "tv_2way", {}, value),)
        elif name == "quick":
            changed["quick"] = value
        else:
            changed[name] = getattr(experiment, name) * value
    with pytest.raises(ValueError, match=says):
        replace(experiment, **changed)
