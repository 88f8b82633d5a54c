"""From a data frame or a file to a release in one call, and by a command."""

import inspect
import json
import logging
import pydoc
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.curator.certificates.certificate import Certificate

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(5)
ROWS = 1500
DOMAIN = {
    "age": {"type": "numeric", "min": 0, "max": 119, "bins": 12, "integer": True},
    "town": ["north", "south"],
    "paid": {"type": "boolean"},
}


def real():
    age = RNG.integers(18, 90, ROWS)
    town = np.where(RNG.random(ROWS) < age / 100, "north", "south")
    return pd.DataFrame({"age": age, "town": town, "paid": RNG.random(ROWS) < 0.3})


REAL = real()


def synthesize(data=REAL, **options):
    defaults = {"domain": DOMAIN, "adjacency": "zero-out", "mechanism": "independent", "seed": 1}
    return dpmosaic.synthesize(data, **{**defaults, **options})


def run(*arguments):
    return CliRunner().invoke(app, ["synthesize", *map(str, arguments)])


def test_a_release_has_the_columns_of_the_data_frame_and_the_types_of_the_domain():
    release = synthesize(REAL.astype({"age": "int32", "town": "category"}), mechanism="mosaic")
    assert release.table.dtypes.to_dict() == {
        "age": np.dtype("int64"),
        "town": pd.CategoricalDtype(["north", "south"]),
        "paid": np.dtype("bool"),
    }
    assert len(release.table) == ROWS
    promise = release.certificate.promise
    assert (promise.epsilon, promise.delta) == (1.0, 1e-9)
    assert release.certificate.plan.spec.protocol == "trusted"


def test_the_number_of_rows_is_noisy_unless_it_is_asked_for_or_public():
    release = synthesize(adjacency="add-remove", epsilon=0.05)
    assert release.certificate.plan.spec.adjacency == "add-remove"
    assert release.certificate.plan.bins.zcdp_rho > 0
    assert len(release.table) != ROWS
    assert len(release.table) == pytest.approx(ROWS, abs=500)
    assert len(synthesize(adjacency="add-remove", rows=70).table) == 70
    public = synthesize(adjacency="zero-out", epsilon=0.05)
    assert len(public.table) == ROWS
    assert public.certificate.plan.bins is None


def test_a_large_budget_gives_the_marginals_of_the_table():
    release = synthesize(epsilon=1e4, mechanism="mosaic")
    for names in (["town"], ["town", "paid"]):
        real, made = (rows.value_counts(names, normalize=True) for rows in (REAL, release.table))
        assert (real - made).abs().max() < 0.01


def test_without_a_domain_the_release_finds_bounds_and_texts_and_says_so():
    rows = REAL.assign(town=REAL["town"].where(REAL.index > 0, "a single house"))
    with pytest.warns(dpmosaic.DomainWarning) as warned:
        release = synthesize(rows, domain=None, epsilon=100.0)
    assert str(warned[0].message).startswith("no domain: a part of the budget learns what the columns hold; ")
    assert set(release.domain["town"].categories) == {"north", "south"}
    assert release.table["age"].between(17, 90).all()
    assert list(release.table) == list(rows)
    assert not release.certificate.plan.unreviewed
    assert release.certificate.plan.bins.zcdp_rho > 0


def test_columns_of_all_types_come_back_with_types_that_no_value_decides(tmp_path):
    rng = np.random.default_rng(8)
    days = pd.Series(pd.to_datetime(rng.integers(0, 2**31, 500), unit="s"))
    rows = pd.DataFrame(
        {
            "byte": rng.integers(0, 100, 500).astype(np.uint8),
            "large": rng.integers(2**61, 2**62, 500),
            "nullable": pd.array(rng.choice([1, 5, None], 500), dtype="Int64"),
            "short": rng.normal(0, 1, 500).astype("float32"),
            "wild": rng.choice([np.nan, np.inf, -np.inf, 1e300, 3.0], 500),
            "perhaps": pd.array(rng.choice([True, None], 500), dtype="boolean"),
            "arrow": pd.array(rng.choice(["a", None], 500), dtype="string[pyarrow]"),
            "objects": pd.Series(rng.choice([1, "x", None], 500), dtype=object),
            "size": pd.Series(rng.choice(["S", "M"], 500), dtype=pd.CategoricalDtype(["S", "M"], True)),
            "number": pd.Categorical(rng.choice([3, 1, 2], 500)),
            "cut": pd.cut(rng.random(500), 3),
            "nothing": pd.Series([None] * 500, dtype=pd.CategoricalDtype([])),
            "time": days,
            "zoned": days.dt.tz_localize("Europe/Berlin", ambiguous="NaT", nonexistent="NaT"),
            "offset": days.dt.tz_localize("+02:00"),
            "old": pd.Series([pd.Timestamp("1700-01-01"), pd.NaT] * 250),
            "day": pd.Series(days.dt.date).astype("date32[day][pyarrow]"),
        }
    )
    with pytest.warns(dpmosaic.DomainWarning):
        release = synthesize(rows, domain=None, epsilon=50.0, anyway=True)
    assert list(release.table) == list(rows)
    assert release.table["time"].between("1960-01-01", "2050-01-01").mean() > 0.9
    for table_format in ("csv", "parquet"):
        release.save(tmp_path / table_format, table_format)
        loaded = dpmosaic.load(tmp_path / table_format)
        pd.testing.assert_frame_equal(loaded.table, release.table)
        assert loaded.rows.digest() == release.rows.digest()


