"""The model of a release, saved and loaded by the public names."""

import itertools

import numpy as np
import pytest

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.curator.mechanisms.mosaic.mosaic import Mosaic
from dpmosaic.curator.mechanisms.parts.records import SelectedRecords
from dpmosaic.curator.mechanisms.privbayes.privbayes import PrivBayes
from dpmosaic.curator.pgm import archive

DOMAIN = dpmosaic.Domain.coded({"a": 9, "b": 8, "c": 7, "d": 6})


def table(records=800):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 9, records)
    columns = [np.where(rng.random(records) < 0.8, first % n, rng.integers(0, n, records)) for n in (8, 7, 6)]
    return dpmosaic.Table.from_codes(DOMAIN, np.column_stack([first, *columns]))


def check_same(model, loaded):
    cliques = [(), *itertools.combinations(DOMAIN.names, 1), *itertools.combinations(DOMAIN.names, 2)]
    for clique in cliques:
        assert loaded.marginal(clique).tolist() == model.marginal(clique).tolist(), clique
    tables = [each.generate(300, np.random.default_rng(5)) for each in (model, loaded)]
    assert tables[0].digest() == tables[1].digest()
    assert type(loaded) is type(model)
    assert (loaded.cliques, loaded.size_mb) == (model.cliques, model.size_mb)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        (dpmosaic.MST(), "MarkovRandomField"),
        (Mosaic(max_model_mb=0.001), "SupplementedModel"),
        (PrivBayes(), "BayesianNetwork"),
    ],
)
def test_a_loaded_model_has_the_marginals_and_with_one_seed_the_rows_of_the_release(
    tmp_path, mechanism, kind
):
    made = dpmosaic.simulate(
        table(), epsilon=dpmosaic.Budget(zcdp_rho=5.0), mechanism=mechanism, protocol="trusted", seed=1
    )
    assert type(made.fitted.model).__name__ == kind
    made.fitted.model.save(tmp_path / "model.npz")
    check_same(made.fitted.model, dpmosaic.load_model(tmp_path / "model.npz"))


def test_selected_records_are_loaded_too(tmp_path):
    model = SelectedRecords(table(), (("a", "b"),), 1000.5)
    model.save(tmp_path / "model.npz")
    check_same(model, dpmosaic.load_model(tmp_path / "model.npz"))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"format": archive.GENERATOR}, "the generator of dp-gan, which cannot be loaded"),
        ({"format": "dpmosaic model 99"}, "expected a model of this version"),
        ({"format": "dpmosaic selected records 1"}, "holds no selected records"),
        ({}, "holds no model"),
    ],
)
def test_refuses_a_file_without_a_loadable_model(tmp_path, form, message):
    archive.write(tmp_path / "model.npz", form, {})
    with pytest.raises(DataError, match=message):
        dpmosaic.load_model(tmp_path / "model.npz")


def test_refuses_a_missing_model_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        dpmosaic.load_model(tmp_path / "model.npz")
