"""Introductory pages: their Python runs unchanged, and the gate runs their shell commands."""

import importlib
import json
import re
from pathlib import Path

import pytest

import dpmosaic
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.protocols.alignment.plan import ALIGNMENT
from dpmosaic.common.protocols.registry import COLLUSIONS, protocol_names
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE
from dpmosaic.party.dealing.dealer import Dealer
from dpmosaic.party.party import Party
from dpmosaic.simulations.datasets.catalogue import get

ROOT = Path(__file__).parent.parent
README, QUICKSTART = ROOT / "README.md", ROOT / "docs" / "quickstart.md"


def run_python_of(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile("\n".join(blocks), page.name, "exec"), {})


@pytest.mark.slow
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ("out", "out/first"):
        get("randhie", Path(folder))
    with pytest.warns(dpmosaic.DomainWarning):
        run_python_of(README)
    assert "total_variation" in capsys.readouterr().out


@pytest.mark.slow
def test_the_python_of_the_quickstart_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    get("randhie", Path("out/data"))
    run_python_of(QUICKSTART)
    output = capsys.readouterr().out
    assert "the curator" in output
    assert "ErrorBound" in output


def test_every_example_of_a_domain_file_is_one():
    page = ROOT / "docs" / "describe-your-table.md"
    examples = re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    domains = [Domain.from_json(json.loads(example)) for example in examples]
    kinds = {type(column).__name__ for one in domains for column in (*one.attributes, *one.unmodelled)}
    rules = {type(rule).__name__ for one in domains for rule in one.rules}
    assert kinds == {
        *(
            "BooleanAttribute",
            "CategoricalAttribute",
            "CodedAttribute",
            "DateAttribute",
            "DatePartsAttribute",
            "GapAttribute",
        ),
        *("Computed", "Dropped", "Identifier", "NumericAttribute"),
    }
    assert rules == {"AtMost", "Determines", "Impossible", "NullWhen", "PartOf", "Product", "StepsOf", "Sum"}


@pytest.mark.parametrize(
    "page",
    [README, *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "tutorials").glob("*.md"))],
    ids=lambda page: page.name,
)
def test_every_shell_command_of_a_page_is_run_by_the_gate(page):
    text, path = page.read_text(encoding="utf-8"), page.relative_to(ROOT)
    assert len(re.findall(r"^```sh$", text, flags=re.M)) == len(re.findall(r"^<!-- ci: ", text, flags=re.M))
    scripts = ("run", "readme_network", "guide")
    gate = "".join((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in scripts)
    runs = rf"(page|follow|commands_of) {re.escape(str(path))}" + (r"|^\s*readme" if page == README else "")
    for name in set(re.findall(r"<!-- ci: (\S+) -->", text)):
        assert re.search(rf"({runs}) {name}\b", gate, flags=re.M), name


@pytest.mark.parametrize(
    ("heading", "caption"),
    [("I have one table", "One table"), ("Our data are at several institutions", "Several institutions")],
)
def test_the_first_page_names_pages_in_the_order_in_which_next_leads(heading, caption):
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", text, flags=re.M | re.S)
    (path,) = re.findall(rf"^:caption: {caption}\n\n(.*?)^```", text, flags=re.M | re.S)
    linked = re.findall(r"\]\(([\w/-]+)\.md", section)
    assert list(dict.fromkeys(linked)) == path.split()


@pytest.mark.parametrize(("name", "most"), [("operators-guide", 20), ("behind-a-proxy", 10)])
def test_a_first_masked_release_by_a_guide_takes_so_many_commands(name, most):
    """Each is one block; all other commands of the page are the reader's choice."""
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\*\*(\d+)\.\*\* .*?^```sh$", page, flags=re.M | re.S)
    assert sorted(map(int, steps)) == list(range(1, most + 1))
    assert len(steps) == page.count("```sh\n")


def test_every_public_name_and_mechanism_is_in_the_api_reference():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    documented = set(re.findall(r"automodule:: (\S+)", pages))
    assert {importlib.import_module(name).__name__ for name in documented} == documented
    classes = [type(make()) for entry in CATALOGUE.values() for make in entry.variants.values()]
    assert {thing.__module__ for thing in classes} <= documented
    assert {getattr(dpmosaic, name).__module__ for name in dpmosaic._HOMES} <= documented
    assert all(f"`{name}`" in pages for name in dpmosaic._HOMES)


def test_the_table_of_collusions_is_that_of_the_protocols():
    page = ROOT / "docs" / "threat-model.md"
    heads = [
        "release",
        "together read the records of a slice",
        "together read exact cells of scored marginals",
        "together see a record through less noise than promised",
        "reads alone if it deviates",
    ]
    rows = [[row.release, row.records, row.cells, row.noise, row.alone] for row in COLLUSIONS]
    head, *body = (f"| {' | '.join(cells)} |" for cells in [heads, *rows])
    table = "\n".join([head, "|" + "---|" * len(heads), *body])
    assert f"\n\n{table}\n\n" in page.read_text(encoding="utf-8")


def named_tests():
    """Files of tests, and functions in them."""
    paths = list((ROOT / "tests").rglob("test_*.py"))
    functions = {name for path in paths for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.M)}
    return functions | {path.name for path in paths}


def test_what_one_participant_learns_is_nothing_or_shown_by_a_test_for_each_role_and_protocol():
    page = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## What one deviating participant learns\n(.*?)^## ", page, re.M | re.S)
    head, _, *body = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    )
    columns = [re.match(r"`(\w+)`", cell).group(1) for cell in head[1:]]
    assert set(columns) == {*protocol_names(for_daemons=True), ALIGNMENT}
    roles = [row[0] for row in body]
    # Parties and dealers are the daemons; evaluators are one or the other.
    words = {kind.__name__.lower() for kind in (Party, Dealer)} | {"curator", "evaluator"}
    assert all(any(word in role for role in roles) for word in words)
    known = named_tests()
    for row in body:
        assert len(row) == len(head)
        for cell in row[1:]:
            named = re.findall(r"`(test_[\w.]+)`", cell)
            assert set(named) <= known
            assert cell.startswith("nothing") or named


def test_the_tests_that_the_threat_model_names_exist():
    page = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(?:tests/[\w/]+/)?(test_\w+(?:\.py)?)`", page)) <= named_tests()
