"""The analyst's part where POSIX is not: a release is made, read and shown; a party says what it needs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow

BEGINNING = """
import asyncio, concurrent.futures.process, grpc, importlib.metadata, multiprocessing.pool, sqlite3, tempfile
import cryptography.x509, duckdb, dp_accounting.pld.privacy_loss_distribution, jinja2, matplotlib.figure
import networkx, numba.core.caching, numpy, pandas, pyarrow.parquet, rich.progress, scipy.optimize
import sqlglot, typer, uuid
from support.other_system import LOCKED, become_other_system

become_other_system()
"""

RELEASE = """
import dpmosaic

made = dpmosaic.synthesize("table.csv", 3.0, domain="domain.json", out="release")
again = dpmosaic.load("release")
assert len(again.generate(20)) == 20
assert float(again.query("SELECT COUNT(*) FROM release").value) > 0
assert dpmosaic.evaluate(pandas.read_csv("table.csv"), again).workload_error < 1
made.compare("table.csv").plot().save("compared.png")
framed = dpmosaic.synthesize(pandas.read_csv("table.csv"), 1.0, domain="domain.json", mechanism="independent")
framed.save("framed")
assert dpmosaic.budget("table.csv").releases
assert LOCKED and all(place < 2**31 for _, place in LOCKED)
"""

COMMAND = """
import sys
import dpmosaic.command

sys.argv = ["dpmosaic", "synthesize", "table.csv", "--domain", "domain.json", "--out", "released"]
dpmosaic.command.main()
"""

PARTY = """
import sys
import dpmosaic.command

sys.argv = ["dpmosaic", "party", "init", "home", "--name", "north"]
dpmosaic.command.main()
"""

DOMAIN = '{"sex": ["f", "m"], "age": {"type": "numeric", "min": 0, "max": 100, "bins": 10, "integer": true}}'


@pytest.fixture
def run(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "age": rng.integers(0, 100, 400)})
    rows.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "domain.json").write_text(DOMAIN)
    tests = Path(__file__).resolve().parent.parent
    paths = os.pathsep.join((str(tests), os.environ.get("PYTHONPATH", "")))
    known = {
        **os.environ,
        "PYTHONPATH": paths,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "HOME": str(tmp_path),
    }

    def run(code):
        return subprocess.run(
            [sys.executable, "-c", BEGINNING + code], cwd=tmp_path, env=known, capture_output=True, text=True
        )

    return run


def test_a_release_is_made_and_read_without_what_posix_has(run, tmp_path):
    done = run(RELEASE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "compared.png").is_file()
    assert not (tmp_path / "release" / "unfinished").exists()


def test_the_command_makes_a_release_there_too(run, tmp_path):
    done = run(COMMAND)
    assert done.returncode == 0, done.stderr
    assert "written to" in done.stdout
    assert (tmp_path / "released" / "certificate.json").is_file()


def test_daemons_say_what_they_need(run):
    done = run(PARTY)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: expected Linux or macOS for parties and dealers")