def test_categories_that_a_type_lists_are_found_by_counts_as_others_are():
    listed = pd.CategoricalDtype(["north", "south", "of one person", "of nobody"])
    rows = REAL.assign(town=REAL["town"].where(REAL.index > 0, "of one person").astype(listed))
    with pytest.warns(dpmosaic.DomainWarning):
        release = synthesize(rows, domain=None, epsilon=10.0)
    assert set(release.domain["town"].categories) == {"north", "south"}


def test_a_release_without_a_seed_is_for_release_and_differs_each_time():
    first, second = (synthesize(seed=None) for _ in range(2))
    assert first.certificate.labels == ()
    assert first.certificate.differentially_private
    assert not first.table.equals(second.table)


def test_a_seed_reproduces_the_release_and_labels_it():
    first, second = (synthesize() for _ in range(2))
    assert first.table.equals(second.table)
    assert "NOT A RELEASE" in first.certificate.labels[0]


def test_domains_come_as_objects_as_content_and_as_files(tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps(DOMAIN))
    for domain in (path, str(path), Domain.from_json(DOMAIN)):
        assert synthesize(domain=domain).domain == Domain.from_json(DOMAIN)


def test_files_are_released_as_data_frames_are(tmp_path):
    REAL.to_csv(tmp_path / "table.csv", index=False)
    REAL.to_parquet(tmp_path / "table.parquet")
    expected = synthesize().rows.digest()
    for name in ("table.csv", "table.parquet"):
        assert synthesize(tmp_path / name).rows.digest() == expected
    with pytest.warns(dpmosaic.DomainWarning):
        release = synthesize(tmp_path / "table.csv", domain=None, epsilon=100.0)
    assert set(release.table["town"].dropna()) <= {"north", "south", "other"}


def test_a_target_gives_the_workload_that_predicts_it():
    plan = synthesize(target="paid").certificate.plan
    expected = dpmosaic.Workload.for_target(Domain.from_json(DOMAIN), "paid")
    assert {one.clique: one.weight for one in plan.workload} == dict(
        zip(expected.cliques, expected.weights, strict=True)
    )


def test_rules_hold_in_every_row():
    rule = {"impossible": {"town": ["north"], "paid": [True]}}
    rows = REAL[~((REAL["town"] == "north") & REAL["paid"])]
    made = synthesize(rows, rules=[rule]).table
    assert not ((made["town"] == "north") & made["paid"]).any()


def test_options_of_the_release_reach_it():
    release = synthesize(rows=10, workload="1way", mechanism=dpmosaic.MST(), delta=1e-6, epsilon=2.0)
    plan = release.certificate.plan
    assert (len(release.table), plan.mechanism["name"], len(plan.workload)) == (10, "mst", 3)
    assert (plan.spec.budget.epsilon, plan.spec.budget.delta) == (2.0, 1e-6)


def test_a_time_limit_is_in_seconds_of_this_machine(monkeypatch):
    monkeypatch.setattr("dpmosaic.simulations.time_limit.speed", lambda: 3.0)
    plan = synthesize(mechanism="mosaic", time_limit=600).certificate.plan
    assert plan.mechanism["time_limit"] == 720.0


def test_a_release_that_takes_longer_than_asked_says_so(monkeypatch):
    monkeypatch.setattr("dpmosaic.simulations.time_limit.speed", lambda: 1.0)
    with pytest.warns(dpmosaic.TimeLimitWarning, match="the time limit was 1e-05 s"):
        synthesize(mechanism="mosaic", time_limit=1e-5)


