import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm import model as model_module
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.inference.queries import MarginalQueries
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 4, "d": 1})


@pytest.fixture
def fitted() -> MarkovRandomField:
    rng = np.random.default_rng(0)
    cliques = [("a",), ("a", "b"), ("b", "c")]
    measurements = [Measurement(View(c), rng.random(DOMAIN.cells(c)) * 90, 3.0, 0.1) for c in cliques]
    return estimate(DOMAIN, measurements, total=200.0, max_iterations=30)


def test_the_uniform_model_spreads_the_total_evenly() -> None:
    model = MarkovRandomField.uniform(DOMAIN, 48.0)
    np.testing.assert_allclose(model.marginal(("a", "c")), np.full(8, 6.0))
    np.testing.assert_allclose(model.marginal(()), [48.0])
    assert model.size_mb == (2 + 3 + 4 + 1) * 8 / 2**20


def test_marginals_come_in_domain_order_whatever_the_order_asked(fitted: MarkovRandomField) -> None:
    np.testing.assert_array_equal(fitted.marginal(("c", "a")), fitted.marginal(("a", "c")))
    table = fitted.marginal(("a", "b", "c")).reshape(2, 3, 4)
    np.testing.assert_allclose(table.sum(axis=1).reshape(-1), fitted.marginal(("a", "c")))


def test_marginals_of_several_cliques_are_those_of_each(fitted: MarkovRandomField) -> None:
    cliques = [("a", "c"), ("b",), ("a", "c", "d"), (), ("a", "c")]
    for clique, found in zip(cliques, fitted.marginals(cliques), strict=True):
        np.testing.assert_array_equal(found, fitted.marginal(clique))
        assert found.sum() == pytest.approx(200.0)


def test_l1_distances_are_those_of_the_marginals(fitted: MarkovRandomField) -> None:
    cliques = [("a", "c"), ("b",), ("a", "b", "c")]
    vectors = [np.zeros(8), np.array([200.0, 0.0, 0.0]), fitted.marginal(("a", "b", "c"))]
    first, second, third = fitted.l1_distances(cliques, vectors)
    assert first == pytest.approx(200.0)
    assert second == pytest.approx(2 * (200.0 - fitted.marginal(("b",))[0]))
    assert third == 0.0


def test_marginals_within_limits_are_copies_though_the_model_keeps_its_pairs(
    fitted: MarkovRandomField,
) -> None:
    cliques = [("a", "b"), ("a", "c"), ("a", "b", "c"), ("b",)]
    wanted = fitted.marginals(cliques)
    for _ in range(3):
        for marginal, expected in zip(fitted.marginals_within_limits(cliques), wanted, strict=True):
            assert marginal is not None
            np.testing.assert_array_equal(marginal, expected)
            marginal[:] = -1.0


def test_pairs_are_computed_once_and_larger_marginals_again(
    fitted: MarkovRandomField, monkeypatch: pytest.MonkeyPatch
) -> None:
    cliques = [("a", "c"), ("a", "b", "c")]
    before = fitted.marginals_within_limits(cliques)
    asked = []
    compute = MarginalQueries.marginal
    monkeypatch.setattr(
        MarginalQueries, "marginal", lambda self, clique: asked.append(clique) or compute(self, clique)
    )
    again = fitted.marginals_within_limits(cliques)
    assert asked == [("a", "b", "c")]
    np.testing.assert_array_equal(again[0], before[0])


