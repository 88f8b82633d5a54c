"""Arguments of any kind end in one sentence before a table is read, charged or drawn from."""

import inspect
import os
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.errors import MosaicError
from dpmosaic.synthesis import arguments, one_table
from support.related import release

ENDLESS: dict = {}
ENDLESS["a"] = [ENDLESS]

ODD = [
    *(10**400, -1, 0, 1.5, True, float("nan"), float("inf"), "5", b"1", [1], [[1]], {"a": 1}, {1: {2: 3}}),
    *(np.float32(0.5), np.array(1.0), np.array([1, 2]), Decimal(5), Fraction(1, 3), 1j, pd.NA, object()),
    ENDLESS,
]
"""Values of all kinds."""

ROWS = pd.DataFrame({"id": [1, 2, 2, 3], "sex": ["f", "m", "m", "f"], "year": [2001, 2001, 2002, 2003]})
DOMAIN = {"sex": ["f", "m"], "year": {"type": "numeric", "min": 2000, "max": 2004, "bins": 2}}
NAMES = [
    name
    for name in inspect.signature(dpmosaic.synthesize).parameters
    if name not in ("data", "anyway", "progress", "prior_is_public")
]
"""Of others any value is true or false."""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("asked", [{}, {"key": "id", "order": "year"}], ids=["rows", "people"])
def test_an_argument_of_any_kind_is_taken_or_refused_in_one_sentence(name, asked, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    class Began(Exception):
        pass

    def begin(*_, **__):
        raise Began

    # What is asked for first of one table, and of people.
    monkeypatch.setattr("dpmosaic.synthesis.synthesize.draw_release", begin)
    monkeypatch.setattr("dpmosaic.synthesis.people.release_tables", begin)
    said = []
    for value in ODD:
        given = {"epsilon": 1.0, "domain": DOMAIN, "ledger": False, **asked, name: value}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                dpmosaic.synthesize(ROWS, **given)
            except MosaicError as refusal:
                said.append(str(refusal))
            except Began:
                continue
    assert all(map(str.isprintable, said))
    assert len(said) >= 10


def test_every_argument_that_is_no_number_has_a_kind():
    others = {"anyway", "prior", "prior_is_public", "progress", "ledger"}
    assert {*arguments._KINDS} == {*NAMES} - others - {"epsilon", "delta", "until", "rows"}


def test_a_time_limit_that_no_format_writes_loses_no_release(monkeypatch):
    monkeypatch.setattr("dpmosaic.simulations.time_limit.LATE", 0.0)
    with pytest.warns(dpmosaic.TimeLimitWarning, match="the time limit was 0.333 s"):
        dpmosaic.synthesize(
            ROWS, 9.0, domain=DOMAIN, time_limit=Fraction(1, 3), ledger=False, adjacency="zero-out"
        )


@pytest.mark.parametrize("ledger", [None, 0, 1, np.True_, b"ledger", 5.0])
def test_a_ledger_that_is_none_is_refused_and_nothing_is_drawn(ledger, monkeypatch):
    monkeypatch.setattr(one_table, "release_among", None)
    with pytest.raises(dpmosaic.DataError, match="ledger: expected True, False or the path of a ledger"):
        dpmosaic.synthesize(ROWS, 1.0, domain=DOMAIN, ledger=ledger)
    with pytest.raises(dpmosaic.DataError, match="ledger: expected True, False or the path of a ledger"):
        dpmosaic.budget(ROWS, ledger=ledger)


@pytest.fixture(scope="module")
def finished():
    one = dpmosaic.synthesize(ROWS, 9.0, domain=DOMAIN, ledger=False, adjacency="zero-out")
    return {
        "rows": one.generate,
        "people": release().generate,
        "m": one.copies,
        "seed": lambda seed: one.generate(2, seed=seed),
        "seed of people": lambda seed: release().generate(2, seed=seed),
        "seed of copies": lambda seed: one.copies(2, seed=seed),
        "seed of values": lambda seed: dpmosaic.decode(one.rows, seed=seed),
        "level": lambda level: one.mean("year", level=level),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    ["rows", "people", "m", "seed", "seed of people", "seed of copies", "seed of values", "level"],
)
def test_a_finished_release_draws_no_number_that_memory_does_not_hold(what, finished):
    for value in [one for one in (*ODD, 10**300, 10**12, 1 << 63, None) if not _fits(what, one)]:
        with pytest.raises(MosaicError, match=rf"^({what.split()[0]}: )?expected .*; "):
            finished[what](value)


def _fits(what, value):
    if what == "level":
        return isinstance(value, (np.float32, Fraction))
    return what.startswith("seed") and (value is None or type(value) is int)


def test_as_many_rows_as_memory_holds_depend_on_their_columns(finished):
    with pytest.raises(dpmosaic.DataError, match="rows: expected at most 536,870,912, whose cells memory"):
        finished["rows"](10**9)


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="a shell's <(...) is a file of /dev/fd")
@pytest.mark.parametrize("options", [{}, {"key": "id"}], ids=["rows", "people"])
def test_a_domain_is_read_once_and_may_come_from_a_pipe(options):
    rows = pd.DataFrame({"id": np.arange(300) // 2, "a": np.arange(300) % 2})
    reading, writing = os.pipe()
    with open(reading), open(writing, "w") as shell:
        shell.write('{"a": 2}')
        shell.close()
        path = f"/dev/fd/{reading}"
        stated = {"domain": path, "mechanism": "independent", "ledger": False, "progress": False}
        dpmosaic.synthesize(rows, 1.0, **stated, **options)