def test_a_table_of_one_column_is_released():
    assert list(synthesize(REAL[["town"]], domain={"town": DOMAIN["town"]}).table) == ["town"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"epsilon": 0}, BudgetError, "epsilon: expected a positive"),
        ({"delta": 1}, BudgetError, "delta: expected a number"),
        ({"mechanism": "magic"}, DataError, "mechanism: expected one of"),
        ({"target": "paid", "workload": "1way"}, DataError, "target: expected it without a workload"),
        ({"time_limit": 5}, DataError, "expected the mechanism 'mosaic', got 'independent'"),
        ({"domain": {"height": 3}}, DataError, "expected a column 'height'"),
        ({"rows": 0}, DataError, "rows: expected at least 1"),
        ({"rows": 2.5}, DataError, "another whole number"),
        ({"rows": 2**40}, DataError, "at most 1000000000; ask"),
        ({"rows": 10**400}, DataError, "at most 1000000000; ask"),
        ({"epsilon": 10**400}, BudgetError, "expected a positive finite number"),
        ({"data": REAL.iloc[:0], "adjacency": "zero-out"}, DataError, "the table has no rows"),
        ({"data": "nowhere.csv"}, DataError, "expected a file"),
    ],
)
def test_refuses_what_does_not_fit_before_anything_is_spent(options, error, message, monkeypatch):
    monkeypatch.setattr("dpmosaic.synthesis.one_table.release_among", _spending)
    with pytest.raises(error, match=message):
        synthesize(**options)


def _spending(*_, **__):
    raise AssertionError("it began to spend")


def test_nothing_is_printed_and_progress_is_shown_if_asked_for(capfd, caplog):
    with caplog.at_level(logging.DEBUG, logger="dpmosaic"):
        synthesize()
    synthesize(progress=False)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    synthesize(progress=True)
    assert capfd.readouterr().err


def test_a_synthesizer_fits_and_samples_like_those_of_scikit_learn():
    options = {"adjacency": "zero-out", "mechanism": "independent", "seed": 1}
    made = dpmosaic.Synthesizer(epsilon=2.0, domain=DOMAIN, **options)
    again = clone(made).set_params(epsilon=3.0)
    assert made.get_params()["epsilon"] == 2.0
    assert again.fit(REAL) is again
    assert again.release_.certificate.promise.epsilon == 3.0
    assert again.generate().equals(again.release_.table)
    assert again.generate(7, {"town": "north"}, seed=1).equals(
        again.release_.generate(7, "town=north", seed=1)
    )
    assert len(again.generate(seed=1)) == ROWS
    with pytest.raises(DataError, match="call fit first"):
        made.generate(3)
    with pytest.raises(DataError, match="expected one of the parameters epsilon"):
        made.set_params(eps=1.0)


def test_a_synthesizer_has_the_parameters_of_synthesize_for_one_table_of_one_row_a_person():
    parameters = list(inspect.signature(dpmosaic.synthesize).parameters)
    of_people = (
        "key",
        "relations",
        "order",
        "series",
        "repeats",
        "counts",
        "within",
        "near",
        "same",
        "rising",
        "once",
        "drop_incomplete",
        "summaries",
        "per_person",
        "public",
    )
    others = ("data", "checks", "out", *of_people, "releases", "until", "continues")
    assert list(dpmosaic.Synthesizer().get_params()) == [one for one in parameters if one not in others]


@pytest.mark.parametrize("table_format", ["csv", "parquet"])
def test_the_command_writes_a_release_that_can_be_loaded(tmp_path, table_format):
    REAL.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    done = run(
        *(tmp_path / "table.csv", "--domain", tmp_path / "domain.json", "--out", tmp_path / "out"),
        *("--format", table_format, "--seed", 1, "--mechanism", "independent", "--json"),
    )
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["warnings"] == []
    release = dpmosaic.load(tmp_path / "out")
    assert release.rows.digest() == synthesize(adjacency="add-remove").rows.digest()
    assert summary["rows"] == len(release.table)
    assert (tmp_path / "out" / f"synthetic.{table_format}").is_file()
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_the_command_has_a_time_limit_and_says_if_it_took_longer(tmp_path, monkeypatch):
    monkeypatch.setattr("dpmosaic.simulations.time_limit.speed", lambda: 2.0)
    REAL.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    done = run(
        *(tmp_path / "table.csv", "--domain", tmp_path / "domain.json", "--out", tmp_path / "out"),
        *("--time-limit", 1e-5, "--json"),
    )
    assert done.exit_code == 0, done.output
    assert "the time limit was 1e-05 s" in json.loads(done.stdout)["warnings"][0]
    assert Certificate.load(tmp_path / "out" / "certificate.json").plan.mechanism["time_limit"] == 8e-6


