"""The commands as a user types them: their files, their output and their exit status.

Starting a process takes longer than most commands, so they run in this one unless a test is about processes.
"""

import functools
import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from dpmosaic import load_model
from dpmosaic.command import main
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE
from dpmosaic.party.sources.source import read_table
from dpmosaic.simulations.datasets import randhie

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).with_name("dpmosaic")
DOMAIN = {
    "kind": ["x, y", "z"],
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "nullable": True, "integer": True},
    "weight": {"type": "numeric", "min": 40.0, "max": 120.0, "bins": 8},
    "code": 3,
}


def process(*arguments):
    """Runs a command as a process."""
    return subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def dpmosaic(monkeypatch, capfd):
    """Runs a command in this process; what it wrote and its exit status, as of a process of its own."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpmosaic", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return subprocess.CompletedProcess(arguments, ended.value.code or 0, *capfd.readouterr())

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Holds a table and its domain; commands run in it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["extra,weight,kind,code,age"]
    for _ in range(300):
        age = "" if rng.random() < 0.1 else rng.integers(0, 100)
        kind = '"x, y"' if rng.random() < 0.3 else "z"
        lines.append(f"secret,{rng.uniform(30, 130):.2f},{kind},{rng.integers(0, 3)},{age}")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    return tmp_path


SIMULATE = ["simulate", "data.csv.gz", "--domain", "domain.json", "--epsilon", 2, "--out", "out"]


@pytest.fixture
def simulate(folder, dpmosaic):
    return functools.partial(dpmosaic, *SIMULATE)


def test_simulate_writes_a_table_of_the_same_columns_types_and_labels(folder, simulate):
    done = simulate("--grid", "2x2", "--protocol", "indicator", "--rows", 50)
    assert done.returncode == 0, done.stderr
    domain = Domain.load(folder / "domain.json")
    header, *lines = (folder / "out/synthetic.csv").read_text().splitlines()
    assert header == "weight,kind,code,age"
    assert len(lines) == 50
    synthetic = read_table(folder / "out/synthetic.csv", domain)
    assert synthetic.record_count == 50
    ages = [line.rsplit(",", 1)[1] for line in lines]
    assert all(age == "" or 0 <= int(age) <= 99 for age in ages)
    weights = [float(line.split(",", 1)[0]) for line in lines]
    assert all(40 <= weight <= 120 for weight in weights)
    assert not (folder / "out/NOT-FOR-RELEASE.txt").exists()
    certificate = json.loads((folder / "out/certificate.json").read_text())
    assert certificate["differentially_private"]
    assert certificate["plan"]["spec"]["budget"]["epsilon"] == 2
    assert "What was promised" in (folder / "out/report.html").read_text()
    metrics = json.loads((folder / "out/metrics.json").read_text())
    assert {"kolmogorov", "zeros", "mean"} == set(metrics["values"]["age"])
    said = metrics["private"]
    assert "the privacy promise does not cover it: not for publication" in said
    assert (folder / "out/metrics.json.NOT-FOR-RELEASE.txt").read_text() == f"metrics.json: {said}\n"
    assert "do not publish metrics.json" in " ".join(done.stdout.split())
    assert load_model(folder / "out/model.npz").domain == domain


def test_a_target_is_in_the_workload_and_the_terms(folder, simulate):
    done = simulate("--target", "code", "--mechanism", "independent")
    assert done.returncode == 0, done.stderr
    plan = json.loads((folder / "out/certificate.json").read_text())["plan"]
    weights = {tuple(sorted(one["clique"])): one["weight"] for one in plan["workload"]}
    assert len(weights) == 6 + 3
    assert weights[("age", "kind")] < weights[("age", "code")] == weights[("age", "code", "kind")]


def test_masked_shares_are_the_default_and_tolerate_as_many_collusions_as_asked_for(folder, simulate):
    done = simulate("--grid", "2x1", "--collusions", 0, "--mechanism", "independent")
    assert done.returncode == 0, done.stderr
    certificate = json.loads((folder / "out/certificate.json").read_text())
    assert certificate["plan"]["spec"]["protocol"] == "masked"
    assert [observer["who"] for observer in certificate["promise"]["observers"]] == [
        "the public",
        "the curator",
    ]
    traffic = json.loads((folder / "out/metrics.json").read_text())["traffic_bytes"]
    assert [[sorted(party) for party in row] for row in traffic] == [[["in", "out"]]] * 2


def test_a_sample_answers_for_marginals_across_parties_and_is_forecast(folder, simulate):
    options = ("--grid", "1x2", "--sample", 100, "--mechanism", "independent")
    done = simulate(*options)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "out/certificate.json").read_text())["plan"]["spec"]["sample"] == 100
    done = simulate(*options, "--mechanism", "mst", "--dry-run")
    assert "on 100 of 300 rows" in " ".join(done.stdout.split())


def test_parties_with_overlapping_people_align_their_rows(folder, simulate):
    options = ("--grid", "1x2", "--overlap", 0.9, "--shuffle", "--typos", 0.01, "--mechanism", "independent")
    done = simulate(*options, "--alignment-rho", 0.5)
    assert done.returncode == 0, done.stderr
    plan = json.loads((folder / "out/certificate.json").read_text())["plan"]
    assert plan["record_counts"][0] > 300
    lines = (folder / "out/synthetic.csv").read_text().splitlines()[1:]
    assert abs(len(lines) - 0.9 * 300) < 30


def test_the_key_of_aligned_rows_is_not_released(folder, simulate):
    refused = simulate("--grid", "1x2", "--align-by", "kind")
    assert "expected a column that is no attribute, got 'kind'" in refused.stderr


def test_refuses_binary_digits_of_people_anywhere(simulate):
    done = simulate("--grid", "1x2", "--shuffle", "--binarise", "--population", "anywhere")
    assert "`absent` has no binary digits" in done.stderr


def test_json_prints_one_object_and_nothing_else(simulate):
    done = simulate("--json", "--seed", 1, "--mechanism", "randdpgen", "--variant", "paper")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["metrics"]["kway"][1]["k"] == 2
    assert "known seed" in summary["labels"][0]


@pytest.mark.parametrize("options", [["--protocol", "theorem"], ["--seed", 1]])
def test_writes_a_warning_beside_a_table_that_is_not_a_release(folder, simulate, options):
    assert simulate(*options).returncode == 0
    (label,) = json.loads((folder / "out/certificate.json").read_text())["labels"]
    assert (folder / "out/NOT-FOR-RELEASE.txt").read_text() == label + "\n"


def test_binary_digits_are_released_and_decoded(folder, simulate):
    done = simulate("--binarise", "--rows", 40)
    assert done.returncode == 0, done.stderr
    certificate = json.loads((folder / "out/certificate.json").read_text())
    assert set(certificate["plan"]["attributes"].values()) <= {1, 2}
    domain = Domain.load(folder / "domain.json")
    assert read_table(folder / "out/synthetic.csv", domain).record_count == 40


def test_parquet_holds_the_typed_rows_of_the_csv_and_is_evaluated(folder, dpmosaic, simulate):
    for kind in ("csv", "parquet"):
        done = simulate("--seed", 1, "--mechanism", "independent", "--format", kind)
        assert done.returncode == 0, done.stderr
        (folder / "out").rename(folder / kind)
    assert not (folder / "parquet/synthetic.csv").exists()
    rows = pd.read_parquet(folder / "parquet/synthetic.parquet")
    text = pd.read_csv(folder / "csv/synthetic.csv").astype({"age": "Int64"})
    pd.testing.assert_frame_equal(rows, text, check_exact=True)
    types = {field.name: str(field.type) for field in pq.read_schema(folder / "parquet/synthetic.parquet")}
    assert types["kind"] in ("string", "large_string")
    assert (types["weight"], types["code"], types["age"]) == ("double", "int64", "int64")
    domain = Domain.load(folder / "domain.json")
    tables = [read_table(folder / kind / f"synthetic.{kind}", domain) for kind in ("csv", "parquet")]
    assert tables[0].digest() == tables[1].digest()
    compared = ["data.csv.gz", "parquet/synthetic.parquet", "--domain", "domain.json", "--json"]
    done = dpmosaic("evaluate", *compared)
    assert done.returncode == 0, done.stderr


def test_identifiers_are_drawn_anew_in_the_column_of_the_file_and_free_text_is_left_out(folder, dpmosaic):
    days = pd.date_range("2024-01-01", periods=300).strftime("%d.%m.%Y")
    rows = pd.DataFrame(
        {
            "day": days,
            "id": [f"P{number:05d}" for number in range(300)],
            "smoker": ["Y", "N", None] * 100,
            "note": "he said no",
        }
    )
    rows.to_csv(folder / "rows.csv", index=False)
    domain = {
        "id": {"type": "identifier", "pattern": "S-{:d}"},
        "smoker": {"type": "boolean", "nullable": True, "true": ["Y"], "false": ["N"]},
        "note": {"type": "text", "drop": True},
        "day": {"type": "date", "min": "2024-01-01", "max": "2024-12-31", "bins": 4, "format": "%d.%m.%Y"},
    }
    (folder / "domain.json").write_text(json.dumps(domain))
    options = ["--domain", "domain.json", "--rho", 1, "--grid", "2x2", "--out", "out"]
    done = dpmosaic("simulate", "rows.csv", *options)
    assert done.returncode == 0, done.stderr
    made = pd.read_csv(folder / "out/synthetic.csv", dtype=str)
    assert made.columns.tolist() == ["day", "id", "smoker"]
    assert made["id"].tolist() == [f"S-{number}" for number in range(1, 301)]
    assert set(made["smoker"].dropna()) == {"Y", "N"}
    assert set(made["day"]) & set(days)


@pytest.fixture
def formulas(folder):
    """Makes a label of the table one that a spreadsheet runs."""
    domain = {**DOMAIN, "kind": ["x, y", "=1+1"]}
    (folder / "domain.json").write_text(json.dumps(domain))
    lines = gzip.decompress((folder / "data.csv.gz").read_bytes()).decode().replace(",z,", ",=1+1,")
    (folder / "data.csv.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


def test_labels_like_formulas_are_written_as_they_are_with_a_warning(formulas, simulate):
    done = simulate("--mechanism", "independent")
    assert done.returncode == 0, done.stderr
    assert "begins like a formula in: 'kind'" in " ".join(done.stdout.split())
    assert "=1+1" in set(pd.read_csv("out/synthetic.csv")["kind"])


def test_labels_like_formulas_are_escaped_on_request(formulas, simulate):
    done = simulate("--mechanism", "independent", "--spreadsheet-safe", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["warning"] is None
    assert set(pd.read_csv("out/synthetic.csv")["kind"]) == {"x, y", "'=1+1"}


def test_refuses_to_escape_parquet_before_any_work(folder, simulate):
    done = simulate("--spreadsheet-safe", "--format", "parquet")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--spreadsheet-safe: expected the format csv" in done.stderr
    assert not (folder / "out").exists()


def test_a_table_of_another_format_counts_as_an_earlier_result(folder, simulate):
    (folder / "out").mkdir()
    (folder / "out/synthetic.parquet").touch()
    again = simulate("--mechanism", "independent")
    assert again.returncode == 1
    assert "already holds synthetic.parquet" in again.stderr


def test_one_seed_gives_one_file(folder, simulate):
    for run in (simulate, functools.partial(process, *SIMULATE)):
        assert run("--seed", 1).returncode == 0
        (folder / "out").rename(folder / f"out{len(list(folder.glob('out*')))}")
    first, second = (path.joinpath("synthetic.csv").read_bytes() for path in sorted(folder.glob("out?")))
    assert first == second


def test_refuses_to_overwrite_an_earlier_result(folder, simulate):
    assert simulate().returncode == 0
    before = (folder / "out/synthetic.csv").read_bytes()
    again = simulate()
    assert again.returncode == 1
    assert "already holds" in again.stderr
    assert (folder / "out/synthetic.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--epsilon", 0], "epsilon: expected a positive finite number"),
        (["--rho", 0.1], "either epsilon with delta or rho"),
        (["--epsilon", -1], "epsilon: expected a positive finite number"),
        (["--epsilon", "nan"], "epsilon: expected a positive finite number"),
        (["--delta", 1], "delta: expected a number in"),
        (["--adjacency", "swap"], "adjacency: expected one of"),
        (["--protocol", "masked!"], "protocol: expected one of"),
        (["--collusions", 1], "tolerated collusions: expected 0 to 0"),
        (["--collusions", 0, "--protocol", "trusted"], "the protocol 'trusted' tolerates none"),
        (["--sample", 100, "--protocol", "trusted"], "sample: the protocol 'trusted' has none"),
        (["--mechanism", "magic"], "mechanism: expected one of"),
        (["--set", "alpha"], "--set: expected KEY=VALUE, got 'alpha'"),
        (["--set", "alpha=0.2", "--set", "alpha=0.3"], "--set: expected each parameter at most once"),
        (
            ["--mechanism", "aim", "--set", "beta=1"],
            "parameter of aim: expected one of alpha (a number above 0 and below 1)",
        ),
        (["--mechanism", "mst", "--protocol", "indicator"], "use 'trusted', or 'masked'"),
        (["--variant", "magic"], "variant of mosaic"),
        (["--time-limit", 5, "--set", "time_limit=5"], "either seconds of this machine or the mechanism's"),
        (["--time-limit", 5, "--mechanism", "aim"], "expected the mechanism 'mosaic', got 'aim'"),
        (["--workload", "none.json"], "none.json"),
        (
            ["--target", "pay"],
            "target: expected an attribute of the domain that has others beside it, got 'pay'",
        ),
        (["--target", "age", "--workload", "2way"], "target: expected it without a workload"),
        (["--grid", "9x9"], "grid"),
        (["--domain", "none.json"], "none.json"),
    ],
)
def test_a_wrong_option_gives_one_sentence_and_exit_status_one(folder, simulate, arguments, named):
    done = simulate(*arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out/synthetic.csv").exists()


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["kind,weight,code", "z,50,1"], "age"),
        (["kind,weight,code,age", "z,50,1,7,8"], "line 2"),
        (["kind,weight,code,age"], "no rows"),
        (["kind,weight,code,age", "z,50,1,7", "w,50,1,7"], "column 'kind', row 2"),
        (["kind,weight,code,age", "z,50,9,7"], "column 'code', row 1"),
        (["kind,weight,code,age", "z,nan,1,7"], "column 'weight', row 1"),
        (["kind,weight,code,age", "z,inf,1,7"], "column 'weight', row 1"),
        (["kind,weight,code,age", "z,heavy,1,7"], "column 'weight', row 1"),
    ],
)
def test_a_wrong_table_gives_one_sentence_with_the_place_but_not_the_value(folder, simulate, lines, named):
    (folder / "data.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    done = simulate()
    assert done.returncode == 1
    assert named in done.stderr
    assert "heavy" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_domain_is_drafted_with_a_warning_and_can_be_used(folder, dpmosaic):
    done = dpmosaic("domain", "infer", "data.csv.gz", "--out", "draft.json")
    assert done.returncode == 0, done.stderr
    assert "without any privacy" in done.stderr
    assert read_table(folder / "data.csv.gz", Domain.load(folder / "draft.json")).record_count == 300


def test_the_demo_compares_the_protocols(tmp_path, dpmosaic, monkeypatch):
    """With half of the attributes; the README's command has all."""
    some = (*randhie.INSURER[:3], "disea", "hlthg")
    table = randhie.load().project(some)
    monkeypatch.setattr(randhie, "load", lambda: table)
    monkeypatch.setattr(randhie, "INSURER", some[:3])
    monkeypatch.setattr(randhie, "CLINIC", some[3:])
    done = dpmosaic("demo", "--json", "--report", tmp_path / "out/demo.html")
    assert done.returncode == 0, done.stderr
    lines = {
        (line["protocol"], line["mechanism"]): line["total_variation"] for line in json.loads(done.stdout)
    }
    assert {protocol for protocol, _ in lines} == {"trusted", "masked", "indicator"}
    for protocol in ("trusted", "masked"):
        assert lines[protocol, "mosaic"] < lines["trusted", "independent"]
    assert "Misclassification of hlthg" in (tmp_path / "out/demo.html").read_text()


