"""Names of records: in which rows new ones stand, and what is refused."""

import numpy as np
import pytest

from dpmosaic.common.data.attributes.unmodelled import Identifier
from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.common.errors import DataError


@pytest.mark.parametrize("empty", [0.01, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("rows", [1000, 12_345])
def test_a_share_of_the_rows_has_no_name(empty, rows):
    entry = {"type": "identifier", "pattern": "K-{:06d}", "empty": empty}
    names = read_entry("x", entry)
    assert names.to_json() == entry
    drawn = names.draw(rows)
    none = np.array([name is None for name in drawn])
    assert not none[0]
    assert none.mean() == pytest.approx(empty, abs=5 / rows)
    # Whatever the order of the rows, each part of them has that share.
    assert none[: rows // 5].mean() == pytest.approx(empty, abs=25 / rows)
    kept = drawn[~none].tolist()
    assert len({*kept}) == len(kept)
    # Rows that are made in parts have the same names.
    assert [*names.draw(400), *names.draw(rows - 400, 401)] == drawn.tolist()


@pytest.mark.parametrize(("pattern", "empty"), [("{:d}", 0.5), ("K-{:d}", 1.0), ("K-{:d}", -0.1)])
def test_a_share_of_no_names_that_cannot_be_is_refused(pattern, empty):
    with pytest.raises(DataError, match="empty is a share"):
        Identifier("x", pattern, empty)
