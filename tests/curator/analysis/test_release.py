"""A finished release: in memory, saved, loaded, changed, shown."""

import json
import shutil
from importlib import import_module
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.crypto.digests import sha256_of
from dpmosaic.common.errors import DataError
from dpmosaic.curator.results.storage import TableStorage
from dpmosaic.curator.results.table_format import TableFile, TableFormat

pytestmark = pytest.mark.slow

DOMAIN = {
    "id": {"type": "identifier", "pattern": "P-{:04d}"},
    "age": {"type": "numeric", "min": 0, "max": 119, "bins": 12, "integer": True, "nullable": True},
    "share": {"type": "numeric", "min": 0, "max": 1, "bins": 4, "format": "{} kg"},
    "debt": {"type": "numeric", "min": -10, "max": 10, "bins": 4, "format": "{} EUR", "nullable": True},
    "kind": ["", "=sum", "'-part", "plain", "1"],
    "level": {"type": "categorical", "categories": [1, 2, 3], "ordered": True},
    "size": {"type": "categorical", "categories": ["S", "M", "L"], "ordered": True},
    "paid": {"type": "boolean", "nullable": True, "true": ["yes"], "false": ["no"]},
    "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 12, "format": "%d.%m.%Y"},
    "time": {"type": "timestamp", "min": "2020-01-01", "max": "2020-12-31", "bins": 4, "nullable": True},
    "code": 3,
}
RNG = np.random.default_rng(2)
ROWS = 300


@pytest.fixture(scope="module")
def release():
    domain = dpmosaic.Domain.from_json(DOMAIN)
    codes = {name: RNG.integers(0, domain[name].size, ROWS) for name in domain}
    real = dpmosaic.decode(dpmosaic.Table.from_codes(domain, codes), seed=1)
    return dpmosaic.synthesize(
        real, domain=domain, adjacency="zero-out", mechanism="mst", epsilon=50.0, seed=1
    )


FORMATS = {
    "csv": TableFile(),
    "spreadsheet": TableFile(TableFormat.CSV, spreadsheet_safe=True),
    "parquet": TableFile(TableFormat.PARQUET),
}


@pytest.mark.parametrize("table_file", FORMATS.values(), ids=FORMATS)
def test_a_saved_release_is_loaded_with_the_same_rows_values_and_types(release, tmp_path, table_file):
    release.save(tmp_path, table_file)
    loaded = dpmosaic.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.table, release.table)
    pd.testing.assert_frame_equal(loaded.published.frame, release.published.frame)
    assert loaded.rows.digest() == release.rows.digest()
    assert loaded.published.records == release.published.records == ROWS
    assert loaded.domain == release.domain
    assert set(loaded.published.evidence.known) == set(release.published.evidence.known)
    assert repr(loaded) == repr(release)


def test_a_loaded_release_is_saved_again_with_its_files(release, tmp_path):
    release.save(tmp_path / "one", "parquet")
    dpmosaic.load(tmp_path / "one").save(tmp_path / "two")
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("one", "two"))
    assert one == two
    assert "NOT-FOR-RELEASE.txt" in two


def test_a_figure_of_a_release_that_is_none_says_so_beside_its_file(release, tmp_path):
    release.plot().save(tmp_path / "figure.png")
    [label] = release.certificate.labels
    assert label in (tmp_path / "figure.png.NOT-FOR-RELEASE.txt").read_text()


def test_a_release_that_chose_bins_keeps_the_certificate_of_the_choice(tmp_path):
    rows = pd.DataFrame({"x": RNG.normal(0, 1, 500), "y": RNG.choice(["a", "b"], 500)})
    with pytest.warns(dpmosaic.DomainWarning):
        made = dpmosaic.synthesize(rows, mechanism="independent", epsilon=20.0)
    made.save(tmp_path / "one")
    loaded = dpmosaic.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    for folder in ("one", "two"):
        certificate = dpmosaic.Certificate.load(tmp_path / folder / "bins" / "certificate.json")
        assert certificate.digest().hex() == made.certificate.plan.bins.certificate
        assert dpmosaic.Domain.load(tmp_path / folder / "bins" / "domain.json") == made.domain
    pd.testing.assert_frame_equal(loaded.table, made.table)


