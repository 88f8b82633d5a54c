"""What a dossier says: golden files, forms that other programs read, and where each answer comes from."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace

import pytest
import yaml

from dpmosaic.common.errors import DataError
from dpmosaic.curator.dossier.document import OPEN, Source, as_markdown
from dpmosaic.curator.dossier.institution import FORM, NAME, Institution, draft
from dpmosaic.curator.dossier.subject import Column
from dpmosaic.curator.dossier.writing import PAGE, documents, files, verifier_page, write_dossier
from support.dossiers import DOSSIERS, GOLDEN, HOSPITALS, RELATED, TWO_HOSPITALS, contents
from support.verifiers import SCRIPT

WITHOUT = Institution()


def file_of(name, subject, institution=WITHOUT):
    return dict(files(subject, institution))[name]


@pytest.mark.parametrize("name", DOSSIERS)
def test_the_files_of_a_dossier_are_those_that_were_read_and_kept(name):
    kept = {path.name: path.read_text(encoding="utf-8") for path in (GOLDEN / name).iterdir()}
    assert dict(contents(name)) == kept


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mlcroissant") is None, reason="needs mlcroissant")
@pytest.mark.parametrize("name", DOSSIERS)
def test_croissant_is_valid_for_its_own_program(name, tmp_path):
    (tmp_path / "croissant.json").write_text(file_of("croissant.json", *DOSSIERS[name]), encoding="utf-8")
    said = "import mlcroissant, sys; print(mlcroissant.Dataset(sys.argv[1]).metadata.issues.report())"
    command = [sys.executable, "-W", "ignore", "-c", said, str(tmp_path / "croissant.json")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


@pytest.mark.skipif(
    importlib.util.find_spec("rdflib") is None, reason="needs rdflib, which mlcroissant brings"
)
@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
def test_the_record_of_a_catalogue_is_a_graph_with_what_dcat_ap_demands():
    import rdflib

    graph = rdflib.Graph()
    graph.parse(data=file_of("healthdcat-ap.jsonld", TWO_HOSPITALS, HOSPITALS), format="json-ld")
    dataset = rdflib.URIRef(f"urn:sha256:{'c' * 64}")
    terms, dcat = rdflib.DCTERMS, rdflib.DCAT
    for demanded in (terms.title, terms.description, terms.publisher, terms.accessRights, dcat.theme):
        assert len(list(graph.objects(dataset, demanded))) == 1
    (distribution,) = graph.objects(dataset, dcat.distribution)
    assert list(graph.objects(distribution, dcat.accessURL)) == [rdflib.URIRef("https://example.org/waiting")]
    ages = {str(age.toPython()) for age in graph.objects(dataset, None) if age.toPython() in (18, 95)}
    assert ages == {"18", "95"}


def test_a_record_of_health_data_is_written_only_if_the_institution_describes_health_data():
    assert "healthdcat-ap.jsonld" not in dict(files(TWO_HOSPITALS, WITHOUT))
    assert "healthdcat-ap.jsonld" in dict(files(TWO_HOSPITALS, HOSPITALS))


def test_the_entry_of_the_registry_is_yaml_with_all_its_sections():
    entry = yaml.safe_load(file_of("deployment.yaml", TWO_HOSPITALS, HOSPITALS))["deployment"]
    assert list(entry) == [
        "basic", "dp_variant", "privacy_loss", "deployment_model", "accounting", "implementation",
        "administrative",
    ]  # fmt: skip
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-9}
    assert [one["data_curator_name"] for one in entry["basic"]["data_curators"]] == [
        "North Clinic, 1 Road",
        "clinic-south",
    ]
    related = yaml.safe_load(file_of("deployment.yaml", RELATED))["deployment"]
    assert related["privacy_loss"]["privacy_unit"] == "User-level"
    assert related["basic"]["intended_use"] == OPEN


def test_metadata_of_related_tables_states_their_keys():
    metadata = json.loads(file_of("sdmetrics.json", RELATED))
    (relation,) = metadata["relationships"]
    assert relation == {
        "parent_table_name": "patients",
        "parent_primary_key": "id",
        "child_table_name": "stays",
        "child_foreign_key": "id",
    }
    assert metadata["tables"]["patients"]["primary_key"] == "id"
    (table,) = json.loads(file_of("csvw.json", RELATED))["tables"]
    assert table["url"] == "tables/patients.csv", "a Parquet file is no table of CSVW"


def test_categories_are_formats_of_csvw_in_which_no_letter_has_a_meaning():
    (table,) = json.loads(file_of("csvw.json", TWO_HOSPITALS))["tables"]
    ward = table["tableSchema"]["columns"][1]
    assert ward["datatype"] == {"base": "string", "format": r"surgery|ear \| nose|<other>"}


def test_assessment_and_record_are_filled_but_for_one_field_in_ten():
    for document in documents(TWO_HOSPITALS, HOSPITALS):
        if document.file in ("impact-assessment", "record-of-processing"):
            assert document.filled >= 0.9
            named = " ".join(answer.question for answer in document.answers)
            assert "Joint controller clinic-north" in named
            assert "Joint controller clinic-south" in named


def test_what_only_an_institution_knows_is_open_until_it_says_it():
    for document in documents(RELATED, WITHOUT):
        for answer in document.answers:
            assert (answer.source is Source.OPEN) == (answer.text == f"{OPEN}.")
            assert answer.source is not Source.INSTITUTION
    answers = [answer for document in documents(RELATED, WITHOUT) for answer in document.answers]
    assert {"Legal basis", "Controller"} <= {one.question for one in answers if one.source is Source.OPEN}


def test_labels_of_a_release_that_is_not_private_stand_in_every_document_and_record():
    for name, content in files(RELATED, WITHOUT):
        if name not in (PAGE, "csvw.json", "sdmetrics.json"):
            assert "known seed" in content or "non_dp" in content, name


def test_names_of_columns_are_text_in_pages_and_in_markdown():
    column = Column("<script>x</script> | `a`\n# b", "text", ("*c*",))
    (table,) = TWO_HOSPITALS.tables
    subject = replace(TWO_HOSPITALS, tables=(replace(table, columns=(column,)),))
    page, text = file_of("data-card.html", subject), file_of("data-card.md", subject)
    assert "<script>x" not in page
    assert r"\<script\>x\</script\> \| \`a\`\\n\# b" in text
    assert as_markdown("a\tb") == r"a\\tb"


def test_a_draft_of_the_file_has_a_line_for_every_key_and_every_party():
    lines = draft(("clinic-north", "clinic-south")).splitlines()
    named = {line.removeprefix("# ").split(" = ")[0] for line in lines if " = " in line}
    wanted = {key for name, table in FORM.keys.items() if name != "controllers" for key in table.form.keys}
    assert wanted <= named
    assert '# [controllers."clinic-south"]' in lines
    assert all(not line or line.startswith("#") for line in lines)


def test_a_misspelt_key_is_refused(tmp_path):
    (tmp_path / NAME).write_text('[dataset]\ntitel = "x"\n')
    with pytest.raises(DataError, match="titel"):
        Institution.load(tmp_path / NAME)


def test_a_file_that_somebody_filled_in_is_not_overwritten(tmp_path):
    assert NAME in write_dossier(RELATED, WITHOUT, tmp_path)
    (tmp_path / NAME).write_text("# mine\n")
    assert NAME not in write_dossier(RELATED, WITHOUT, tmp_path)
    assert (tmp_path / NAME).read_text() == "# mine\n"


def test_the_page_holds_the_second_verifier_as_it_is_and_can_load_and_send_nothing():
    page = verifier_page()
    assert SCRIPT.read_text(encoding="utf-8").strip() in page
    assert "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:" in page
    for loaded in ("src=", "http://", "https://", "import(", "fetch("):
        assert loaded not in page.replace("data-src", "")
