"""Related tables of a party: read, and made into records of people."""

import json

import duckdb
import numpy as np
import pytest

from dpmosaic.common.errors import DataError, PolicyError, ProtocolError
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.common.protocols.related import KnownColumn, RelatedPart, Relation, Way
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.institution.reading import read_related
from dpmosaic.party.operating.checking import check_home
from dpmosaic.party.policies.tables import tables_of
from support.postgres import server

PEOPLE = "id,sex\n1,f\n2,m\n3,f\n"
STAYS = "stay,id,day,ward\na,2,5,x\nb,1,9,y\nc,2,3,y\nd,2,4,x\n"
DOMAINS = {
    "people": {"sex": ["f", "m"]},
    "stays": {"day": {"type": "numeric", "min": 0, "max": 9, "bins": 2, "integer": True}, "ward": ["x", "y"]},
}
SECTIONS = {
    "people": {"file": "people.csv", "domain": "people.json", "key": "id"},
    "stays": {"file": "stays.csv", "domain": "stays.json", "belongs_to": {"id": "people"}, "order": "day"},
}
RELATIONS = (Relation("people", "", ""), Relation("stays", "people", "day"))


def settings(folder, people=PEOPLE, stays=STAYS, sections=SECTIONS):
    (folder / "people.csv").write_text(people)
    (folder / "stays.csv").write_text(stays)
    for name, domain in DOMAINS.items():
        (folder / f"{name}.json").write_text(json.dumps(domain))
    return tables_of(sections, folder)


def part(*columns, relations=RELATIONS, **options):
    return RelatedPart("a" * 32, 1.0, 1.0, "stays", relations, columns, **options)