def test_the_command_needs_one_file_and_one_folder(tmp_path):
    REAL.to_csv(tmp_path / "table.csv", index=False)
    out = tmp_path / "out"
    done = run(tmp_path / "table.csv", "--epsilon", 3, "--mechanism", "independent", "--out", out)
    assert done.exit_code == 0, done.output
    assert "warning: no domain" in done.output
    assert "written to" in done.output
    assert Certificate.load(out / "certificate.json").differentially_private
    assert (out / "bins" / "domain.json").is_file()


def test_the_command_refuses_a_folder_with_results_before_it_reads_the_table(tmp_path):
    (tmp_path / "model.npz").touch()
    done = run(tmp_path / "nowhere.csv", "--out", tmp_path)
    assert isinstance(done.exception, DataError)
    assert "already holds model.npz" in str(done.exception)


def test_simulate_takes_data_frames():
    options = {"epsilon": dpmosaic.Budget(1.0, 1e-9), "mechanism": "independent", "seed": 1}
    table = dpmosaic.encode(REAL, DOMAIN)
    expected = dpmosaic.simulate(table, **options)
    assert dpmosaic.simulate(REAL, domain=DOMAIN, **options).rows.digest() == expected.rows.digest()
    with pytest.raises(DataError, match="expected a domain: parties agree on one"):
        dpmosaic.simulate(REAL, **options)
    with pytest.raises(DataError, match="no domain beside a Table"):
        dpmosaic.simulate(table, domain=DOMAIN, **options)


def test_data_frames_and_tables_are_encoded_and_decoded():
    domain = Domain.from_json(DOMAIN)
    table = dpmosaic.encode(REAL, domain)
    again = dpmosaic.decode(table, seed=2)
    assert dpmosaic.encode(again, domain).digest() == table.digest()
    assert again["town"].equals(REAL["town"].astype(again["town"].dtype))


def test_a_domain_is_drafted_from_a_data_frame_as_from_its_file(tmp_path):
    rows = REAL.assign(kind=pd.Categorical(RNG.choice(["x", "y"], ROWS)))
    rows.to_parquet(tmp_path / "table.parquet")
    draft = dpmosaic.draft(rows)
    assert draft.domain == dpmosaic.draft(tmp_path / "table.parquet").domain
    assert draft.domain.unreviewed == tuple(rows.columns)


def test_a_column_of_objects_is_drafted_as_its_texts():
    draft = dpmosaic.draft(pd.DataFrame({"mixed": [1, "one", None] * 50}), blanks=["one"])
    assert draft.domain["mixed"].missing == ("one",)


