"""Tables of other libraries: what is read of their types, and what is refused in one sentence."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpmosaic
from dpmosaic.simulations.tables.arrow_tables import data_frame

ROWS = 3000
RNG = np.random.default_rng(5)
DAYS = np.datetime64("2020-01-01") + RNG.integers(0, 300, ROWS)
NUMBERS = RNG.integers(0, 60, ROWS)
WORDS = RNG.choice(["lo", "hi"], ROWS)

COLUMNS = {
    "string_view": (pa.array(WORDS, pa.string_view()), "string"),
    "large_string": (pa.array(WORDS, pa.large_string()), "string"),
    "dictionary": (
        pa.array(WORDS).dictionary_encode(),
        "dictionary<values=large_string, indices=int8, ordered=0>",
    ),
    "int8": (pa.array(NUMBERS, pa.int8()), "int64"),
    "uint64": (pa.array(NUMBERS, pa.uint64()), "int64"),
    "float32": (pa.array(NUMBERS / 4, pa.float32()), "double"),
    "decimal": (pa.array(NUMBERS / 4).cast(pa.decimal128(6, 2)), "double"),
    "bool": (pa.array(NUMBERS > 30), "bool"),
    "date32": (pa.array(DAYS), "date32[day]"),
    "date64": (pa.array(DAYS).cast(pa.date64()), "date32[day]"),
    "ns": (pa.array(DAYS.astype("datetime64[ns]")), "timestamp[us]"),
    "offset": (
        pa.array(DAYS.astype("datetime64[us]")).cast(pa.timestamp("us", "+02:00")),
        "timestamp[us, tz=Etc/GMT-2]",
    ),
    "zoned": (
        pa.array(DAYS.astype("datetime64[us]")).cast(pa.timestamp("us", "Europe/Berlin")),
        "timestamp[us, tz=Europe/Berlin]",
    ),
}
"""Name -> cells, and the type that comes back, with a drafted domain and without one."""

TABLE = pa.table({name: cells for name, (cells, _) in COLUMNS.items()})
KINDS = {name: kind for name, (_, kind) in COLUMNS.items()}


def types_of(table):
    """The types by name; pandas 2 and 3 make dictionaries of other texts."""
    return {
        field.name: str(field.type).replace("<values=string", "<values=large_string")
        for field in table.schema
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
def test_every_type_of_arrow_comes_back_as_one_that_no_value_decides():
    release = dpmosaic.synthesize(TABLE, epsilon=20.0, mechanism="independent", seed=1)
    assert types_of(release.table) == KINDS
    draft = dpmosaic.draft(TABLE)
    assert types_of(dpmosaic.synthesize(TABLE, domain=draft, mechanism="independent", seed=1).table) == KINDS


def test_columns_without_a_type_are_texts():
    rows = data_frame(pa.table({"a": pa.nulls(3), "b": [1, 2, 3]}))
    assert str(rows["a"].dtype) == "large_string[pyarrow]"
    assert rows["a"].isna().all()


@pytest.mark.slow
def test_frames_of_polars_are_read_with_all_their_types():
    polars = pytest.importorskip("polars", reason="needs polars")
    rows = polars.DataFrame({"word": WORDS, "day": DAYS}).with_columns(
        kind=polars.Series(WORDS).cast(polars.Categorical),
        step=polars.Series(WORDS).cast(polars.Enum(["lo", "hi"])),
    )
    domain = {name: ["lo", "hi"] for name in ("word", "kind")}
    domain |= {"step": {"type": "categorical", "categories": ["lo", "hi"], "ordered": True}}
    domain |= {"day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4}}
    release = dpmosaic.synthesize(rows, domain=domain, mechanism="independent", seed=1)
    assert release.table.schema == rows.schema
    assert dpmosaic.encode(rows, domain).digest() == dpmosaic.encode(rows.to_pandas(), domain).digest()


def test_a_type_that_only_its_library_knows_is_refused():
    polars = pytest.importorskip("polars", reason="needs polars")
    rows = polars.DataFrame({"n": polars.Series([1, 2]).cast(polars.Int128)})
    with pytest.raises(dpmosaic.DataError, match=r"types Arrow knows.*cast or drop it"):
        dpmosaic.synthesize(rows)


@pytest.mark.parametrize("data", [[1, 2], {"a": [1]}, np.zeros((2, 2)), None], ids=type)
@pytest.mark.parametrize("name", ["synthesize", "draft"])
def test_what_is_neither_a_frame_nor_a_path_is_refused_in_one_sentence(name, data):
    with pytest.raises(
        dpmosaic.DataError, match=r"expected a data frame of pandas, Polars, PyArrow or DuckDB, or the path"
    ):
        getattr(dpmosaic, name)(data)


def test_a_file_of_another_kind_is_refused_with_the_way_on(tmp_path):
    pd.DataFrame({"a": [1]}).to_json(tmp_path / "rows.json")
    with pytest.raises(
        dpmosaic.DataError, match=r"rows.json to end in one of .*read it with pandas and give"
    ):
        dpmosaic.synthesize(tmp_path / "rows.json")
