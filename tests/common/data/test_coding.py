"""Chosen codes: coarser than the domain file's, and only for the attributes that it leaves open."""

import numpy as np
import pytest

from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import DataError

DOMAIN = Domain.from_json(
    {"x": {"type": "numeric", "min": 0, "max": 9, "integer": True, "bins": "auto"}, "k": ["a", "b"]}
)
TABLE = encode_table(DOMAIN, {"x": np.arange(10), "k": ["a", "b"] * 5})
CODING = Coding({"x": (0, 2, 7)})


def test_merges_the_codes_of_each_run():
    assert CODING.table(TABLE).column("x").tolist() == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    assert CODING.table(TABLE).column("k").tolist() == [0, 1] * 5
    assert CODING.table(TABLE).domain == CODING.domain(DOMAIN)


def test_values_of_a_merged_code_encode_to_it():
    domain = CODING.domain(DOMAIN)
    assert domain["x"].encode(np.arange(10)).tolist() == CODING.table(TABLE).column("x").tolist()
    assert not domain.open


def test_beyond_the_bounds_that_were_found_values_are_clipped():
    domain = Domain.from_json({"x": {"type": "numeric", "bins": "auto", "atoms": [-999]}})
    cells = domain["x"].cells[:, 0]
    low, high = np.searchsorted(cells, [0.0, 64.0])
    atom = int(np.flatnonzero(cells == -999)[0])
    coding = Coding({"x": (0, atom, atom + 1, int(low), int(high) - 8, int(high))})
    chosen = coding.domain(domain)["x"]
    assert (chosen.minimum, chosen.maximum) == (-999.0, 64.0)
    values = np.array([-1e9, -999.0, 1.0, 63.0, 64.0, 1e9])
    codes = coding.table(encode_table(domain, {"x": values})).column("x")
    assert codes.tolist() == chosen.encode(values).tolist()
    assert codes[-1] == codes[-2] == codes[-3]
    assert codes[1] == np.searchsorted(chosen.cells[:, 0], -999)


@pytest.mark.parametrize("firsts", [(), (1, 5), (0, 5, 5), (0, 5, 3), (0, 10), (0, -1)])
def test_refuses_runs_that_are_none_of_the_attribute(firsts):
    with pytest.raises(DataError, match="'x': the chosen bins are for another domain"):
        Coding({"x": firsts}).domain(DOMAIN)


@pytest.mark.parametrize("runs", [{}, {"k": (0, 1)}, {"x": (0, 2), "k": (0, 1)}])
def test_refuses_a_choice_for_other_attributes_than_those_left_open(runs):
    with pytest.raises(DataError, match="exactly the attributes that the domain leaves open"):
        Coding(runs).check_complete(DOMAIN)


def test_a_choice_may_name_attributes_of_other_parties():
    Coding({"x": (0, 2), "elsewhere": (0, 5)}).check_complete(DOMAIN)
    Coding({"elsewhere": (0, 5)}).check_complete(DOMAIN.project(["k"]))
