"""No cell of a data frame, whatever Python object it is, ends a release: an error would tell of its row."""

import contextlib
import datetime as dt
import warnings
from contextlib import closing
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.curator.people.summaries import AnyOf
from dpmosaic.curator.results.keys import keys_as_texts
from dpmosaic.simulations.tables.frames import raw_table
from dpmosaic.synthesis.learning.asking import Rows
from dpmosaic.synthesis.learning.cells import Cells
from dpmosaic.synthesis.learning.learning import learn
from dpmosaic.synthesis.learning.private_counts import PrivateCounts
from dpmosaic.synthesis.related.keyed import read_keyed
from support.related import DOMAINS, patients, release

pytestmark = pytest.mark.slow


class Broken:
    """An object that fails at whatever is asked of it."""

    def __str__(self):
        raise RuntimeError("what it holds")

    __hash__ = __eq__ = __float__ = __bool__ = __iter__ = __len__ = __str__


class Whole(int):
    """A number that cannot be written."""

    __str__ = Broken.__str__


CELL = st.one_of(
    st.none(),
    st.text(max_size=5),
    st.characters(categories=["Cs"]),
    st.floats(),
    st.integers(),
    st.decimals(),
    st.complex_numbers(),
    st.binary(max_size=3),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.sampled_from([pd.NA, pd.NaT, pd.Interval(0, 1), pd.Period("2020-01"), np.datetime64(2**62, "s")]),
    st.builds(Broken),
    st.builds(Whole, st.integers()),
    st.sampled_from([Decimal("sNaN"), 10**5000, np.float32(0.1), np.array([1.0, 2.0]), np.array([])]),
)

COLUMNS = {
    "texts": ["north", "south"] * 20,
    "numbers": [1.5, 2.5] * 20,
    "dates": [dt.datetime(2020, 1, 1), dt.datetime(2021, 5, 6)] * 20,
}


def column_with(name, cell):
    cells = np.empty(41, dtype=object)
    cells[:40] = COLUMNS[name]
    cells[40] = cell
    return pd.DataFrame({"a": pd.Series(cells, dtype=object)})


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=12)
@given(cell=CELL)
@example(cell=Decimal("sNaN"))
@example(cell="\ud800")
@example(cell=Broken())
def test_any_cell_is_learned_and_encoded(name, cell):
    raw = raw_table(column_with(name, cell))
    counts = PrivateCounts(10**8, PrivacyUnit(Adjacency.ADD_REMOVE), RandomStream.from_seed(1))
    with closing(Cells.of(raw.source, raw.timezones)) as cells:
        found = learn(cells, counts, Rows(41.0), 1e8, 1e-9)
    bound = {
        one.name: NumericAttribute(one.name, 0, 9, 3, True, unreadable="missing")
        if getattr(one, "open", False)
        else one
        for one in found.reading.attributes
    }
    assert raw.read(Domain(tuple(bound.values()), found.reading.unmodelled)).record_count == 41


@settings(max_examples=60)
@given(cell=CELL)
@example(cell=[1])
@example(cell=Decimal("sNaN"))
@example(cell=Broken())
def test_any_cell_of_a_key_has_a_text(cell):
    texts = keys_as_texts(column_with("texts", cell)["a"])
    assert texts.iloc[:40].tolist() == COLUMNS["texts"]


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=60)
@given(cell=CELL)
@example(cell=[1])
@example(cell="\ud800")
@example(cell=Decimal("sNaN"))
@example(cell=Broken())
def test_any_cell_of_an_order_is_read_or_refused(name, cell):
    rows = column_with(name, cell).assign(id=[place // 2 for place in range(41)], b=1)
    with contextlib.suppress(DataError):
        read_keyed(rows, "id", (), "a", np.random.default_rng(1))


@pytest.mark.parametrize("held", [1, True, "1", 1.0, Decimal(1)])
@settings(max_examples=30)
@given(cell=CELL)
@example(cell=True)
@example(cell=1)
@example(cell=Decimal("1.00"))
@example(cell=[1])
@example(cell=Broken())
def test_any_cell_of_which_a_summary_speaks_is_read_by_itself(held, cell):
    cells = np.empty(5, dtype=object)
    cells[0], cells[1:] = cell, held
    for values in (("1",), ("true",)):
        summary = AnyOf("ones", "a", values)
        found = [
            summary.rows_with_values(pd.DataFrame({"a": pd.Series(cells[first:], dtype=object)})).tolist()
            for first in (0, 1)
        ]
        assert found[0][1:] == found[1]


@pytest.mark.parametrize("what", ["first", "last"])
def test_no_cell_of_the_row_of_which_a_summary_speaks_ends_a_release_that_learned_its_column(what):
    data = patients()
    stays = data["stays"]
    people = stays["id"].drop_duplicates().tolist()
    for name, cells in COLUMNS.items():
        usual = [str(cell) for cell in cells] if name == "dates" else cells
        column = np.resize(np.array(usual, dtype=object), len(stays))
        for person, odd in zip(people, ODD, strict=False):
            for place in np.flatnonzero(stays["id"] == person):
                column[place] = odd
        stays[name] = pd.Series(column, dtype=object)
    summaries = {f"{what} of {name}": {"what": what, "column": name} for name in COLUMNS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = release(
            data, 30.0, domain={"patients": DOMAINS["patients"]}, anyway=True, summaries={"stays": summaries}
        )
    assert {*summaries} <= {*made.tables["patients"]}


ODD = ["odd", np.inf, 0.5, 10**400, "2020-13-45", [1], Broken(), None, "", True, dt.date(2020, 1, 1)]
"""Cells of which each is of another kind than most columns."""

FAR = [0, 10**9, 2**62, -(2**62), None]
"""Times in any unit: a usual one, and such as databases write for infinite ones."""


@pytest.mark.parametrize("kind", [*(f"timestamp[{unit}]" for unit in ("s", "ms", "us", "ns")), "date64"])
@pytest.mark.parametrize("zone", ["", "UTC", "Europe/Zurich"])
@pytest.mark.parametrize("library", ["numpy", "arrow", "table"])
def test_no_time_is_too_far_to_be_read(kind, zone, library):
    if kind == "date64" and (zone or library == "numpy"):
        pytest.skip("there is no such type")
    declared = pa.date64() if kind == "date64" else pa.timestamp(kind[10:-1], zone or None)
    times = pa.array(FAR, pa.int64()).cast(declared)
    match library:
        case "numpy":
            column = pd.Series(np.array([one or 0 for one in FAR], f"datetime64[{kind[10:-1]}]"))
            rows = pd.DataFrame({"t": column.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else column})
        case "arrow":
            rows = pd.DataFrame({"t": pd.Series(pd.arrays.ArrowExtensionArray(times))})
        case _:
            rows = pa.table({"t": times})
    raw = raw_table(rows)
    with closing(Cells.of(raw.source, raw.timezones)) as cells:
        assert cells.forms("t").sum() == len(FAR)
    form = {"type": "timestamp", "min": "2000-01-01T00:00:00", "max": "2010-01-01T00:00:00", "bins": 2}
    form |= {"nullable": True, "unreadable": "missing"} | ({"timezone": zone} if zone else {})
    assert raw.read(Domain.from_json({"t": form})).record_count == len(FAR)
