"""Rows as their users get them: spelled and typed by the domain, stored as the real columns were."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.results.frames import typed_frame
from dpmosaic.curator.results.raw_frames import encode_frame
from dpmosaic.curator.results.storage import Storage, shown_frame, storage_of
from support.kinds import tables


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(tables(most=3, zones=["UTC"]), st.sampled_from([None, *Storage]))
def test_random_tables_have_their_codes_and_types_whatever_their_values(drawn, way):
    domain, columns, generator = drawn
    table = Table.from_codes(domain, columns)
    storage = {} if way is None else dict.fromkeys(domain.names, way)
    rows = shown_frame(domain, typed_frame(table, domain.names, generator), storage)
    back = encode_frame(domain, rows)
    for name in domain:
        assert np.array_equal(back.column(name), table.column(name)), (name, domain[name])
    first = shown_frame(domain, typed_frame(table.rows(0, 1), domain.names, generator), storage)
    assert first.dtypes.equals(rows.dtypes)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([1, 2]), None),
        (pd.Series([1, None]), None),
        (pd.Series(["a", "b"]), None),
        (pd.Series(["a", 1], dtype=object), None),
        (pd.Series(["a"], dtype="category"), Storage.CATEGORY),
        (pd.Series(pd.to_timedelta([1], "s")), Storage.DURATION),
        (pd.Series([1], dtype="Int8"), Storage.NULLABLE),
        (pd.Series([1.5], dtype="Float32"), Storage.NULLABLE),
        (pd.Series([True], dtype="boolean"), Storage.NULLABLE),
        (pd.Series(["a"], dtype="string"), Storage.NULLABLE),
        (pd.Series([1], dtype="int8[pyarrow]"), Storage.ARROW),
        (pd.Series(pd.to_datetime(["2020-01-01"])).dt.tz_localize("UTC"), None),
    ],
)
def test_only_the_way_of_storing_is_told_from_a_type(column, expected):
    assert storage_of(column.to_frame("x")).get("x") is expected


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (("Int64", "string"), Storage.NULLABLE),
        (("Int64", "datetime64[us]", "category"), Storage.NULLABLE),
        (("int64[pyarrow]",), Storage.ARROW),
        (("Int64", "int64"), None),
        (("category",), None),
        ((), None),
    ],
)
def test_a_column_of_objects_counts_as_stored_as_all_others_are(dtypes, expected):
    values = {"datetime64[us]": pd.to_datetime(["2020-01-01"]), "string": ["a"]}
    rows = {f"x{place}": pd.Series(values.get(kind, [1]), dtype=kind) for place, kind in enumerate(dtypes)}
    assert storage_of(pd.DataFrame({"odd": pd.Series(["a"], dtype=object), **rows})).get("odd") is expected


def test_categories_are_those_of_the_domain_in_its_order():
    domain = Domain.from_json({"x": ["b", "", "a", "c"], "n": [3, 1, 2, ""], "y": 3})
    table = Table.from_codes(domain, {"x": np.array([0, 1]), "n": np.array([1, 3]), "y": np.array([1, 2])})
    storage = dict.fromkeys(domain.names, Storage.CATEGORY)
    rows = shown_frame(domain, typed_frame(table, domain.names, np.random.default_rng(0)), storage)
    assert rows["x"].dtype == pd.CategoricalDtype(pd.Index(["b", "a", "c"], dtype="str"), False)
    assert list(rows["n"].dtype.categories) == [3, 1, 2]
    assert rows["y"].dtype == "int64"
    assert rows.isna().to_numpy().tolist() == [[False, False, False], [True, True, False]]
