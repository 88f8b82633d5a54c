"""The example of docs/extending.md, built and installed as a package of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dpmosaic

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parent.parent / "docs" / "example"
DPMOSAIC = ("-c", "from dpmosaic.command import main; main()")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a command of Python in an environment where the example is installed."""
    source, installed = tmp_path_factory.mktemp("ring"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "dpmosaic_ring.py"):
        (source / name).write_text((EXAMPLE / name).read_text())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    subprocess.run([*pip, "--target", installed, source], check=True, capture_output=True)
    path = os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH"))))

    def ran(*command, cwd):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return ran


def test_it_is_forty_lines_of_code():
    lines = (EXAMPLE / "dpmosaic_ring.py").read_text().splitlines()
    assert sum(bool(line.strip()) and not line.startswith(("import", "from")) for line in lines) <= 40


def test_it_is_listed_with_its_package_and_version(run, tmp_path):
    listed = json.loads(run(*DPMOSAIC, "mechanisms", "--json", cwd=tmp_path))
    assert listed["ring"]["package"] == "dpmosaic-ring 0.3"
    assert listed["ring"]["parameters"] == [{"name": "one_way", "kind": "a number", "default": 0.2}]
    assert "masked" in listed["ring"]["protocols"]
    assert listed["mosaic"]["package"] is None


def test_it_releases_and_its_certificate_names_it(run, tmp_path):
    pd.DataFrame({"a": [0, 1, 2, 0] * 50, "b": [0, 1, 1, 0] * 50}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "d.json").write_text(json.dumps({"a": 3, "b": 2}))
    command = ["simulate", "t.csv", "--domain", "d.json", "--out", "out", "--epsilon", "1", "--grid", "2x2"]
    run(*DPMOSAIC, *command, "--mechanism", "ring", "--set", "one_way=0.3", cwd=tmp_path)
    certificate = dpmosaic.Certificate.load(tmp_path / "out" / "certificate.json")
    assert certificate.versions["dpmosaic-ring"] == "0.3"
    assert certificate.plan.mechanism["one_way"] == 0.3
    assert [step.title for step in certificate.plan.steps] == ["One-way marginals", "Pairs of neighbours"]
    assert "Pairs of neighbours" in (tmp_path / "out" / "report.html").read_text()


def test_it_keeps_the_contract_of_mechanisms(run, tmp_path):
    (tmp_path / "test_ring.py").write_text((EXAMPLE / "test_ring.py").read_text())
    said = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_ring.py", cwd=tmp_path)
    assert "passed" in said
    assert "failed" not in said