def test_a_mechanism_is_chosen_by_name_and_its_parameters_are_set(folder, simulate):
    chosen = ["--mechanism", "aim", "--set", "alpha=0.8", "--set", "max_model_mb=2"]
    done = simulate("--grid", "1x2", *chosen)
    assert done.returncode == 0, done.stderr
    described = json.loads((folder / "out/certificate.json").read_text())["plan"]["mechanism"]
    assert (described["name"], described["alpha"], described["max_model_mb"]) == ("aim", 0.8, 2.0)


def test_a_time_limit_is_in_seconds_of_this_machine_and_a_late_release_says_so(folder, simulate, monkeypatch):
    monkeypatch.setattr("dpmosaic.simulations.time_limit.speed", lambda: 2.0)
    done = simulate("--time-limit", 1e-5, "--json")
    assert done.returncode == 0, done.stderr
    assert "the time limit was 1e-05 s" in json.loads(done.stdout)["warning"]
    plan = json.loads((folder / "out/certificate.json").read_text())["plan"]
    assert plan["mechanism"]["time_limit"] == 8e-6


def test_mechanisms_are_listed_for_people_and_for_scripts(dpmosaic):
    listed = json.loads(dpmosaic("mechanisms", "--json").stdout)
    assert list(listed) == list(CATALOGUE)
    assert listed["aim"]["protocols"] == ["masked", "trusted"]
    assert (listed["aim"]["on_paper"], listed["ppsyn"]["on_paper"]) == ([], ["paper"])
    assert {"name": "alpha", "kind": "a number above 0 and below 1", "default": 0.9} in listed["aim"][
        "parameters"
    ]
    shown = dpmosaic("mechanisms")
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in listed)
    assert "paper (only over the protocol theorem: not private)" in shown.stdout
    assert "paper (not private)" in shown.stdout


OPEN = {"type": "categorical", "categories": ["other"], "other": "other", "open": True}


@pytest.fixture
def jobs(folder):
    """Replaces the table by one of two jobs, which are not listed."""
    rows = "job,extra\n" + "nurse,1\n" * 300 + "clerk,2\n" * 200 + "king,3\n"
    (folder / "data.csv.gz").write_bytes(gzip.compress(rows.encode()))
    (folder / "domain.json").write_text(json.dumps({"job": OPEN, "extra": ["1", "2", "3"]}))


def test_frequent_texts_of_open_categories_are_released(folder, jobs, simulate):
    done = simulate("--epsilon", 10, "--bins-share", 0.3, "--grid", "1x2", "--mechanism", "independent")
    assert done.returncode == 0, done.stderr
    assert {*pd.read_csv(folder / "out/synthetic.csv")["job"]} - {"other"} == {"nurse", "clerk"}