def test_records_are_rows_in_their_order_with_what_is_above_and_before_them(tmp_path):
    rows, named = read_related(settings(tmp_path))
    assert list(named.columns["key"]) == ["1", "2", "3"]
    assert rows.domain.names == ("people.sex", "stays.day", "stays.ward")
    columns = (
        KnownColumn("sex", "people", Way.CODE, "sex"),
        KnownColumn("number", "people", Way.NUMBER, "stays", starts=(0, 1, 2)),
        KnownColumn("ward", "stays", Way.CODE, "ward"),
        KnownColumn("previous", "stays", Way.CODE, "ward", before=True),
        KnownColumn("day", "stays", Way.CODE, "day"),
        KnownColumn("step", "stays", Way.STEP, ""),
    )
    made = rows.records(part(*columns), tuple(one.name for one in columns))
    found = {name: made.table.column(name).tolist() for name in made.domain.names}
    assert found == {
        "sex": [0, 1, 1, 1],
        "number": [1, 2, 2, 2],
        "ward": [1, 1, 0, 0],
        "previous": [2, 2, 1, 0],
        "day": [1, 0, 0, 1],
        # First ones, then one day each after the one before.
        "step": [0, 0, 2, 2],
    }
    assert made.person.tolist() == [0, 1, 1, 1]
    assert made.weights.tolist() == [WEIGHT_PARTS, *[WEIGHT_PARTS // 3] * 3]
    assert made.record_count == 3


def test_rows_of_a_series_know_the_last_one_of_it_and_steps_the_row_before(tmp_path):
    """Person 2 has the wards y, x, x, y on days 3, 4, 5 and 8; the order has the bins 0 to 4 and 5 to 9."""
    rows, _ = read_related(settings(tmp_path, stays=STAYS + "e,2,8,y\n"))
    columns = (
        KnownColumn("previous_ward", "stays", Way.SERIES, "ward", before=True),
        KnownColumn("previous_day", "stays", Way.CODE, "day", before=True),
        KnownColumn("ward", "stays", Way.CODE, "ward"),
        KnownColumn("previous_step", "stays", Way.STEP, "", before=True),
    )
    stated = part(*columns)
    made = rows.records(stated, tuple(one.name for one in columns))
    found = {name: made.table.column(name).tolist() for name in made.domain.names}
    none = made.domain["previous_step"].size - 1
    assert found == {
        "previous_ward": [2, 2, 1, 0, 0],
        "previous_day": [2, 2, 2, 0, 0],
        "ward": [1, 1, 0, 0, 1],
        "previous_step": [none, none, 0, 2, 2],
    }
    assert made.weights.tolist() == [WEIGHT_PARTS, *[WEIGHT_PARTS // 4] * 4]
    # Which rows are one series is not asked for, and is known all the same.
    alone = rows.records(stated, ("previous_day",))
    assert alone.table.column("previous_day").tolist() == found["previous_day"]
    assert stated.following_from(("stays.ward",)) == ("previous_ward", "previous_day", "ward")
    assert stated.held_by(("stays",)) == tuple(found)


def test_a_series_by_a_column_that_the_table_has_not_is_refused(tmp_path):
    rows, _ = read_related(settings(tmp_path))
    columns = (
        KnownColumn("a", "stays", Way.SERIES, "test", before=True),
        KnownColumn("b", "stays", Way.CODE, "ward", before=True),
    )
    with pytest.raises(ProtocolError, match="a column that its table has not"):
        rows.records(part(*columns), ("b",))


def test_a_person_has_what_summaries_say_of_their_rows(tmp_path):
    """Person 1 has y on day 9; person 2 has y, x and x on days 3, 4 and 5; person 3 has no stay."""
    rows, _ = read_related(settings(tmp_path))
    is_x = (1, 0)
    columns = (
        KnownColumn("any_x", "stays", Way.ANY, "ward", groups=is_x),
        KnownColumn("number_of_x", "stays", Way.COUNT, "ward", groups=is_x, starts=(0, 1, 2)),
        KnownColumn("number", "stays", Way.COUNT, "ward", starts=(0, 1, 2)),
        KnownColumn("first", "stays", Way.FIRST_ROW, "ward"),
        KnownColumn("last", "stays", Way.LAST_ROW, "ward"),
        KnownColumn("last_or_none", "stays", Way.LAST_ROW, "ward", groups=(0, 1, 1)),
        # The order has the bins 0 to 4 and 5 to 9.
        KnownColumn("to_x", "stays", Way.TIME, "ward", groups=is_x, starts=(0, 1)),
        KnownColumn("to_y", "stays", Way.TIME, "ward", groups=(0, 1), starts=(0, 1)),
    )
    stated = RelatedPart("a" * 32, 1.0, 1.0, "people", RELATIONS, columns)
    made = rows.records(stated, tuple(one.name for one in columns))
    found = {name: made.table.column(name).tolist() for name in made.domain.names}
    assert found == {
        "any_x": [0, 1, 0],
        "number_of_x": [0, 2, 0],
        "number": [1, 2, 0],
        "first": [1, 1, 2],
        "last": [1, 0, 2],
        "last_or_none": [1, 0, 1],
        "to_x": [2, 0, 2],
        "to_y": [1, 0, 2],
    }
    assert made.weights.tolist() == [WEIGHT_PARTS] * 3
    assert stated.held_by(("people",)) == ()
    assert stated.following_from(("stays.ward",)) == tuple(one.name for one in columns)
    assert stated.following_from(("stays.day",)) == ("first", "last", "last_or_none", "to_x", "to_y")


def test_rows_of_few_weigh_less_where_numbers_are_evened(tmp_path):
    rows, _ = read_related(settings(tmp_path))
    even = (RELATIONS[0], Relation("stays", "people", "day", 2))
    made = rows.records(part(KnownColumn("ward", "stays", Way.CODE, "ward"), relations=even), ("ward",))
    assert made.weights.tolist() == [WEIGHT_PARTS // 2, *[WEIGHT_PARTS // 3] * 3]


@pytest.mark.parametrize("number", [0, -1, 2**31, 2**62, 2**63, 2**64 - 1, 10**400])
@pytest.mark.parametrize("field", ["evened", "starts", "groups"])
def test_any_number_in_terms_makes_records_or_is_refused(tmp_path, field, number):
    """Also where rows are not needed, as when terms are decided on."""
    rows, _ = read_related(settings(tmp_path))
    columns = {
        "evened": KnownColumn("found", "stays", Way.CODE, "ward"),
        "starts": ("found", "people", Way.NUMBER, "stays", False, (), (0, number)),
        "groups": ("found", "stays", Way.CODE, "ward", False, (0, number)),
    }
    try:
        even = Relation("stays", "people", "day", number if field == "evened" else 1)
        column = columns[field] if field == "evened" else KnownColumn(*columns[field])
        stated = part(column, relations=(RELATIONS[0], even))
        made = [held.records(stated, ("found",)).record_count for held in (rows, rows.without_rows)]
    except (DataError, ProtocolError):
        return
    assert made == [3, 3]


def test_people_are_those_with_rows_unless_the_party_lists_them(tmp_path):
    alone, named = read_related(settings(tmp_path, sections={"stays": SECTIONS["stays"]}))
    assert (alone.record_count, list(named.columns["key"])) == (2, ["2", "1"])
    keys = {"people": {"file": "people.csv", "key": "id"}, "stays": SECTIONS["stays"]}
    listed, named = read_related(settings(tmp_path, sections=keys))
    assert (listed.record_count, list(named.columns["key"])) == (3, ["1", "2", "3"])
    number = KnownColumn("number", "people", Way.NUMBER, "stays", starts=(0, 1, 2))
    assert listed.records(part(number), ("number",)).table.column("number").tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("people", "stays", "said"),
    [
        (PEOPLE + "1,m\n", STAYS, "each once"),
        (PEOPLE + ",m\n", STAYS, "each once"),
        (PEOPLE, STAYS + "e,7,1,x\n", "a key of 'people' in every row"),
        (PEOPLE, STAYS + "e,,1,x\n", "a key of 'people' in every row"),
    ],
)
def test_keys_that_do_not_fit_are_refused(tmp_path, people, stays, said):
    with pytest.raises(DataError, match=said):
        read_related(settings(tmp_path, people, stays))


@pytest.mark.parametrize("written", ["{}.0", " {} ", " {}.00"])
def test_a_key_is_the_same_in_columns_of_another_type(tmp_path, written):
    """A column of whole numbers with a missing cell is one of numbers with a point."""
    lines = [line.split(",") for line in STAYS.splitlines()]
    stays = "\n".join(",".join([a, written.format(b) if b != "id" else b, *more]) for a, b, *more in lines)
    found, _ = read_related(settings(tmp_path, stays=stays))
    assert found.record_count == 3


def test_rows_that_lack_what_binds_them_are_left_out_where_the_owner_says_so(tmp_path, monkeypatch):
    """Without a key, without a parent, of a parent that is left out, and without a value of the order."""
    sections = {name: one | {"drop_incomplete": True} for name, one in SECTIONS.items()}
    monkeypatch.setitem(DOMAINS["stays"], "day", DOMAINS["stays"]["day"] | {"nullable": True})
    head, rows = STAYS.split("\n", 1)
    stays = f"{head}\ne,7,1,x\nf,,1,x\n{rows}g,1,,x\n"
    dirty, named = read_related(settings(tmp_path, PEOPLE + ",m\n", stays, sections))
    clean, also_named = read_related(settings(tmp_path))
    assert list(named.columns["key"]) == list(also_named.columns["key"])
    columns = tuple(KnownColumn(name, "stays", Way.CODE, name) for name in ("ward", "day"))
    found, expected = (one.records(part(*columns), ("ward", "day")) for one in (dirty, clean))
    assert found.person.tolist() == expected.person.tolist()
    assert found.table.digest() == expected.table.digest()


OF_WARDS = {
    "wards": {"public": True},
    "people": SECTIONS["people"],
    "stays": SECTIONS["stays"] | {"belongs_to": {"id": "people", "ward": "wards"}},
}
STRAYS = "e,1,1,z\nf,3,2,\ng,3,2,other\n"


@pytest.mark.parametrize("stray", STRAYS.splitlines())
def test_a_row_that_refers_to_no_row_of_a_public_table_is_refused_in_one_sentence(tmp_path, stray):
    with pytest.raises(DataError, match=r"in 'ward' a key of the public table 'wards' in every row") as said:
        read_related(settings(tmp_path, stays=STAYS + stray, sections=OF_WARDS))
    assert "z" not in str(said.value)


def test_rows_that_refer_to_no_row_of_a_public_table_are_left_out_where_the_owner_says_so(tmp_path):
    dropping = {name: one | {"drop_incomplete": True} for name, one in OF_WARDS.items() if name != "wards"}
    sections = dropping | {"wards": {"public": True}}
    dirty, clean = (
        read_related(settings(tmp_path, stays=stays, sections=sections))[0]
        for stays in (STAYS + STRAYS, STAYS)
    )
    assert dirty.digest() == clean.digest()
    assert clean.digest() == read_related(settings(tmp_path))[0].digest()


@pytest.mark.parametrize(
    ("section", "change", "said"),
    [
        ("wards", {"public": True, "file": "wards.csv"}, "no file of a public table"),
        (
            "stays",
            SECTIONS["stays"] | {"belongs_to": {"id": "people", "day": "wards"}},
            "categories of 'day'",
        ),
        ("stays", SECTIONS["stays"] | {"belongs_to": {"id": "people", "none": "wards"}}, "of 'none'"),
        ("wards", {"file": "wards.csv", "key": "ward"}, "one column in belongs_to beside those of public"),
    ],
)
def test_public_tables_that_do_not_fit_are_refused(tmp_path, section, change, said):
    with pytest.raises(DataError, match=said):
        settings(tmp_path, sections=OF_WARDS | {section: change})


def test_tables_that_need_more_room_to_be_sorted_than_they_may_have_are_refused(tmp_path):
    with pytest.raises(PolicyError, match="sorted within max_disk_mb of the policy, got more"):
        read_related(settings(tmp_path), most_mb=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stays": {"file": "stays.csv", "domain": "stays.json"}}, "key or belongs_to"),
        ({"stays": SECTIONS["stays"] | {"key": "ward"}}, "is an attribute"),
        ({"stays": SECTIONS["stays"] | {"order": "no"}}, "the order among the attributes"),
        ({"stays": SECTIONS["stays"] | {"order": "ward"}}, "numbers, dates or timestamps"),
        ({"stays": SECTIONS["stays"] | {"belongs_to": {"id": "people", "x": "y"}}}, "one column"),
        ({"people": SECTIONS["people"] | {"key": "", "belongs_to": {"id": "stays"}}}, "circle|trees"),
        ({"others": SECTIONS["stays"] | {"belongs_to": {"id": "nobody"}}}, "several such trees"),
    ],
)
def test_tables_that_are_no_tree_are_refused(tmp_path, change, said):
    with pytest.raises(DataError, match=said):
        settings(tmp_path, sections=SECTIONS | change)


def test_a_plan_has_to_relate_and_order_tables_as_the_party_does(tmp_path):
    rows, _ = read_related(settings(tmp_path))
    everything = frozenset(SECTIONS)
    rows.check(part(), everything)
    with pytest.raises(PolicyError, match="of 'stays', and the policy does not allow"):
        rows.check(part(), frozenset({"people"}))
    for relations in (
        (RELATIONS[0], Relation("stays", "people", "")),
        (RELATIONS[0], Relation("more", "people", ""), Relation("stays", "more", "day")),
    ):
        with pytest.raises(ProtocolError, match="relates or orders 'stays' otherwise"):
            rows.check(part(relations=relations), everything)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (KnownColumn("x", "stays", Way.CODE, "none"), "its table has not"),
        (KnownColumn("x", "stays", Way.CODE, "ward", groups=(0, 1, 1)), "groups other codes"),
        (KnownColumn("x", "people", Way.STEP, ""), "an order that this party's have not"),
        (KnownColumn("x", "stays", Way.ANY, "none"), "its table has not"),
        (KnownColumn("x", "stays", Way.ANY, "ward", groups=(0, 1, 1)), "groups other codes"),
        (KnownColumn("x", "stays", Way.FIRST_ROW, "ward", groups=(0, 1)), "groups other codes"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path, column, said):
    rows, _ = read_related(settings(tmp_path))
    with pytest.raises(ProtocolError, match=said):
        rows.records(part(column), ("x",))


def test_a_party_answers_for_its_own_columns_alone(tmp_path):
    rows, _ = read_related(settings(tmp_path, sections={"stays": SECTIONS["stays"]}))
    with pytest.raises(ProtocolError, match="columns that it does not know"):
        rows.records(part(KnownColumn("sex", "people", Way.CODE, "sex")), ("sex",))


def test_what_depends_on_no_row_is_known_without_rows(tmp_path):
    rows, _ = read_related(settings(tmp_path))
    names = ("sex", "number", "first", "step", "ward")
    columns = (
        KnownColumn("sex", "people", Way.CODE, "sex"),
        KnownColumn("number", "people", Way.NUMBER, "stays", starts=(0, 1, 2)),
        KnownColumn("first", "people", Way.FIRST, "stays"),
        KnownColumn("step", "stays", Way.STEP, "", before=True),
        KnownColumn("ward", "stays", Way.CODE, "ward", groups=(0, 0)),
    )
    made, none = (one.records(part(*columns), names) for one in (rows, rows.without_rows))
    assert (none.domain, none.record_count) == (made.domain, made.record_count)
    assert (none.table.record_count, made.table.record_count) == (0, 4)


def test_steps_are_the_same_in_blocks(tmp_path, monkeypatch):
    rows, _ = read_related(settings(tmp_path))
    asked = part(KnownColumn("step", "stays", Way.STEP, ""))
    whole = rows.records(asked, ("step",)).table.column("step")
    for size in (1, 2, 3):
        monkeypatch.setattr("dpmosaic.party.institution.related.COUNTED_AT_ONCE", size)
        assert np.array_equal(rows.records(asked, ("step",)).table.column("step"), whole)


@pytest.mark.slow
def test_tables_in_a_database_are_read_as_from_files(tmp_path):
    files, named = read_related(settings(tmp_path))
    with duckdb.connect(tmp_path / "rows.duckdb") as store:
        for name in SECTIONS:
            store.execute(f"CREATE TABLE {name} AS FROM read_csv('{tmp_path / name}.csv')")
    places = {"people": "id", "stays": "stay"}
    queries = {
        name: {"query": f"FROM {name} ORDER BY {key}", "database": "rows.duckdb"}
        for name, key in places.items()
    }
    found, also = read_related(settings(tmp_path, sections=_elsewhere(queries)))
    assert found.digest() == files.digest()
    assert list(also.columns["key"]) == list(named.columns["key"])


@pytest.mark.slow
def test_tables_in_postgresql_are_read_as_from_files(tmp_path):
    psycopg = pytest.importorskip("psycopg")
    files, named = read_related(settings(tmp_path))
    with server() as connection:
        (tmp_path / "connection").touch(mode=0o600)
        (tmp_path / "connection").write_text(connection)
        with psycopg.connect(connection, autocommit=True) as made:
            made.execute("CREATE TABLE people (id int, sex text)")
            made.execute("CREATE TABLE stays (stay text, id int, day int, ward text)")
            for name, text in (("people", PEOPLE), ("stays", STAYS)):
                with made.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv, HEADER)".encode()) as copy:
                    copy.write(text)
        places = {
            name: {"engine": "postgres", "table": name, "connection": "file:connection", "order_by": order}
            for name, order in (("people", "id"), ("stays", "stay"))
        }
        found, also = read_related(settings(tmp_path, sections=_elsewhere(places)))
    assert found.digest() == files.digest()
    assert list(also.columns["key"]) == list(named.columns["key"])


def _elsewhere(places):
    """The sections with other places of rows."""
    kept = ("domain", "key", "belongs_to", "order")
    return {
        name: places[name] | {key: section[key] for key in kept if key in section}
        for name, section in SECTIONS.items()
    }


@pytest.mark.slow
def test_the_digest_changes_with_a_row_and_with_whose_it_is(tmp_path):
    digests = {
        read_related(settings(tmp_path, stays=text))[0].digest()
        for text in (STAYS, STAYS.replace("a,2,5,x", "a,2,5,y"), STAYS.replace("b,1,9", "b,3,9"))
    }
    assert len(digests) == 3


def test_a_party_is_told_all_faults_of_its_tables(tmp_path):
    home = PartyHome.create(tmp_path / "party", "clinic")
    settings(home.folder, stays=STAYS + "e,1,1,z\n")
    sections = "".join(
        f'[tables.{name}]\nfile = "{name}.csv"\ndomain = "{name}.json"\nkey = "{key}"\n{more}'
        for name, key, more in (
            ("people", "id", ""),
            ("stays", "nokey", 'belongs_to = { id = "people" }\norder = "day"\n'),
        )
    )
    (home.folder / "policy.toml").write_text(sections + '[policy]\nmax_rows_per_person = "all"\n')
    found = {one.where for one in check_home(home) if one.refused}
    assert {"stays.nokey", "stays.ward"} <= found


@pytest.mark.parametrize("dropping", [True, False])
def test_rows_that_the_owner_leaves_out_are_no_fault(tmp_path, dropping):
    home = PartyHome.create(tmp_path / "party", "clinic")
    settings(home.folder, stays=STAYS + STRAYS)
    more = "drop_incomplete = true\n" if dropping else ""
    (home.folder / "policy.toml").write_text(
        '[tables.people]\nfile = "people.csv"\ndomain = "people.json"\nkey = "id"\n'
        '[tables.stays]\nfile = "stays.csv"\ndomain = "stays.json"\norder = "day"\n'
        f'belongs_to = {{ id = "people", ward = "wards" }}\n{more}'
        '[tables.wards]\npublic = true\n[policy]\nmax_rows_per_person = "all"\n'
    )
    assert {one.where for one in check_home(home) if one.refused} == (set() if dropping else {"stays.ward"})
