"""What a dossier says of a release is what its certificate and the files that it names say."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.dossier.subject import Column, Subject, column_of
from dpmosaic.curator.dossier.writing import PAGE
from support.browsing import INACCESSIBLE, chromium, needs_browser, unreadable
from support.dossiers import TWO_HOSPITALS
from support.small_release import DOMAIN

FRAME = pd.DataFrame({"sex": ["f", "m"] * 300, "smoker": ["no", "no", "yes"] * 200})


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flat") / "release"
    domain = {"sex": ["f", "m"], "smoker": ["no", "yes"]}
    dpmosaic.synthesize(FRAME, epsilon=1.0, domain=domain, mechanism="independent").save(folder)
    return folder


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people") / "release"
    tables = {
        "people": pd.DataFrame({"id": range(600), "sex": ["f", "m"] * 300}),
        "all rows": pd.DataFrame({"id": np.arange(900) % 600, "ward": ["a", "b", "c"] * 300}),
    }
    domain = {"people": {"sex": ["f", "m"]}, "all rows": {"ward": ["a", "b", "c"]}}
    relations = {"all rows": {"id": "people"}}
    dpmosaic.synthesize(tables, epsilon=1.0, relations=relations, domain=domain).save(folder)
    return folder


@pytest.fixture(scope="module")
def rows_of_people(tmp_path_factory):
    """One table with a key, of whose people nothing is known beside their rows."""
    folder = tmp_path_factory.mktemp("rows") / "release"
    rows = pd.DataFrame({"id": np.arange(900) % 600, "ward": ["a", "b", "c"] * 300})
    dpmosaic.synthesize(rows, epsilon=1.0, key="id", domain={"ward": ["a", "b", "c"]}).save(folder)
    return folder


@pytest.fixture(scope="module")
def with_public(tmp_path_factory):
    folder = tmp_path_factory.mktemp("public") / "release"
    tables = {
        "people": pd.DataFrame({"id": range(600), "ward": ["a", "b", "c"] * 200}),
        "wards": pd.DataFrame({"ward": ["a", "b", "c"], "beds": [1, 2, 3]}),
        "rows": pd.DataFrame({"id": np.arange(900) % 600, "kind": ["x", "y", "z"] * 300}),
    }
    relations = {"people": {"ward": "wards"}, "rows": {"id": "people"}}
    domain = {"rows": {"kind": ["x", "y", "z"]}}
    options = {"relations": relations, "public": ["wards"], "domain": domain}
    dpmosaic.synthesize(tables, epsilon=1.0, **options).save(folder)
    return folder


def test_columns_are_described_as_the_domain_says():
    found = {attribute.name: column_of(attribute) for attribute in DOMAIN.attributes}
    assert found["sex"] == Column("sex", "text", ("F", "M"))
    assert found["job title"] == Column("job title", "text", ("clerk", "cook"), missing=True)
    assert found["smoker"] == Column("smoker", "boolean", missing=True)
    assert found["age"] == Column("age", "integer", minimum="30", maximum="39", missing=True)
    assert found["since"] == Column("since", "date")
    assert found["score"] == Column("score", "integer", minimum="0", maximum="3")
    (moment,) = Domain.from_json(
        {"at": {"type": "timestamp", "min": "2020-01-01", "max": "2020-01-02", "bins": 2}}
    ).attributes
    assert column_of(moment).kind == "datetime"


@pytest.mark.slow
def test_a_release_of_one_table_is_described_by_its_certificate(flat):
    subject, made = Subject.load(flat), Certificate.load(flat / "certificate.json")
    (table,) = subject.tables
    assert (table.file, table.sha256) == ("synthetic.csv", made.outputs["synthetic.csv"])
    assert table.rows == len((flat / "synthetic.csv").read_text().splitlines()) - 1
    assert [column.name for column in table.columns] == ["sex", "smoker"]
    assert (subject.epsilon, subject.delta) == (made.promise.epsilon, made.promise.delta)
    assert (subject.members, subject.signed, subject.private) == ((), False, True)
    assert subject.digest == made.digest().hex()
    assert "with noise" in subject.records, "under add-remove the number of records is not public"


@pytest.mark.slow
def test_a_release_of_related_tables_is_described_with_its_keys_and_what_was_spent_together(people):
    subject = Subject.load(people)
    form = json.loads((people / "certificate.json").read_text())
    above, below = subject.tables
    assert (above.name, above.key, below.parent, below.foreign) == ("people", "id", "people", "id")
    assert {column.name: column.kind for column in below.columns} == {"id": "key", "ward": "text"}
    assert below.sha256 == form["outputs"]["tables/all_rows.csv"]
    assert subject.epsilon_spent == form["epsilon_spent"]
    assert len(subject.steps) == len(form["parts"])
    assert "one person with all rows" in subject.unit


@pytest.mark.slow
def test_a_folder_that_changed_since_the_release_has_no_dossier(flat, tmp_path):
    with pytest.raises(DataError, match="expected the folder of a finished release"):
        Subject.load(tmp_path)
    copy = Path(shutil.copytree(flat, tmp_path / "copy"))
    (copy / "synthetic.csv").write_text("sex,smoker\nf,no\n")
    with pytest.raises(DataError, match=r"synthetic\.csv"):
        Subject.load(copy)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["flat", "people", "rows_of_people", "with_public"])
def test_the_command_writes_a_dossier_and_says_how_much_of_it_is_filled_in(release, request, tmp_path):
    folder = request.getfixturevalue(release)
    done = CliRunner().invoke(app, ["dossier", str(folder), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "answers filled in" in done.output
    assert {PAGE, "data-card.md", "croissant.json", "dossier.toml"} <= {p.name for p in tmp_path.iterdir()}
    sets = json.loads((tmp_path / "croissant.json").read_text())["recordSet"]
    fields = [field for one in sets for field in one["field"]]
    referred = {field["references"]["field"]["@id"] for field in fields if "references" in field}
    assert referred <= {field["@id"] for field in fields}


@needs_browser
@pytest.mark.slow
def test_a_browser_verifies_a_folder_without_a_network_and_says_who_promised_what(flat, tmp_path):
    CliRunner().invoke(app, ["dossier", str(flat), "--out", str(tmp_path)])
    with chromium() as browser:
        page = browser.new_page(offline=True)
        errors = []
        page.on("pageerror", lambda error: errors.append(error))
        page.goto((tmp_path / PAGE).as_uri())
        assert page.evaluate(INACCESSIBLE) == []
        page.set_input_files("#folder", str(flat))
        page.wait_for_selector("#found h2")
        text = page.inner_text("#found")
        assert "It is consistent, and nobody signed it" in text
        assert "Epsilon\t1" in text
        assert "One record is one row" in text
        assert unreadable(page) == []
        altered = Path(shutil.copytree(flat, tmp_path / "release"))
        (altered / "synthetic.csv").write_text("sex,smoker\n")
        page.set_input_files("#folder", str(altered))
        page.wait_for_selector("#found .bad")
        assert "It does not hold" in page.inner_text("#found")
        assert errors == []


def test_all_rows_of_all_tables_are_counted():
    assert TWO_HOSPITALS.rows == 5000
    assert TWO_HOSPITALS.day == "2026-05-02"
