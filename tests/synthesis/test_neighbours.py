"""What leaves is a function of the domain and of noisy answers: two tables that differ in one record.

Both are released with the same noise and the same codes, as if the noisy answers had come out equal. Whatever
then differs between the releases has come from the record by another way.
"""

import gc
import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.analysis.release import Page, Release
from dpmosaic.party.sources.source import FileSource

pytestmark = pytest.mark.slow

ROWS = 300
RNG = np.random.default_rng(4)
FORM = {
    "illness": ["aids", "flu", "none", ""],
    "kind": {"type": "categorical", "categories": ["a", "b", "other"], "other": "other"},
    "level": {"type": "categorical", "categories": [1, 2, 3, ""], "ordered": True},
    "visits": {"type": "numeric", "min": 0, "max": 9, "bins": 10, "integer": True, "nullable": True},
    "paid": {"type": "boolean", "nullable": True, "true": ["yes"], "false": ["no"]},
    "dead": {"type": "boolean", "nullable": True},
    "rate": {
        **{"type": "numeric", "min": 0, "max": 100, "bins": 4, "decimals": 1, "format": "{:.1f}%"},
        **{"nullable": True, "unreadable": "missing"},
    },
    "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "nullable": True},
}
DOMAIN = Domain.from_json(FORM)


@pytest.fixture(autouse=True)
def _clock(monkeypatch):
    class Stopped:
        @staticmethod
        def now(zone):
            return datetime(2026, 1, 1, tzinfo=zone)

    monkeypatch.setattr("dpmosaic.curator.certificates.issuing.datetime", Stopped)


def usual():
    """As most tables are: no missing value, no rare label, and the types that pandas finds for that."""
    return pd.DataFrame(
        {
            "illness": RNG.choice(["flu", "none"], ROWS),
            "kind": RNG.choice(["a", "b"], ROWS),
            "level": RNG.integers(1, 3, ROWS),
            "visits": RNG.integers(0, 10, ROWS),
            "paid": RNG.choice(["yes", "no"], ROWS),
            "dead": RNG.random(ROWS) < 0.1,
            "rate": RNG.integers(0, 1000, ROWS) / 10,
            "day": np.datetime64("2020-01-01") + RNG.integers(0, 365, ROWS),
        }
    )


def other(rows):
    """One record has the only rare label, the only missing values and the only text among numbers."""
    record = {
        **{"illness": "aids", "kind": 7, "level": None, "visits": None, "paid": None, "dead": None},
        **{"rate": "broken", "day": None},
    }
    columns = {name: [record[name], *column.tolist()[1:]] for name, column in rows.items()}
    return pd.DataFrame(columns)


def stored(rows, how):
    """The table as its owner might store it, with the types that its values imply."""
    match how:
        case "numpy":
            return rows
        case "category":
            return rows.astype({name: "category" for name in ("illness", "kind", "level", "visits", "paid")})
        case "nullable":
            return rows.convert_dtypes()
    return rows.convert_dtypes(dtype_backend="pyarrow")


CALLS = {
    "table": lambda release: release.table,
    "rows": lambda release: release.rows.digest(),
    "certificate": lambda release: release.certificate.to_json(),
    "model": lambda release: [release.model.marginal((name,)) for name in release.domain],
    "domain": lambda release: release.domain.to_json(),
    "generate": lambda release: [release.generate(20, seed=1), release.generate(9, "illness=aids", seed=1)],
    "query": lambda release: (
        release.query("SELECT illness, count(*), avg(rate) FROM release GROUP BY 1").frame
    ),
    "mean": lambda release: release.mean("rate", by="illness").frame,
    "proportion": lambda release: release.proportion("paid", "yes").frame,
    "difference": lambda release: release.difference("visits", ("illness", "flu", "none")).frame,
    "linear": lambda release: release.linear("rate", ["visits"]).frame,
    "logistic": lambda release: release.logistic("dead", ["visits"]).frame,
    "correlation": lambda release: release.correlation("rate", "visits").frame,
    "survival": lambda release: release.survival("visits", event=("dead", True)).frame,
    "test": lambda release: repr(release.test("chi-square", "illness", "dead")),
    "infer": lambda release: release.infer(lambda rows: rows["visits"].mean(), ["visits"]).frame,
    "copies": lambda release: release.copies(2, seed=1),
    "report": lambda release: isinstance(release.report(), Page),
    "plot": lambda release: repr(release.plot()),
    "__repr__": repr,
    "_repr_html_": lambda release: release._repr_html_(),
}
"""What each public method gives; `save`, of which `write` is a part, is looked at by itself; `of` is no
answer, and `attack` and `compare` are asked with the real table."""


