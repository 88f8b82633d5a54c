import dataclasses
import functools
import hashlib
import http.server
import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.party.sources.source import read_table
from dpmosaic.simulations.datasets import adult, randhie
from dpmosaic.simulations.datasets.catalogue import DATASETS, ELSEWHERE, get
from support.serving import Handler, serving

CELLS = [
    *("39", "State-gov", "77516", "Bachelors", "13", "Never-married", "Adm-clerical", "Not-in-family"),
    *("White", "Male", "2174", "0", "40", "United-States", "<=50K"),
]
TRAIN = ", ".join(CELLS) + "\n" + ", ".join(["50", "?", *CELLS[2:14], ">50K"]) + "\n\n"
TEST = "|1x3 Cross validator\n" + ", ".join(["17", *CELLS[1:14], ">50K."]) + "\n\n"


@pytest.mark.slow
def test_a_grid_writes_what_each_party_holds_with_a_key_that_is_no_attribute(tmp_path):
    written = CliRunner().invoke(app, ["datasets", "get", "randhie", str(tmp_path), "--grid", "2x2"])
    assert written.exit_code == 0, written.output
    whole = pd.read_csv(tmp_path / "randhie.csv")
    for row, rows in enumerate((slice(0, 10095), slice(10095, 20190)), start=1):
        parts = [tmp_path / f"party-{row}-{place}" for place in (1, 2)]
        tables = [pd.read_parquet(part / "rows.parquet") for part in parts]
        keys = [list(table.pop("row_number")) for table in tables]
        assert keys[0] == keys[1] == [str(number) for number in range(rows.start, rows.stop)]
        for part, table in zip(parts, tables, strict=True):
            assert Domain.load(part / "domain.json").names == tuple(table.columns)
        assert [*tables[0], *tables[1]] == list(Domain.load(tmp_path / "randhie.domain.json").names)
        for name, column in pd.concat(tables, axis=1).items():
            assert list(column.astype(float)) == list(whole[name][rows].astype(float))
    again = CliRunner().invoke(app, ["datasets", "get", "randhie", str(tmp_path / "two"), "--grid", "0x2"])
    assert isinstance(again.exception, DataError)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Adult's repository with three records, on this machine."""
    served = tmp_path / "served"
    served.mkdir()
    (served / "adult.data").write_text(TRAIN)
    (served / "adult.test").write_text(TEST)

    class Files(Handler, http.server.SimpleHTTPRequestHandler):
        """Those of the repository."""

    files = functools.partial(Files, directory=served)
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), files)) as running:
        parts = []
        for part in adult.PARTS:
            name = part.url.rpartition("/")[2]
            content = (served / name).read_bytes()
            url = f"http://127.0.0.1:{running.server_port}/{name}"
            parts.append(
                dataclasses.replace(
                    part, url=url, size=len(content), sha256=hashlib.sha256(content).hexdigest()
                )
            )
        monkeypatch.setattr(adult, "PARTS", tuple(parts))
        yield served


def test_adult_is_downloaded_joined_and_fits_its_domain(repository, tmp_path):
    done = CliRunner().invoke(app, ["datasets", "get", "adult", str(tmp_path / "out")])
    assert done.exit_code == 0
    domain = Domain.load(tmp_path / "out/adult.domain.json")
    table = read_table(tmp_path / "out/adult.csv", domain)
    assert table.record_count == 3
    assert table.column("income").tolist() == [0, 1, 1]
    assert table.column("age").tolist() == [22, 33, 0]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["adult.csv", "adult.domain.json"]


def test_refuses_a_changed_repository_and_leaves_nothing(repository, tmp_path):
    (repository / "adult.test").write_text(TEST.replace("17", "18"))
    with pytest.raises(DataError, match=r"adult\.test does not have the expected SHA-256"):
        get("adult", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_refuses_a_line_of_another_length():
    with pytest.raises(DataError, match="expected 15 cells"):
        adult.join_parts(["39, State-gov\n"])


@pytest.mark.slow
def test_the_table_of_the_demo_is_written_without_a_network(tmp_path):
    table, domain = get("randhie", tmp_path)
    assert read_table(table, Domain.load(domain)).digest() == randhie.load().digest()
    with pytest.raises(DataError, match="exists already"):
        get("randhie", tmp_path)


def test_every_domain_is_valid_and_every_checksum_has_its_length():
    for dataset in DATASETS.values():
        assert len(Domain.from_json(dataset.domain)) >= 10
    for part in adult.PARTS:
        assert len(bytes.fromhex(part.sha256)) == 32
        assert part.url.startswith("https://")


def test_the_list_names_all_tables_and_where_to_ask_for_others():
    shown = CliRunner().invoke(app, ["datasets"]).stdout
    form = json.loads(CliRunner().invoke(app, ["datasets", "--json"]).stdout)
    assert set(form["built_in"]) == set(DATASETS)
    assert set(form["elsewhere"]) == set(ELSEWHERE)
    assert all(name in shown for name in (*DATASETS, *ELSEWHERE))


def test_refuses_other_names_and_says_where_to_get_known_tables(tmp_path):
    with pytest.raises(DataError, match=r"one of randhie, adult, got 'iris'$"):
        get("iris", tmp_path)
    with pytest.raises(DataError, match="registered users"):
        get("br2000", tmp_path)
