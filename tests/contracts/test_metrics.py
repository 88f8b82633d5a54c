"""Metrics keep their contract, and those of other packages are part of an evaluation."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.evaluation.evaluation import evaluate
from dpmosaic.simulations.evaluation.metrics import kway_errors
from dpmosaic.simulations.evaluation.tables import score_tables
from dpmosaic.testing import MetricContract

TABLE = Table.from_codes(Domain.coded({"a": 2, "b": 3}), np.array([[0, 1], [1, 2], [1, 0], [0, 0]]))


class TestKwayErrors(MetricContract):
    @pytest.fixture
    def metric(self):
        return lambda real, synthetic: {f"{e.k}-way": e.kl for e in kway_errors(real, synthetic)}


def test_a_metric_of_another_package_is_in_an_evaluation_with_its_version(install):
    code = """
        def same(real, synthetic):
            return {"records": real.record_count - synthetic.record_count, "half": 0.5}
        """
    install("acme", "1.2", code, metrics="size = acme:same")
    found = evaluate(TABLE, TABLE)
    assert found.to_json()["others"] == [
        {"name": "size", "package": "acme 1.2", "figures": {"records": 0.0, "half": 0.5}}
    ]
    shown = score_tables(found)[-1]
    assert (shown.title, shown.rows) == ("size", (("records", "0"), ("half", "0.5")))
    assert "acme 1.2" in shown.note


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError(str(real.columns))", r"'bad' of the package acme 1.2 failed .ValueError.; fix"),
        ("return {'x': float('nan')}", "expected finite figures"),
        ("return {'x': 'text'}", "failed .ValueError."),
    ],
)
def test_refuses_a_metric_that_fails_and_shows_no_values(install, body, message):
    install("acme", "1.2", f"def bad(real, synthetic):\n    {body}\n", metrics="bad = acme:bad")
    with pytest.raises(DataError, match=message) as caught:
        evaluate(TABLE, TABLE)
    assert "array" not in str(caught.value)
