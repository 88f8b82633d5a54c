"""The evidence of a release: which measurements it keeps, as interactions, and through a file."""

import math

import numpy as np
import pytest

from dpmosaic.common.data.attributes.categorical import CodedAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.parts.bounds import ErrorBound
from dpmosaic.curator.mechanisms.parts.fitted import FittedModel
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.results.evidence import Evidence, Known

DOMAIN = Domain((CodedAttribute("a", 3), CodedAttribute("b", 4), CodedAttribute("c", 1)))
PAIR = np.arange(12.0) ** 2


def fitted(*measurements, bounds=()):
    return FittedModel(MarkovRandomField.uniform(DOMAIN, 100.0), measurements, (), bounds)


def bound(clique, l1):
    return ErrorBound(clique, l1, l1 / 200, 0.95, False)


def test_a_marginal_gives_the_interactions_of_all_its_subsets():
    evidence = Evidence.of(fitted(Measurement(View(("a", "b")), PAIR, 2.0, 0.1)), 100.0)
    assert set(evidence.known) == {("a",), ("b",), ("a", "b")}
    cells = PAIR.reshape(3, 4)
    assert evidence.known["a", "b"].values == pytest.approx(interaction(PAIR, (3, 4)))
    assert evidence.known["a",].values == pytest.approx(cells.sum(axis=1) - PAIR.sum() / 3)
    # A cell of the smaller marginal is a sum of four or three noisy ones.
    assert evidence.known["a",].sigma == pytest.approx(2.0 * math.sqrt(4))
    assert evidence.known["b",].sigma == pytest.approx(2.0 * math.sqrt(3))


def test_an_attribute_of_one_value_has_no_interaction():
    evidence = Evidence.of(fitted(Measurement(View(("a", "c")), np.arange(3.0), 2.0, 0.1)), 100.0)
    assert set(evidence.known) == {("a",)}


def test_measurements_of_one_interaction_are_averaged_by_their_variances():
    known = interaction(PAIR, (3, 4))
    one = Measurement(View(("a", "b"), interaction=True), known, 1.0, 0.1)
    other = Measurement(
        View(("a", "b"), interaction=True), known + 5 * interaction(np.eye(3, 4).ravel(), (3, 4)), 2.0, 0.1
    )
    found = Evidence.of(fitted(one, other), 100.0).known["a", "b"]
    assert found.values == pytest.approx(known + interaction(np.eye(3, 4).ravel(), (3, 4)))
    assert found.sigma == pytest.approx(math.sqrt(1 / (1 + 1 / 4)))


def test_noise_that_is_not_alike_in_all_cells_is_left_out():
    boxed = Measurement(View(("a",), boxes=(((0, 2),),)), np.array([1.0]), 1.0, 0.1)
    products = Measurement(View(("a",)), np.arange(3.0), 1.0, 0.1, gaussian=False)
    uneven = Measurement(View(("a",)), np.arange(3.0), 1.0, 0.1, sigmas=np.array([1.0, 2.0, 3.0]))
    assert not Evidence.of(fitted(boxed, products, uneven), 100.0).views


def test_groups_of_codes_have_interactions_of_their_own():
    groups = ((0, 1, 1), (0, 0, 1, 1))
    cells = np.array([[1.0, 2.0], [4.0, 8.0]])
    evidence = Evidence.of(fitted(Measurement(View(("a", "b"), groups), cells.ravel(), 2.0, 0.1)), 100.0)
    assert not evidence.known
    pair = evidence.grouped[View(("a", "b"), groups, interaction=True)]
    assert pair.values == pytest.approx(interaction(cells.ravel(), (2, 2)))
    alone = evidence.grouped[View(("a",), groups[:1], interaction=True)]
    assert alone.values == pytest.approx([-4.5, 4.5])
    assert alone.sigma == pytest.approx(2.0 * math.sqrt(2))


def test_the_bound_of_a_pair_is_the_least_that_a_marginal_with_it_has():
    evidence = Evidence.of(
        fitted(bounds=(bound(("a", "b"), 30.0), bound(("a", "b", "c"), 20.0), bound(("a",), 1.0))), 100.0
    )
    assert evidence.bounds == {("a", "b"): 0.2, ("a", "c"): 0.2, ("b", "c"): 0.2}


def test_a_file_holds_all_of_it(tmp_path):
    known = {
        ("a",): Known(np.array([1.0, -2.0, 1.0]), 3.0),
        ("a", "b"): Known(interaction(PAIR, (3, 4)), 0.5),
    }
    view = View(("a", "b"), ((0, 1, 1), ()), interaction=True)
    grouped = {view: Known(np.arange(8.0), 2.0)}
    Evidence(DOMAIN, 12.5, known, {("a", "b"): 0.25}, grouped=grouped).save(tmp_path / "evidence.npz")
    back = Evidence.load(tmp_path / "evidence.npz")
    assert (back.domain, back.records, back.bounds) == (DOMAIN, 12.5, {("a", "b"): 0.25})
    assert list(back.known) == list(known)
    assert back.grouped[view].values.tolist() == list(range(8))
    assert back.grouped[view].sigma == 2.0
    for clique, one in known.items():
        assert back.known[clique].values.tolist() == one.values.tolist()
        assert back.known[clique].sigma == one.sigma


@pytest.mark.parametrize(
    "wrong",
    [
        Evidence(DOMAIN, 12.5, {("a",): Known(np.zeros(2), 3.0)}),
        Evidence(DOMAIN, 12.5, {("a",): Known(np.zeros(3), 0.0)}),
        Evidence(DOMAIN, 12.5, {("a",): Known(np.full(3, np.nan), 1.0)}),
        Evidence(DOMAIN, 12.5, {("a",): Known(np.full(3, 1e30), 1.0)}),
        Evidence(DOMAIN, 12.5, {("a",): Known(np.zeros(3), 1e30)}),
        Evidence(DOMAIN, 12.5, {}, {("a", "b"): -1.0}),
        Evidence(DOMAIN, -1.0, {}),
        Evidence(DOMAIN, 1e30, {}),
    ],
    ids=["cells", "sigma", "not finite", "counts", "noise", "bound", "negative records", "records"],
)
def test_a_damaged_file_is_refused(tmp_path, wrong):
    wrong.save(tmp_path / "evidence.npz")
    with pytest.raises(DataError, match="holds no evidence"):
        Evidence.load(tmp_path / "evidence.npz")