def test_a_draft_is_the_same_for_a_file_and_a_frame_of_the_same_content(tmp_path):
    days = pd.date_range("2020-01-01", periods=ROWS).strftime("%d.%m.%Y")
    rows = pd.DataFrame(
        {
            "age": RNG.integers(18, 90, ROWS),
            "share": np.round(RNG.random(ROWS), 2),
            "kind": RNG.choice(["a", "b"], ROWS),
            "day": days,
            "key": RNG.permutation(np.arange(5000, 5000 + ROWS)),
            "holes": np.where(np.arange(ROWS) % 3 == 0, np.nan, np.arange(ROWS)),
        }
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    of_file, of_frame = dpmosaic.draft(tmp_path / "rows.csv"), dpmosaic.draft(rows)
    assert of_file.to_json() == of_frame.to_json()
    assert of_file.remarks == of_frame.remarks


def test_an_ordered_categorical_keeps_its_categories_in_order():
    sizes = pd.CategoricalDtype(["low", "mid", "high", "top"], ordered=True)
    draft = dpmosaic.draft(pd.DataFrame({"size": pd.Series(["mid", "low", None] * 20, dtype=sizes)}))
    assert draft["size"] == {
        "type": "categorical",
        "categories": ["", "low", "mid", "high", "top"],
        "ordered": True,
        "reviewed": False,
    }


@pytest.mark.parametrize(("rows", "lacks"), [(pd.DataFrame(), "columns"), (pd.DataFrame({"a": []}), "rows")])
def test_an_empty_data_frame_has_nothing_to_draft_from(rows, lacks):
    with pytest.raises(DataError, match=f"the data frame has no {lacks}"):
        dpmosaic.draft(rows)


def test_lists_in_a_data_frame_are_left_out_of_a_draft():
    rows = pd.DataFrame({"kind": ["a", "b"] * 30, "lists": [[1, 2], None] * 30, "bytes": [b"x"] * 60})
    draft = dpmosaic.draft(rows)
    assert [draft[name]["type"] for name in ("lists", "bytes")] == ["text", "text"]
    assert draft.domain.names == ("kind",)


def test_a_draft_stands_for_a_domain_and_is_labelled_until_it_is_confirmed():
    draft = dpmosaic.draft(REAL)
    options = {"epsilon": 1.0, "mechanism": "independent", "seed": 1, "progress": False}
    labels = dpmosaic.synthesize(REAL, domain=draft, **options).certificate.labels
    assert any("nobody has reviewed" in label for label in labels)
    draft.confirm()
    release = dpmosaic.synthesize(REAL, domain=draft, **options)
    assert not any("nobody has reviewed" in label for label in release.certificate.labels)
    assert dpmosaic.encode(REAL, draft).domain == draft.domain


def test_evaluate_compares_a_data_frame_with_a_release():
    release = synthesize()
    found = dpmosaic.evaluate(REAL, release)
    table = dpmosaic.encode(REAL, DOMAIN)
    assert found.kway == dpmosaic.evaluate(table, release.rows).kway
    assert found.kway == dpmosaic.evaluate(REAL, release.table, domain=DOMAIN).kway
    with pytest.raises(DataError, match="expected a domain for a data frame"):
        dpmosaic.evaluate(REAL, release.table)


def test_compare_shows_a_data_frame_beside_a_release_on_one_page():
    release = synthesize(REAL)
    page = dpmosaic.compare(REAL, release).html
    assert "Not for publication" in page
    assert all(f">{name}<" in page for name in release.domain.names)
    assert page != release.report().html


def test_every_public_name_is_listed_and_loads():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(hasattr(dpmosaic, name) for name in dpmosaic._HOMES)
    assert set(dpmosaic._HOMES) <= set(dir(dpmosaic))


def test_the_help_of_the_package_names_every_public_name_and_is_read_on_one_screen():
    page = pydoc.plain(pydoc.render_doc(dpmosaic))
    assert len(page.splitlines()) <= 60
    assert set(dpmosaic._HOMES) <= set(re.findall(r"\w+", dpmosaic.__doc__))


RECORDS = "Anna Muster,1968-03-14,Chur,84250.00\n" + "Bert,1951-02-11,Bern,40037.00\n" * 60


def test_the_command_numbers_the_columns_of_a_file_without_a_header_if_asked_to(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(RECORDS)
    refused = run(path, "--out", tmp_path / "out", "--mechanism", "independent")
    assert isinstance(refused.exception, DataError)
    assert "--no-header" in str(refused.exception)
    assert "Anna" not in str(refused.exception)
    (tmp_path / "domain.json").write_text(json.dumps({"column3": ["Bern", "Chur"]}))
    done = run(
        *(path, "--out", tmp_path / "out", "--no-header", "--domain", tmp_path / "domain.json", "--json"),
        *("--mechanism", "independent", "--adjacency", "zero-out"),
    )
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["rows"] == 61
    domain = {"column3": ["Bern", "Chur"]}
    table = dpmosaic.synthesize(path, header=False, domain=domain, adjacency="zero-out").table
    assert (list(table), len(table)) == (["column3"], 61)


def test_a_record_becomes_no_names_in_a_data_frame_and_in_a_draft(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(RECORDS)
    for ask in (dpmosaic.synthesize, dpmosaic.draft):
        with pytest.raises(DataError, match="names of the columns read as a record"):
            ask(pd.read_csv(path))
    with pytest.raises(DataError, match="reads as a record"):
        dpmosaic.draft(path)
    assert list(dpmosaic.draft(path, header=False).entries)[:2] == ["column1", "column2"]


def test_the_command_names_a_column_without_a_name(tmp_path):
    REAL[["town"]].to_csv(tmp_path / "table.csv")
    (tmp_path / "domain.json").write_text(json.dumps({"town": DOMAIN["town"]}))
    done = run(
        *(tmp_path / "table.csv", "--domain", tmp_path / "domain.json", "--out", tmp_path / "out"),
        *("--mechanism", "independent", "--json"),
    )
    assert done.exit_code == 0, done.exception
    assert "table.csv: column 1 has no name" in json.loads(done.stdout)["warnings"][0]


def test_more_columns_of_one_value_than_an_array_has_axes_are_written(tmp_path):
    data = pd.DataFrame({f"c{number}": ["x"] * 50 for number in range(100)})
    domain = {name: ["x"] for name in data}
    release = dpmosaic.synthesize(
        data, 1.0, domain=domain, mechanism="independent", rows=4, seed=1, progress=False
    )
    release.save(tmp_path / "out")
    written = pd.read_csv(tmp_path / "out" / "synthetic.csv", dtype=str)
    assert written.equals(data[:4].astype(written.dtypes))
