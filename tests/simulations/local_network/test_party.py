import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.local_network.network import LocalNetwork
from dpmosaic.simulations.parties.people import Overlap

DOMAIN = Domain.from_json({"kind": ["x", 'y "z"'], "code": 3, "odd name": 2})


@pytest.fixture
def people(tmp_path):
    """A table with identifiers, as a file."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"id {number}" for number in range(300)],
            "kind": rng.choice(["x", 'y "z"'], 300),
            "code": rng.integers(0, 3, 300),
            "odd name": rng.integers(0, 2, 300),
        }
    )
    table.to_csv(tmp_path / "people.csv", index=False)
    return table


def files(network):
    return {name: pd.read_parquet(network.party(name) / "rows.parquet") for name in network.all_names}


@pytest.mark.slow
def test_each_party_gets_the_rows_of_its_slice_in_one_order(tmp_path, people):
    network = LocalNetwork.create(tmp_path / "net", tmp_path / "people.csv", DOMAIN, "2x2")
    rows = files(network)
    for name, start in (("party-1-1", 0), ("party-2-1", 150)):
        part = people[["kind", "code"]][start : start + 150].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows[name].astype(str), part.astype(str))
    assert list(rows["party-2-2"].columns) == ["odd name"]
    assert "[alignment]" not in network.plan.read_text().splitlines()


@pytest.mark.slow
def test_parties_with_an_overlap_get_their_own_people_in_their_own_order(tmp_path, people):
    network = LocalNetwork.create(
        tmp_path / "net",
        tmp_path / "people.csv",
        DOMAIN,
        "2x2",
        overlap=Overlap(0.8, shuffle=True, typos=0.1),
        key="id",
    )
    whole = people.astype(str).set_index("id")
    for name, rows in files(network).items():
        held = whole[:150] if name.startswith("party-1") else whole[150:]
        right = rows[rows["id"].isin(held.index)].set_index("id").astype(str)
        assert 120 <= len(rows) <= 150
        assert len(rows) - len(right) == round(0.1 * len(rows))
        pd.testing.assert_frame_equal(right, held.loc[right.index][list(right.columns)])
        assert list(right.index) != sorted(right.index, key=list(held.index).index)
    assert "[alignment]" in network.plan.read_text().splitlines()


@pytest.mark.slow
def test_without_a_key_rows_are_numbered(tmp_path, people):
    options = {"overlap": Overlap(0.8)}
    network = LocalNetwork.create(tmp_path / "net", tmp_path / "people.csv", DOMAIN, "1x2", **options)
    for rows in files(network).values():
        places = rows["row_number"].astype(int)
        assert 240 <= len(rows) < 300
        for name in set(rows.columns) - {"row_number"}:
            assert list(rows[name].astype(str)) == list(people[name][places].astype(str))


def test_refuses_a_key_that_would_be_released(tmp_path, people):
    with pytest.raises(DataError, match="expected a column that is no attribute, got 'code'"):
        LocalNetwork.create(
            tmp_path / "net", tmp_path / "people.csv", DOMAIN, "1x2", overlap=Overlap(), key="code"
        )