@pytest.mark.parametrize("name", ["synthetic.csv", "model.npz", "evidence.npz", "report.html"])
def test_refuses_a_folder_with_a_changed_file(release, tmp_path, name):
    release.save(tmp_path)
    with (tmp_path / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(DataError, match=rf"{name}: expected the file that the certificate names"):
        dpmosaic.load(tmp_path)


def test_refuses_a_certificate_that_names_a_file_elsewhere(release, tmp_path):
    release.save(tmp_path)
    path = tmp_path / "certificate.json"
    form = json.loads(path.read_text())
    form["outputs"]["../other"] = form["outputs"]["model.npz"]
    path.write_text(json.dumps(form))
    with pytest.raises(DataError, match="a file outside of its folder"):
        dpmosaic.load(tmp_path)


def test_further_rows_have_the_types_of_the_table_and_meet_the_condition(release):
    rows = release.generate(40, where={"age": (30, 59), "size": "M"}, seed=3)
    assert rows.dtypes.to_dict() == release.table.dtypes.to_dict()
    assert len(rows) == 40
    assert rows["age"].between(30, 59).all()
    assert (rows["size"] == "M").all()
    pd.testing.assert_frame_equal(rows, release.generate(40, "age=30..59,size=M", seed=3))


def test_a_release_answers_queries(release):
    answer = release.query("SELECT count(*) FROM release", level=0.9, of="population")
    assert answer.frame.iloc[0, 0] == pytest.approx(ROWS)
    assert (answer.level, answer.of) == (0.9, "population")


ESTIMATORS = {
    "mean": (("age", {"level": [1, 2]}, "size"), "means"),
    "proportion": (("kind", "plain", {"level": 1}, "size"), "means"),
    "difference": (("age", ("size", "S", "L")), "means"),
    "linear": (("age", ["share", "level"]), "regression"),
    "logistic": (("paid", ["share"]), "regression"),
    "infer": ((lambda rows: rows["age"].mean(), ["age"]), "jackknife"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_release_has_the_estimators(release, name):
    arguments, module = ESTIMATORS[name]
    estimator = getattr(import_module(f"dpmosaic.curator.analysis.estimators.{module}"), name)
    found = getattr(release, name)(*arguments, of="table", level=0.9)
    expected = estimator(release.published, *arguments, of="table", level=0.9)
    assert found.level == 0.9
    pd.testing.assert_frame_equal(found.frame, expected.frame)


def test_copies_have_the_types_of_the_table_and_their_results_are_combined(release):
    made = release.copies(3, seed=1)
    assert [len(rows) for rows in made] == [ROWS] * 3
    kept = [name for name in release.table if name in made[0]]
    assert all(rows.dtypes.to_dict() == release.table.dtypes[kept].to_dict() for rows in made)
    found = dpmosaic.combine([rows["age"].mean() for rows in made])
    assert found.low < found.estimate < found.high


def test_a_folder_without_a_table_has_a_model_only(release, tmp_path):
    release.save(tmp_path)
    (tmp_path / "synthetic.csv").unlink()
    loaded = dpmosaic.load(tmp_path)
    assert loaded.model.generate(5, np.random.default_rng(0)).record_count == 5
    assert loaded.published.columns == release.domain.columns
    with pytest.raises(DataError, match=r"expected one of synthetic\.csv, synthetic\.parquet"):
        loaded.rows  # noqa: B018


def test_a_folder_without_evidence_is_loaded(release, tmp_path):
    release.save(tmp_path)
    (tmp_path / "evidence.npz").unlink()
    assert dpmosaic.load(tmp_path).published.evidence is None


def test_refuses_what_is_no_release(tmp_path):
    with pytest.raises(DataError, match="expected the folder of a finished release"):
        dpmosaic.load(tmp_path)


def test_refuses_a_table_of_other_columns(release, tmp_path):
    release.save(tmp_path)
    form = json.loads((tmp_path / "certificate.json").read_text())
    (tmp_path / "synthetic.csv").write_text("a,b\n1,2\n")
    form["outputs"]["synthetic.csv"] = sha256_of(tmp_path / "synthetic.csv")
    (tmp_path / "certificate.json").write_text(json.dumps(form))
    with pytest.raises(DataError, match="expected the columns of the model"):
        dpmosaic.load(tmp_path).table  # noqa: B018


def test_refuses_to_overwrite_and_unknown_formats(release, tmp_path):
    with pytest.raises(DataError, match=r"format: expected one of csv, parquet, .*, got 'xls'"):
        release.save(tmp_path, "xls")
    release.save(tmp_path)
    with pytest.raises(DataError, match="already holds"):
        release.save(tmp_path)


def test_the_summary_is_html_that_shows_size_promise_labels_and_the_worst_marginals(release):
    text = release._repr_html_()
    ElementTree.fromstring(text)
    assert "300 rows and 11 columns" in text
    assert "epsilon = 50" in text
    assert "NOT A RELEASE" in text
    worst = max(release.certificate.error_bounds, key=lambda bound: bound.total_variation)
    assert " × ".join(worst.clique) in text
    assert f"{worst.total_variation:.3f}" in text


def test_the_summary_escapes_names():
    rows = pd.DataFrame({"<b>": ["x", "y"] * 50, "z&": ["x", "y"] * 50})
    domain = {"<b>": ["x", "y"], "z&": ["x", "y"]}
    made = dpmosaic.synthesize(rows, domain=domain, mechanism="mst", seed=1)
    text = made._repr_html_()
    ElementTree.fromstring(text)
    assert "&lt;b&gt; × z&amp;" in text


def test_the_text_of_a_release_is_one_line(release):
    assert repr(release) == ("Release(300 rows x 11 columns, epsilon=50, delta=1e-09, mst; not for release)")


def test_the_report_is_the_page_that_is_saved(release, tmp_path):
    release.save(tmp_path / "release")
    page = release.report()
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page._repr_html_()
    assert page.html == (tmp_path / "release" / "report.html").read_text(encoding="utf-8")
    assert repr(page).startswith("Page of ")


def test_simulated_releases_are_loaded_too(release, tmp_path):
    release.save(tmp_path / "real")
    shutil.copy(tmp_path / "real" / "synthetic.csv", tmp_path / "table.csv")
    assert dpmosaic.read_table(tmp_path / "table.csv", release.domain).digest() == release.rows.digest()


def test_refuses_a_folder_that_says_nothing_of_how_columns_are_stored(tmp_path):
    rows = pd.DataFrame({"x": pd.Categorical(RNG.choice(["a", "b"], 200))})
    dpmosaic.synthesize(rows, domain={"x": ["a", "b", "c"]}, mechanism="independent").save(tmp_path)
    assert list(dpmosaic.load(tmp_path).table["x"].dtype.categories) == ["a", "b", "c"]
    with (tmp_path / "storage.json").open("a") as file:
        file.write("x")
    with pytest.raises(DataError, match=r"storage\.json: expected the file that the certificate names"):
        dpmosaic.load(tmp_path)


FOREIGN = ("synthetic.csv", "synthetic.parquet", "evidence.npz", "storage.json")


@pytest.mark.parametrize("name", FOREIGN)
def test_reads_no_file_that_the_certificate_does_not_name_and_says_that_it_is_there(release, tmp_path, name):
    """As of whoever passes the folder on, and adds a table of its own or takes the names away."""
    release.save(tmp_path / "made", "parquet" if name == "synthetic.csv" else "csv")
    path = tmp_path / "made" / "certificate.json"
    form = json.loads(path.read_text())
    form["outputs"].pop(name, None)
    path.write_text(json.dumps(form))
    (tmp_path / "made" / name).write_text("size,age\nM,3\n")
    with pytest.warns(UserWarning, match=f"not named by the certificate, and not read: {name}"):
        loaded = dpmosaic.load(tmp_path / "made")
    published = loaded.published
    assert name not in (
        published.table and published.table.name,
        "evidence.npz" if published.evidence else "",
    )
    assert name != "storage.json" or published.storage == TableStorage()
    loaded.save(tmp_path / "copy")
    assert not (tmp_path / "copy" / name).exists()


def test_a_folder_whose_certificate_names_no_model_is_refused(release, tmp_path):
    release.save(tmp_path)
    path = tmp_path / "certificate.json"
    form = json.loads(path.read_text())
    del form["outputs"]["model.npz"]
    path.write_text(json.dumps(form))
    with (
        pytest.warns(UserWarning, match=r"not read: model\.npz"),
        pytest.raises(DataError, match=r"model\.npz and a certificate that names it"),
    ):
        dpmosaic.load(tmp_path)


def test_foreign_notes_are_named_after_foreign_tables_and_not_all_of_them(release, tmp_path):
    release.save(tmp_path)
    for number in range(9):
        (tmp_path / f"a{number}.txt").touch()
    (tmp_path / "synthetic.parquet").touch()
    with pytest.warns(UserWarning, match=r"not read: synthetic\.parquet, a0\.txt, .* and 5 more"):
        dpmosaic.load(tmp_path)


def test_the_domain_and_certificate_of_a_choice_of_bins_are_compared_before_they_are_copied(tmp_path):
    rows = pd.DataFrame({"x": RNG.normal(0, 1, 500), "y": RNG.choice(["a", "b"], 500)})
    with pytest.warns(dpmosaic.DomainWarning):
        made = dpmosaic.synthesize(rows, mechanism="independent", epsilon=20.0)
    made.save(tmp_path / "one")
    loaded = dpmosaic.load(tmp_path / "one")
    form = json.loads((tmp_path / "one" / "bins" / "certificate.json").read_text())
    form["selected_by"] = "somebody else"
    (tmp_path / "one" / "bins" / "certificate.json").write_text(json.dumps(form))
    for call in (lambda: loaded.save(tmp_path / "two"), lambda: dpmosaic.load(tmp_path / "one")):
        with pytest.raises(
            DataError, match=r"certificate\.json: expected the certificate that the plan names"
        ):
            call()
    with (tmp_path / "one" / "bins" / "domain.json").open("a") as file:
        file.write(" ")
    with pytest.raises(DataError, match=r"domain\.json: expected the file that the certificate names"):
        dpmosaic.load(tmp_path / "one")