def told(found):
    """All that somebody can see of an answer."""
    if isinstance(found, pd.DataFrame):
        kinds = [repr(kind) + repr(getattr(kind, "categories", "")) for kind in found.dtypes]
        return (
            kinds,
            [*found.columns],
            repr(found.index),
            [repr(column.tolist()) for _, column in found.items()],
        )
    if isinstance(found, list):
        return [told(one) for one in found]
    return found.tolist() if isinstance(found, np.ndarray) else found


def released(data, **options):
    """A release and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        release = dpmosaic.synthesize(
            data, domain=DOMAIN, mechanism="mst", epsilon=9.0, seed=1, adjacency="zero-out", **options
        )
    return release, [str(one.message) for one in given]


def test_every_public_method_is_looked_at():
    public = {name for name in vars(Release) if not name.startswith("_")} | {"__repr__", "_repr_html_"}
    assert public == {*CALLS, "of", "save", "write", "attack", "compare"}


@pytest.mark.parametrize("how", ["numpy", "category", "nullable", "arrow"])
def test_no_method_tells_tables_apart_that_differ_in_one_record(how, monkeypatch, tmp_path):
    rows = usual()
    pair = [stored(rows, how), stored(other(rows), how)]
    assert [*map(str, pair[0].dtypes)] != [*map(str, pair[1].dtypes)] or how == "category"
    codes = dpmosaic.encode(rows, DOMAIN)
    monkeypatch.setattr("dpmosaic.simulations.tables.frames.encode_frame", lambda *_: codes)
    (one, said), (two, said_of_two) = map(released, pair)
    assert said == said_of_two
    for name, call in CALLS.items():
        assert told(call(one)) == told(call(two)), name
    for name, release in (("one", one), ("two", two)):
        for form in ("csv", "parquet"):
            release.save(tmp_path / name / form, form)
    for form in ("csv", "parquet"):
        written = (
            {path.name: path.read_bytes() for path in (tmp_path / n / form).iterdir()} for n in ("one", "two")
        )
        assert next(written) == next(written)


def test_the_types_are_those_of_the_domain_whatever_the_record_is():
    rows = usual()
    kinds = [str(kind) for kind in released(other(rows))[0].table.dtypes]
    assert kinds == ["str", "str", "Int64", "Int64", "str", "boolean", "str", "datetime64[us]"]
    assert kinds == [str(kind) for kind in released(rows)[0].table.dtypes]


@pytest.mark.parametrize("last", [b"Jos\xe9,1", b"a;b;c;d,1", b"true,1", b"2020-01-01,1"])
def test_a_file_with_one_odd_record_gives_the_same_release(last, tmp_path):
    domain = {"name": {"type": "categorical", "categories": ["Müller", "other"], "other": "other"}, "x": 5}
    lines = ["name,x", *["Müller,1"] * 50]
    for name, line in (("one.csv", b"Anna,1"), ("two.csv", last)):
        (tmp_path / name).write_bytes("\n".join(lines).encode() + b"\n" + line + b"\n")
    made = [
        dpmosaic.synthesize(
            tmp_path / name, domain=domain, mechanism="independent", seed=1, epsilon=2.0, adjacency="zero-out"
        )
        for name in ("one.csv", "two.csv")
    ]
    assert told(made[0].table) == told(made[1].table)
    assert made[0].certificate.to_json() == made[1].certificate.to_json()


def test_a_release_cannot_reach_the_real_table(tmp_path):
    rows = usual()
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for data in (rows, tmp_path / "rows.csv"):
        release, _ = released(data)
        codes = dpmosaic.encode(rows, DOMAIN).digest()
        for held in reachable(release):
            assert not isinstance(held, FileSource)
            assert held is not rows
            if isinstance(held, dpmosaic.Table) and held.record_count == ROWS:
                assert held.digest() != codes


def reachable(start):
    """All objects that an object refers to, but modules, classes and functions."""
    found, left = {}, [start]
    skipped = (type, type(gc), type(reachable), type(len))
    while left:
        one = left.pop()
        if id(one) in found or isinstance(one, skipped):
            continue
        found[id(one)] = one
        left.extend(gc.get_referents(one))
    return list(found.values())
