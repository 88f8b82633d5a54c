"""What every metric of an evaluation keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ...common.data.domain import Domain
from ...common.data.table import Table
from ..evaluation.other_metrics import Metric

_DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 5})


def _table(records: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, _DOMAIN[name].size, records) for name in _DOMAIN]
    return Table.from_codes(_DOMAIN, np.column_stack(columns))


class MetricContract:
    """Inherit it, and give the metric."""

    @pytest.fixture
    def metric(self) -> Metric:
        """The metric: figures by name, of a real and a synthetic table of one domain."""
        raise NotImplementedError

    @pytest.mark.parametrize("records", [1, 40])
    def test_its_figures_are_finite_numbers_under_names(self, metric: Metric, records: int) -> None:
        """Tables of another number of records, and of one record, among them."""
        found = metric(_table(300, 1), _table(records, 2))
        assert found
        assert all(isinstance(name, str) and math.isfinite(figure) for name, figure in found.items())

    def test_it_gives_the_same_figures_again(self, metric: Metric) -> None:
        """Whatever it draws has a seed of its own."""
        real, synthetic = _table(300, 1), _table(300, 2)
        assert dict(metric(real, synthetic)) == dict(metric(real, synthetic))

    def test_it_leaves_the_tables_as_they_are(self, metric: Metric) -> None:
        """The same tables serve every metric."""
        real, synthetic = _table(300, 1), _table(300, 2)
        before = real.digest(), synthetic.digest()
        metric(real, synthetic)
        assert (real.digest(), synthetic.digest()) == before

    def test_it_tells_a_perfect_table_from_another(self, metric: Metric) -> None:
        """A metric that cannot is no metric."""
        real = _table(300, 1)
        flat = Table.from_codes(_DOMAIN, np.zeros((300, 3), dtype=np.int64))
        assert dict(metric(real, real)) != dict(metric(real, flat))
