"""Real rows in the codes of a release, and equal rows."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.certificates.unseen import Unseen
from dpmosaic.simulations.tables.frames import raw_table
from dpmosaic.synthesis.attacking.reading import Rows, real_rows

DOMAIN = Domain.from_json(
    {
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10},
        "city": ["Bern", "Genf"],
        "flag": {"type": "boolean", "false": ["no"], "true": ["yes"]},
    }
)
ROWS = pd.DataFrame(
    {
        "age": ["7", "", "130", "unknown"],
        "city": ["Genf", "Zug", "", "Bern"],
        "flag": ["yes", "no", "perhaps", ""],
    }
)


def test_what_a_first_step_did_not_list_counts_as_it_counted_there():
    unseen = {name: Unseen(name, 1, 5.0) for name in DOMAIN}
    found = real_rows(DOMAIN, unseen, raw_table(ROWS)).rows.table
    assert [column.tolist() for column in found.columns] == [[0, 1, 9, 1], [1, 1, 1, 0], [1, 0, 1, 1]]


def test_rows_of_a_given_domain_are_read_as_that_says():
    with pytest.raises(DataError, match="column 'age'"):
        real_rows(DOMAIN, {}, raw_table(ROWS))


def test_rows_are_equal_to_the_last_digit_of_their_numbers():
    table = real_rows(DOMAIN, {name: Unseen(name, 0, 0.0) for name in DOMAIN}, raw_table(ROWS)).rows.table
    one = Rows.of(table, {"age": np.array([7.0, 7.25, 7.0, np.nan])})
    other = Rows.of(table, {"age": np.array([7.0, 7.5, np.nan, np.nan])})
    assert one.equal_in(other).tolist() == [1, 0, 0, 2]
    assert len(one.unique().keys) == 4
    assert len(Rows.concatenate([one, other]).unique().keys) == 3
