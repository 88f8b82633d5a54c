"""Drafts of a table of several rows a person, of which the owner names the key."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app

STEPS = ["new", "checked", "sent", "paid"]


def orders(people=400, seed=2):
    rng = np.random.default_rng(seed)
    rows = []
    for one in range(people):
        day = pd.Timestamp("2023-01-01") + pd.Timedelta(days=int(rng.integers(0, 500)))
        country, meter = rng.choice(["de", "fr"]), int(rng.integers(0, 50))
        for nth, step in enumerate(STEPS[: rng.integers(1, 5)]):
            rows.append((f"X{one * 7 + 11}", country, nth, step, day, meter, rng.choice(["a", "b", "c"])))
            day, meter = day + pd.Timedelta(days=int(rng.integers(1, 9))), meter + int(rng.integers(0, 9))
    columns = ["who", "country", "nth", "step", "day", "meter", "kind"]
    return pd.DataFrame(rows, columns=columns).sample(frac=1, random_state=seed)


def infer(*arguments):
    return CliRunner().invoke(app, ["domain", "infer", *map(str, arguments)])


@pytest.fixture
def drafted(tmp_path):
    orders().to_csv(tmp_path / "orders.csv", index=False)
    found = infer(tmp_path / "orders.csv", "--key", "who", "--out", tmp_path / "domain.json")
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    return said[said.index("--key who") :].split(" This draft")[0]


def test_a_draft_says_how_to_release_rows_of_people(drafted, tmp_path):
    expected = (
        "--key who --per-person country --order day --counts nth=0 --rising step --rising meter --once step"
    )
    assert drafted.strip() == expected
    form = json.loads((tmp_path / "domain.json").read_text())
    entries = form.get("attributes", form)
    assert [*entries] == ["country", "step", "day", "meter", "kind"]
    assert entries["step"]["categories"] == STEPS


@pytest.mark.slow
def test_what_it_says_can_be_typed(drafted, tmp_path):
    asked = [
        "synthesize",
        str(tmp_path / "orders.csv"),
        *shlex.split(drafted),
        "--epsilon",
        "5",
        "--no-ledger",
    ]
    more = ["--domain", str(tmp_path / "domain.json"), "--out", str(tmp_path / "out")]
    made = CliRunner().invoke(app, [*asked, *more])
    assert made.exit_code == 0, made.output
    rows = pd.read_csv(tmp_path / "out" / "tables" / "rows.csv")
    assert [*rows.columns] == [*orders().columns]
    by = rows.groupby("who")
    assert (by["country"].nunique() == 1).all()
    assert (rows["nth"] == by.cumcount()).all()
    assert not rows.duplicated(["who", "step"]).any()
    assert (by["meter"].diff().dropna() >= 0).all()


def test_what_is_no_key_is_refused(tmp_path):
    orders(30).to_csv(tmp_path / "orders.csv", index=False)
    assert "did you mean 'who'" in str(infer(tmp_path / "orders.csv", "--key", "whom").exception)
    assert "expected one table" in str(infer(tmp_path, "--key", "who").exception)
    orders(30)[["who"]].to_csv(tmp_path / "keys.csv", index=False)
    assert "expected columns beside" in str(infer(tmp_path / "keys.csv", "--key", "who").exception)
