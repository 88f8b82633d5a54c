"""Domains from the types of columns: what each type says, and that no value says anything."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.boolean import BooleanAttribute
from dpmosaic.common.data.categorical import CategoricalAttribute
from dpmosaic.common.data.dates import DateAttribute
from dpmosaic.common.data.numeric import NumericAttribute
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.frames import types_of_frame
from dpmosaic.simulations.schemas import domain_of_types

SIZES = pd.CategoricalDtype(["S", "M", "L"], ordered=True)


def frame(rng, rows):
    """Columns of all types, with values that are random in number and size."""
    days = pd.to_datetime(rng.integers(0, 2**31, rows), unit="s")
    return pd.DataFrame(
        {
            "whole": rng.integers(-(10**6), 10**9, rows),
            "byte": rng.integers(0, 100, rows).astype(np.uint8),
            "nullable": pd.array(rng.choice([1, 5, None], rows), dtype="Int64"),
            "real": rng.choice([np.nan, np.inf, *rng.normal(0, 10**6, 5)], rows),
            "flag": rng.random(rows) < 0.5,
            "perhaps": pd.array(rng.choice([True, None], rows), dtype="boolean"),
            "text": rng.choice(["a", "b", *map(str, rng.integers(0, 99, 9))], rows),
            "objects": pd.Series(rng.choice([1, "x", None], rows), dtype=object),
            "size": pd.Series(rng.choice(["S", "M", "L"], rows), dtype=SIZES),
            "time": days,
            "zoned": days.tz_localize("Europe/Berlin", ambiguous="NaT", nonexistent="NaT"),
            "offset": days.tz_localize("+02:00"),
            "day": pd.Series(days.date).astype("date32[day][pyarrow]"),
        }
    )


def domain_of(rows):
    return domain_of_types(types_of_frame(rows))


def test_no_value_is_read_for_a_domain():
    one, other = (frame(np.random.default_rng(seed), rows) for seed, rows in ((1, 50), (2, 3)))
    assert domain_of(one) == domain_of(other) == domain_of(one.iloc[:0])


def test_each_type_gives_the_attribute_that_it_names():
    domain = domain_of(frame(np.random.default_rng(3), 10))
    numbers = {a.name: a for a in domain.attributes if isinstance(a, NumericAttribute)}
    assert {name: (a.integer, a.nullable, a.minimum, a.maximum) for name, a in numbers.items()} == {
        "whole": (True, False, None, None),
        "byte": (True, False, 0, 255),
        "nullable": (True, True, None, None),
        "real": (False, True, None, None),
    }
    assert domain["flag"] == BooleanAttribute("flag")
    assert domain["perhaps"] == BooleanAttribute("perhaps", nullable=True)
    for name in ("text", "objects"):
        assert domain[name] == CategoricalAttribute(name, ("", "other"), other="other", open=True)
    assert domain["size"] == CategoricalAttribute("size", ("", "S", "M", "L"), ordered=True)
    times = {a.name: (a.moments.timed, a.moments.timezone) for a in domain.attributes if _is_time(a)}
    assert times == {
        "time": (True, ""),
        "zoned": (True, "Europe/Berlin"),
        "offset": (True, "UTC"),
        "day": (False, ""),
    }
    assert not domain.unreviewed
    assert set(domain.open) == {*numbers, *times, "text", "objects"}


def _is_time(attribute):
    return isinstance(attribute, DateAttribute)


def test_dates_count_as_if_they_were_from_1900_to_2099():
    entry = domain_of(pd.DataFrame({"day": pd.Series([], dtype="date32[day][pyarrow]")})).to_json()["day"]
    assert (entry["min"], entry["max"], entry["bins"]) == ("1900-01-01", "2099-12-31", "auto")


def test_zero_is_a_value_of_its_own_among_real_numbers():
    domain = domain_of(pd.DataFrame({"real": [0.5]}))
    assert domain["real"].atoms == (0.0,)


def test_categories_of_other_kinds_are_their_texts():
    kind = pd.CategoricalDtype([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")])
    domain = domain_of(pd.DataFrame({"year": pd.Series([], dtype=kind)}))
    assert domain["year"].categories == ("", "2020-01-01 00:00:00", "2021-01-01 00:00:00")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame({"t": pd.to_timedelta([1], unit="s")}), "column 't': expected booleans"),
        (pd.DataFrame({"c": np.array([1j])}), "column 'c': expected booleans"),
        (pd.DataFrame({0: [1]}), "different texts as names"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "different texts as names"),
        (pd.DataFrame(), "at least one attribute"),
    ],
)
def test_refuses_types_and_names_that_no_release_holds(rows, message):
    with pytest.raises(DataError, match=message):
        domain_of(rows)
