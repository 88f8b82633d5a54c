"""The command `dpmosaic evaluate` as a user types it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.errors import DataError

DOMAIN = {
    "kind": ["x", "[bold]", "z"],
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10},
    "code": 3,
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    for seed, name in enumerate(("real", "synthetic", "test")):
        rng = np.random.default_rng(seed)
        lines = [
            f"{DOMAIN['kind'][rng.integers(3)]},{rng.integers(0, 100)},{rng.integers(3)}" for _ in range(90)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(["kind,age,code", *lines]))
    return tmp_path


def run(folder, *arguments):
    files = [folder / "real.csv", folder / "synthetic.csv", "--domain", folder / "domain.json"]
    return CliRunner().invoke(app, ["evaluate", *map(str, files), *map(str, arguments)])


@pytest.mark.slow
def test_one_json_object_holds_all_metrics(folder):
    done = run(folder, "--target", "code", "--holdout", folder / "test.csv", "--json")
    assert done.exit_code == 0
    form = json.loads(done.stdout)
    assert form["records"] == {"real": 90, "synthetic": 90}
    assert [found["test_rows"] for found in form["predictions"]] == [90, 90]
    useful = form["usefulness"]
    assert (useful["target"], useful["test_rows"], useful["held_out"]) == ("code", 90, True)
    assert [set(one) for one in useful["learned"]] == [{"learner", "synthetic", "real"}] * 3
    assert len(form["pairs"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", DOMAIN)
def test_a_table_of_one_column_is_compared_by_that_column(tmp_path, name):
    (tmp_path / "domain.json").write_text(json.dumps({name: DOMAIN[name]}))
    values = {"kind": ("x", "z"), "age": (3, 50), "code": (0, 2)}[name]
    for place, table in enumerate(("real", "synthetic")):
        lines = [str(values[row % (3 + place) == 0]) for row in range(90)]
        (tmp_path / f"{table}.csv").write_text("\n".join([name, *lines]))
    done = run(tmp_path, "--json", "--report", tmp_path / "page.html")
    assert done.exit_code == 0
    form = json.loads(done.stdout)
    assert [one["clique"] for one in form["attributes"]] == [[name]]
    assert form["workload_error"] == pytest.approx(2 * (30 - 23) / 90)
    assert form["pairs"] == []


@pytest.mark.slow
def test_the_terminal_shows_each_metric_and_names_as_they_are(folder):
    done = run(folder, "--target", "code", "--pay", "code", "age", "kind")
    assert done.exit_code == 0
    for said in (
        "not for publication",
        "total variation",
        "kind x age",
        "svm",
        "tree",
        "regression",
        "random forest",
        "AUC",
    ):
        assert said in done.stdout


def test_a_report_and_the_terminal_say_that_no_promise_covers_them(folder):
    done = run(folder, "--report", folder / "page.html")
    assert done.exit_code == 0
    assert "the privacy promise does not cover it" in " ".join(done.stdout.split())
    assert "the privacy promise does not cover it" in (folder / "page.html.NOT-FOR-RELEASE.txt").read_text()


def test_without_a_label_no_classifier_is_trained(folder):
    done = run(folder, "--json")
    form = json.loads(done.stdout)
    assert form["predictions"] == []
    assert form["usefulness"] is None


@pytest.mark.slow
def test_a_number_is_predicted_as_one_and_the_report_shows_it(folder):
    done = run(folder, "--target", "age", "--report", folder / "page.html")
    assert done.exit_code == 0
    page = (folder / "page.html").read_text()
    for said in ("Usefulness: prediction of age", "mean absolute error, synthetic", "gradient boosting"):
        assert said in page


@pytest.mark.slow
def test_without_a_label_a_holdout_serves_to_count_equal_rows(folder):
    shares = [
        json.loads(run(folder, "--json", *more).stdout)["values"]["equal_rows"]
        for more in ((), ("--holdout", folder / "test.csv"))
    ]
    assert shares[0]["all_real"] == shares[1]["all_real"] == shares[1]["synthetic"]
    assert shares[0]["expected"] != shares[1]["expected"]


@pytest.mark.slow
def test_values_are_compared_and_not_only_codes(folder):
    """Bins of 10 years: the synthetic ages are the real ones, each at the end of its decade."""
    header, *lines = (folder / "real.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    moved = [f"{kind},{int(age) // 10 * 10 + 9},{code}" for kind, age, code in cells]
    (folder / "synthetic.csv").write_text("\n".join([header, *moved]))
    form = json.loads(run(folder, "--json", "--target", "age").stdout)
    assert {one["clique"][0]: one["total_variation"] for one in form["attributes"]}["age"] == 0
    (age,) = form["values"]["numbers"]
    assert age["kolmogorov"] > 0.05
    assert age["synthetic"]["mean"] > age["real"]["mean"]
    assert {one["outcome"] for one in form["values"]["coefficients"]} == {"age"}


def test_the_terminal_and_the_page_show_values_and_say_that_they_are_private(folder):
    page = folder / "page.html"
    done = run(folder, "--report", page)
    for shown in (done.stdout, page.read_text()):
        for said in ("Numbers, the furthest first", "Quantiles and decimals", "equal to any real row"):
            assert said in shown
    assert "not for publication" in done.stdout


@pytest.mark.slow
def test_the_command_is_installed_and_ends_with_one_sentence_where_files_are_missing(tmp_path):
    code = "import sys; sys.argv = ['dpmosaic', 'evaluate', 'a.csv', 'b.csv', '--domain', 'd.json']\n"
    code += "from dpmosaic.command import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "d.json" in done.stderr


def release(folder, *more):
    arguments = ["simulate", "real.csv", "--domain", "domain.json", "--rho", 1, "--out", "out", *more]
    places = [str(folder / a) if str(a) in ("real.csv", "domain.json", "out") else str(a) for a in arguments]
    return CliRunner().invoke(app, places)


@pytest.mark.slow
def test_a_release_has_a_page_without_and_an_evaluation_one_with_real_distributions(folder):
    assert release(folder).exit_code == 0
    certificate = folder / "out/certificate.json"
    assert "Not for publication" not in (folder / "out/report.html").read_text()
    page = folder / "new/evaluation.html"
    assert run(folder, "--report", page, "--certificate", certificate, "--target", "code").exit_code == 0
    text = page.read_text()
    for part in ("Not for publication", "What was promised", "Misclassification of code", "[bold]"):
        assert part in text


@pytest.mark.slow
def test_a_release_of_binary_digits_has_its_page_and_goes_with_the_table(folder):
    assert release(folder, "--binarise").exit_code == 0
    page = (folder / "out/report.html").read_text()
    assert "age.bit0" in page
    assert "numbers in 10 bins" in page
    done = run(folder, "--report", folder / "e.html", "--certificate", folder / "out/certificate.json")
    assert done.exit_code == 0


@pytest.mark.slow
def test_refuses_a_certificate_of_another_table_or_without_a_report(folder):
    assert release(folder).exit_code == 0
    certificate = folder / "out/certificate.json"
    other = json.loads(certificate.read_text())
    other["plan"]["domain_digest"] = "0" * 64
    (folder / "other.json").write_text(json.dumps(other))
    done = run(folder, "--report", folder / "e.html", "--certificate", folder / "other.json")
    assert "another domain" in str(done.exception)
    assert "--report" in str(run(folder, "--certificate", certificate).exception)
    assert not (folder / "e.html").exists()


def test_a_page_that_cannot_be_written_is_reported_in_one_sentence(folder):
    done = run(folder, "--report", folder / "domain.json" / "e.html")
    assert isinstance(done.exception, DataError)
    assert "choose another path" in str(done.exception)


def test_tables_of_one_column_are_compared(folder):
    (folder / "domain.json").write_text(json.dumps({"kind": DOMAIN["kind"]}))
    done = run(folder, "--json")
    assert done.exit_code == 0, done.exception
    assert [one["k"] for one in json.loads(done.stdout)["kway"]] == [1]


@pytest.mark.slow
def test_the_folder_of_a_release_is_enough_with_the_domain_that_it_chose(folder):
    options = ["--anyway", "--epsilon", "20", "--no-ledger", "--seed", "1", "--out", str(folder / "made")]
    assert CliRunner().invoke(app, ["synthesize", str(folder / "real.csv"), *options]).exit_code == 0
    done = CliRunner().invoke(app, ["evaluate", str(folder / "real.csv"), str(folder / "made"), "--json"])
    assert json.loads(done.stdout)["records"]["real"] == 90
