"""Files of relations."""

from __future__ import annotations

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.simulations.tables.frames import read_domain
from dpmosaic.synthesis.relations_file import read_relations


def stated(tmp_path, text: str):
    (tmp_path / "relations.toml").write_text(text)
    return read_relations(tmp_path / "relations.toml", tmp_path)


def test_a_table_is_the_one_file_of_its_name(tmp_path):
    (tmp_path / "people.csv").touch()
    assert stated(tmp_path, "[people]\n").files == {"people": tmp_path / "people.csv"}


def test_all_that_a_file_can_say(tmp_path):
    found = stated(
        tmp_path,
        """
        [wards]
        file = "d.csv"
        public = true
        [people]
        file = "a.csv"
        domain = "people.json"
        [stays]
        file = "b.parquet"
        belongs_to = {id = "people"}
        order = "day"
        series = "ward"
        within = ["born", ""]
        summaries = {old = {ward = ["x", "y"]}}
        [codes]
        file = "c.csv"
        belongs_to = {stay = "stays"}
        order = true
        drop_incomplete = true
        """,
    )
    assert found.relations == {"stays": {"id": "people"}, "codes": {"stay": "stays"}}
    assert found.order == {"stays": "day", "codes": True}
    assert found.domains == {"people": tmp_path / "people.json"}
    assert found.series == {"stays": "ward"}
    assert found.drop_incomplete == {"codes"}
    assert found.public == {"wards"}
    assert found.within == {"stays": ("born", "")}
    assert found.summaries == {"stays": {"old": {"ward": ["x", "y"]}}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[people]\n", r"expected one file people.csv"),
        ('[people]\nfile = "a.csv"\nbelongs = 1\n', r"belongs_to"),
        ('[people]\nfile = "a.csv"\nwithin = ["a"]\n', r"expected two columns"),
        ("[people\n", r"is not TOML"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, text, told):
    with pytest.raises(DataError, match=told):
        stated(tmp_path, text)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*relations.toml"):
        read_relations(tmp_path / "relations.toml", tmp_path)


SEX = '{"sex": ["f", "m"]}'


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("reviewed = false\n[stays]\n", ["people"]),
        ('[stays]\nbelongs_to = {ward = "wards", id = "people"}\nreviewed = false\n[wards]\n', ["people"]),
        ('[stays]\nbelongs_to = {id = "people"}\nreviewed = false\ndomain = "people.json"\n', ["stays"]),
        ('[stays]\nbelongs_to = {id = "people"}\nreviewed = true\n', []),
    ],
)
def test_what_nobody_has_reviewed_is_a_mark_of_the_nearest_columns(tmp_path, text, marked):
    (tmp_path / "people.json").write_text(SEX)
    for name in ("people", "stays", "wards"):
        (tmp_path / f"{name}.csv").touch()
    found = stated(tmp_path, f'[people]\ndomain = "people.json"\n{text}').domains
    assert [name for name, one in found.items() if read_domain(one).unreviewed] == marked


def test_a_draft_of_tables_without_domains_is_not_read_before_it_is_reviewed(tmp_path):
    (tmp_path / "people.csv").touch()
    with pytest.raises(DataError, match="take `reviewed = false` out"):
        stated(tmp_path, '[people]\nbelongs_to = {id = "people"}\nreviewed = false\n')
