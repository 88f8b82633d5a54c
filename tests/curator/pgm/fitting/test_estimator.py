"""What every estimator must do, by one contract that all inherit."""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.estimator import Estimator
from dpmosaic.curator.pgm.fitting.parallel import estimate_in_parallel
from dpmosaic.curator.pgm.model import MarkovRandomField

Array = NDArray[np.float64]
Summed = Callable[[Domain, Array, Clique], Array]

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 3})
TREE: list[Clique] = [("a", "c"), ("b", "c"), ("c", "d")]


def tree_table(domain: Domain, seed: int = 0) -> Array:
    """A table of 1000 records in which a, b and d are independent given c."""
    rng = np.random.default_rng(seed)
    given_c = {name: rng.dirichlet(np.ones(domain[name].size), domain["c"].size) for name in "abd"}
    share_c = rng.dirichlet(np.ones(domain["c"].size))
    return np.einsum("c,ca,cb,cd->abcd", share_c, given_c["a"], given_c["b"], given_c["d"]) * 1000


def measured(
    domain: Domain, table: Array, cliques: Sequence[Clique], summed: Summed, sigma: float
) -> list[Measurement]:
    """Marginals of a table with Gaussian noise; exact ones that are trusted much where sigma is 0."""
    rng = np.random.default_rng(7)
    found = []
    for clique in cliques:
        values = summed(domain, table, clique)
        values = values + rng.normal(scale=sigma, size=values.shape)
        found.append(Measurement(View(clique), values, sigma or 1e-3, 0.0))
    return found


def random_table(domain: Domain, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(int(np.prod(domain.sizes)), 0.5)).reshape(domain.sizes) * 1000