def test_pairs_are_kept_only_while_there_is_room(
    fitted: MarkovRandomField, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of 6, 8 and 12 cells, and room for 15: the third has none."""
    monkeypatch.setattr(model_module, "_KEPT_PAIR_CELLS", 15)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    for found, wanted in zip(fitted.marginals_within_limits(pairs), fitted.marginals(pairs), strict=True):
        assert found is not None
        np.testing.assert_array_equal(found, wanted)
    assert set(fitted._kept) == {("a", "b"), ("a", "c")}


def test_marginals_are_copies_and_beliefs_are_read_only(fitted: MarkovRandomField) -> None:
    for clique in (fitted.tree.cliques[0], ("a", "c")):
        fitted.marginal(clique)[0] = 1e6
        assert fitted.marginal(clique)[0] < 1e6
    with pytest.raises(ValueError, match="read-only"):
        fitted.beliefs[0][...] = 0.0


def test_refuses_unknown_and_repeated_attributes(fitted: MarkovRandomField) -> None:
    with pytest.raises(DataError, match="unknown attribute 'x'"):
        fitted.marginal(("x",))
    with pytest.raises(DataError, match="named twice"):
        fitted.marginal(("a", "a"))


def test_refuses_parts_that_do_not_fit_together(fitted: MarkovRandomField) -> None:
    other = JunctionTree.build(Domain.coded({"a": 2}), [])
    with pytest.raises(ValueError, match="another domain"):
        MarkovRandomField(DOMAIN, other, fitted.beliefs, 1.0, {}, 0.0, 0)
    with pytest.raises(ValueError, match="one belief of the clique's shape"):
        MarkovRandomField(DOMAIN, fitted.tree, fitted.beliefs[1:], 1.0, {}, 0.0, 0)
    with pytest.raises(ValueError, match="the potential of \\('b',\\)"):
        MarkovRandomField(DOMAIN, fitted.tree, fitted.beliefs, 1.0, {("b",): np.zeros(2)}, 0.0, 0)


def test_a_saved_model_comes_back_exactly(fitted: MarkovRandomField, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    fitted.save(path)
    back = MarkovRandomField.load(path)
    assert (back.domain, back.tree, back.total) == (fitted.domain, fitted.tree, fitted.total)
    assert (back.loss, back.iterations) == (fitted.loss, fitted.iterations)
    assert back.converged == fitted.converged
    replace(fitted, converged=not fitted.converged).save(path)
    assert MarkovRandomField.load(path).converged != fitted.converged
    assert list(back.potentials) == list(fitted.potentials)
    for one, two in zip(back.beliefs, fitted.beliefs, strict=True):
        np.testing.assert_array_equal(one, two)
    for clique, potential in fitted.potentials.items():
        np.testing.assert_array_equal(back.potentials[clique], potential)


def test_the_file_holds_the_model_and_nothing_else(fitted: MarkovRandomField, tmp_path: Path) -> None:
    path = tmp_path / "under.any.name"
    fitted.save(path)
    places = range(len(fitted.tree.cliques))
    expected = {"form.npy", *(f"belief_{p}.npy" for p in places), *(f"potential_{p}.npy" for p in range(3))}
    assert set(zipfile.ZipFile(path).namelist()) == expected


def test_refuses_files_that_are_no_model(fitted: MarkovRandomField, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    with pytest.raises(DataError, match="cannot be read"):
        MarkovRandomField.load(path)
    path.write_bytes(b"no model")
    with pytest.raises(DataError, match="holds no model"):
        MarkovRandomField.load(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="holds no model"):
        MarkovRandomField.load(path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(DataError, match="holds no model"):
        MarkovRandomField.load(path)
    np.savez(path, form=np.array({"an": "object"}, dtype=object))
    with pytest.raises(DataError, match="holds no model"):
        MarkovRandomField.load(path)
    fitted.save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="holds no model"):
        MarkovRandomField.load(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("belief_0", lambda array: array - 1e6),
        ("belief_0", lambda array: array * np.nan),
        ("belief_0", lambda array: array * 2),
        ("belief_0", lambda array: array.astype(np.float32)),
        ("belief_0", lambda array: array[..., :1]),
        ("potential_0", lambda array: array[:1]),
        ("potential_0", lambda array: array + np.inf),
        ("form", lambda array: array[:-1]),
        ("form", lambda array: np.frombuffer(array.tobytes().replace(b"model 1", b"model 9"), np.uint8)),
        ("form", lambda array: np.frombuffer(array.tobytes().replace(b'"parents"', b'"perents"'), np.uint8)),
    ],
)
def test_refuses_a_model_file_with_one_part_changed(
    fitted: MarkovRandomField, tmp_path: Path, name: str, change: object
) -> None:
    path = tmp_path / "model.npz"
    fitted.save(path)
    with np.load(path) as arrays:
        parts = dict(arrays)
    parts[name] = change(parts[name])  # type: ignore[operator]
    np.savez(path, **parts)
    with pytest.raises(DataError, match="give a file written by save"):
        MarkovRandomField.load(path)


def test_refuses_a_clique_too_large() -> None:
    model = MarkovRandomField.uniform(Domain.coded({f"x{i}": 100 for i in range(10)}), 1.0)
    with pytest.raises(ModelError, match="ask for a smaller clique"):
        model.marginal(model.domain.names)
    assert model.l1_distances([model.domain.names], [np.zeros(0)]) == [None]