class EstimatorContract:
    """Holds for every estimator."""

    estimator: Estimator

    def fit(self, domain: Domain, measurements: Sequence[Measurement], **options: Any) -> MarkovRandomField:
        return type(self).estimator(domain, measurements, **options)

    def test_a_tree_structured_table_is_recovered_without_noise(self, summed: Summed) -> None:
        table = tree_table(DOMAIN)
        exact = measured(DOMAIN, table, TREE, summed, 0.0)
        model = self.fit(DOMAIN, exact, total=1000.0, max_iterations=5000, tolerance=1e-6)
        for clique in itertools.chain.from_iterable(
            itertools.combinations(DOMAIN.names, k) for k in range(1, 5)
        ):
            np.testing.assert_allclose(model.marginal(clique), summed(DOMAIN, table, clique), atol=0.2)

    def test_the_beliefs_are_marginals_of_one_distribution(
        self, shape: tuple[Domain, list[Clique]], summed: Summed
    ) -> None:
        domain, cliques = shape
        measurements = measured(domain, random_table(domain), cliques, summed, 50.0)
        model = self.fit(domain, measurements, total=1000.0)
        for place, belief in enumerate(model.beliefs):
            assert belief.min() >= 0
            assert belief.sum() == pytest.approx(1000.0)
            above = max(model.tree.parents[place], 0)
            one, two = (
                summed(
                    domain.project(model.tree.cliques[end]), model.beliefs[end], model.tree.separators[place]
                )
                for end in (place, above)
            )
            np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)
        assert all(model.tree.home(clique) is not None for clique in cliques)

    def test_marginals_of_any_attributes_sum_to_the_total_and_are_not_negative(self, summed: Summed) -> None:
        measurements = measured(DOMAIN, random_table(DOMAIN), TREE, summed, 200.0)
        model = self.fit(DOMAIN, measurements, total=1000.0)
        for clique in itertools.combinations(DOMAIN.names, 2):
            assert model.marginal(clique).min() >= 0
            assert model.marginal(clique).sum() == pytest.approx(1000.0)

    def test_the_loss_is_that_of_the_models_marginals(
        self, shape: tuple[Domain, list[Clique]], summed: Summed
    ) -> None:
        domain, cliques = shape
        measurements = measured(domain, random_table(domain), cliques, summed, 20.0)
        model = self.fit(domain, measurements, total=1000.0)
        squares = [float(((model.marginal(m.clique) - m.values) ** 2).sum()) for m in measurements]
        assert model.loss == pytest.approx(sum(squares) / (2 * 20.0**2))

    def test_without_measurements_the_model_is_uniform(self) -> None:
        model = self.fit(DOMAIN, [], total=72.0)
        np.testing.assert_allclose(model.marginal(DOMAIN.names), np.full(36, 2.0))
        assert model.loss == 0
        assert self.fit(DOMAIN, []).total == 1.0

    def test_only_a_measured_total_gives_the_uniform_model(self) -> None:
        model = self.fit(DOMAIN, [Measurement(View(()), np.array([72.0]), 1.0, 0.0)])
        np.testing.assert_allclose(model.marginal(("a", "b")), np.full(6, 12.0))

    def test_unmeasured_attributes_are_uniform_and_independent(self, summed: Summed) -> None:
        table = tree_table(DOMAIN)
        model = self.fit(DOMAIN, measured(DOMAIN, table, [("a",)], summed, 0.0), total=1000.0)
        expected = np.outer(summed(DOMAIN, table, ("a",)), np.full(3, 1 / 3)).reshape(-1)
        np.testing.assert_allclose(model.marginal(("a", "b")), expected, atol=0.1)

    def test_components_are_independent(self, summed: Summed) -> None:
        table = random_table(DOMAIN)
        model = self.fit(DOMAIN, measured(DOMAIN, table, [("a", "b"), ("c", "d")], summed, 0.0), total=1000.0)
        one, two = summed(DOMAIN, table, ("a", "b")), summed(DOMAIN, table, ("c", "d"))
        np.testing.assert_allclose(
            model.marginal(DOMAIN.names), np.outer(one, two).reshape(-1) / 1000, atol=0.2
        )

    def test_two_measurements_of_a_clique_count_as_their_weighted_mean(self) -> None:
        domain = Domain.coded({"a": 2, "b": 2})
        one = Measurement(View(("a", "b")), np.array([100.0, 200.0, 300.0, 400.0]), 2.0, 0.0)
        two = Measurement(View(("a", "b")), np.array([130.0, 170.0, 330.0, 370.0]), 4.0, 0.0)
        model = self.fit(domain, [one, two], total=1000.0)
        # Weights 1/4 and 1/16: four fifths and one fifth.
        np.testing.assert_allclose(model.marginal(("a", "b")), [106.0, 194.0, 306.0, 394.0], atol=0.1)

    def test_a_marginal_and_a_larger_one_are_combined_by_their_variances(self) -> None:
        domain = Domain.coded({"a": 2, "b": 4})
        inner = Measurement(View(("a",)), np.array([400.0, 600.0]), 3.0, 0.0)
        outer = Measurement(View(("a", "b")), np.repeat([130.0, 120.0], 4), 2.0, 0.0)
        model = self.fit(domain, [inner, outer], total=1000.0)
        # Sums of four cells have variance 16 against 9: 520 and 400 meet at 400 + 120 x 9 / 25.
        np.testing.assert_allclose(model.marginal(("a",)), [443.2, 556.8], atol=0.2)

    def test_measurements_of_a_separator_by_neighbours_are_combined_by_their_variances(self) -> None:
        domain = Domain.coded({"a": 3, "b": 2, "c": 4})
        one = Measurement(View(("a", "b")), np.tile([200.0, 133.0 + 1 / 3], 3), 4.0, 0.0)
        two = Measurement(View(("b", "c")), np.repeat([125.0, 125.0], 4), 2.0, 0.0)
        model = self.fit(domain, [one, two], total=1000.0, tolerance=1e-6)
        # b is said to be 600 with variance 3 x 16, and 500 with 4 x 4: the first has a fourth of the weight.
        np.testing.assert_allclose(model.marginal(("b",)), [525.0, 475.0], atol=0.5)

    def test_the_same_measurements_give_the_same_model(self, summed: Summed) -> None:
        pairs = list(itertools.combinations(DOMAIN.names, 2))
        measurements = measured(DOMAIN, random_table(DOMAIN), pairs, summed, 9.0)
        one, two = (self.fit(DOMAIN, measurements) for _ in range(2))
        for first, second in zip(one.beliefs, two.beliefs, strict=True):
            np.testing.assert_array_equal(first, second)

    def test_the_order_of_measurements_does_not_matter(self, summed: Summed) -> None:
        cliques: list[Clique] = [("a",), *TREE, ("b",), ("a", "c")]
        measurements = measured(DOMAIN, random_table(DOMAIN), cliques, summed, 5.0)
        options: dict[str, Any] = {"total": 1000.0, "tolerance": 1e-7, "max_iterations": 5000}
        one, two = (self.fit(DOMAIN, given, **options) for given in (measurements, measurements[::-1]))
        for clique in TREE:
            np.testing.assert_allclose(one.marginal(clique), two.marginal(clique), atol=0.2)

    def test_a_warm_start_leads_to_the_same_model(self, summed: Summed) -> None:
        cliques: list[Clique] = [("a",), ("b",), *TREE]
        measurements = measured(DOMAIN, random_table(DOMAIN), cliques, summed, 5.0)
        options: dict[str, Any] = {"total": 1000.0, "tolerance": 1e-7, "max_iterations": 5000}
        before = self.fit(DOMAIN, measurements[:-1], **options)
        cold, warm = (self.fit(DOMAIN, measurements, warm_start=start, **options) for start in (None, before))
        assert warm.loss == pytest.approx(cold.loss, rel=1e-3)
        for clique in TREE:
            np.testing.assert_allclose(warm.marginal(clique), cold.marginal(clique), atol=0.5)

    def test_a_fit_stops_at_its_limit(self, summed: Summed) -> None:
        measurements = measured(DOMAIN, random_table(DOMAIN), TREE, summed, 5.0)
        assert self.fit(DOMAIN, measurements, max_iterations=3, tolerance=0.0).iterations == 3

    def test_a_model_comes_back_from_its_file(self, summed: Summed, tmp_path: Path) -> None:
        model = self.fit(DOMAIN, measured(DOMAIN, random_table(DOMAIN), TREE, summed, 5.0))
        model.save(tmp_path / "model.npz")
        back = MarkovRandomField.load(tmp_path / "model.npz")
        assert set(back.potentials) == set(TREE)
        np.testing.assert_array_equal(back.marginal(("a", "b")), model.marginal(("a", "b")))

    def test_refuses_an_unknown_attribute(self) -> None:
        with pytest.raises(DataError, match="unknown attribute 'x'"):
            self.fit(DOMAIN, [Measurement(View(("x",)), np.zeros(2), 1.0, 0.0)])

    def test_refuses_a_measurement_of_another_shape(self) -> None:
        with pytest.raises(ModelError, match="expected 6 cells"):
            self.fit(DOMAIN, [Measurement(View(("a", "b")), np.zeros(5), 1.0, 0.0)])
        with pytest.raises(ModelError, match="in domain order"):
            self.fit(DOMAIN, [Measurement(View(("b", "a")), np.zeros(6), 1.0, 0.0)])

    def test_refuses_a_model_over_the_limit_before_it_is_built(self) -> None:
        domain = Domain.coded({f"x{i}": 100 for i in range(12)})
        cliques = list(itertools.combinations(domain.names, 2))
        measurements = [Measurement(View(clique), np.zeros(10_000), 1.0, 0.0) for clique in cliques]
        with pytest.raises(ModelError, match=r"needs \d+\.\d MiB, more than the limit of 1024\.0 MiB"):
            self.fit(domain, measurements)

    @pytest.mark.parametrize("total", [0.0, -1.0, np.nan, np.inf])
    def test_refuses_a_total_that_is_no_number_of_records(self, total: float) -> None:
        with pytest.raises(ValueError, match="total: expected a positive number"):
            self.fit(DOMAIN, [], total=total)

    def test_refuses_a_warm_start_of_another_domain(self) -> None:
        other = MarkovRandomField.uniform(Domain.coded({"b": 2}), 1.0)
        with pytest.raises(ValueError, match="of the same domain"):
            self.fit(DOMAIN, [], warm_start=other)


class RecoveryContract(EstimatorContract):
    """Holds for estimators that meet any measurements which one table can meet."""

    def test_exact_marginals_are_recovered(self, shape: tuple[Domain, list[Clique]], summed: Summed) -> None:
        domain, cliques = shape
        table = random_table(domain)
        exact = measured(domain, table, cliques, summed, 0.0)
        model = self.fit(domain, exact, total=1000.0, max_iterations=3000, tolerance=1e-6)
        for clique in cliques:
            np.testing.assert_allclose(model.marginal(clique), summed(domain, table, clique), atol=0.2)


class TestJoint(RecoveryContract):
    estimator = staticmethod(estimate)


class TestParallel(RecoveryContract):
    estimator = staticmethod(estimate_in_parallel)


class TestParallelEachCliqueAlone(EstimatorContract):
    estimator = staticmethod(partial(estimate_in_parallel, max_block_mb=0.0))
