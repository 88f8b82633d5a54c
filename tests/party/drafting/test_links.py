"""Drafts of which tables of a folder belong to people, on shapes of tables that are everywhere."""

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.party.drafting.related.links import Link
from dpmosaic.party.drafting.related.relations import draft_folder, notes_of, save_folder
from dpmosaic.synthesis.relations_file import read_relations

RNG = np.random.default_rng(5)


def some(keys, rows):
    return RNG.choice(np.asarray(keys), rows)


def drafted(folder, **tables):
    for name, columns in tables.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    return draft_folder(folder)


def belonging(tables):
    """What each table belongs to and refers to; None for those of no people."""
    return {
        one.name: [link.parent for link in one.links] if one.draft is not None else None
        for one in sorted(tables, key=lambda one: one.name)
    }


SHOP = {
    "customers": {"CustomerID": range(1, 301), "Country": some(["UK", "France"], 300)},
    "employees": {"EmployeeID": range(1, 10), "Title": list("abcdefghi")},
    "orders": {
        "OrderID": range(1000, 1900),
        "CustomerID": some(range(1, 301), 900),
        "EmployeeID": some(range(1, 10), 900),
    },
    "categories": {"CategoryID": range(1, 9), "CategoryName": list("abcdefgh")},
    "products": {
        "ProductID": range(1, 78),
        "CategoryID": some(range(1, 9), 77),
        "UnitPrice": np.arange(1, 78) * 1.37,
    },
    "order_details": {
        "OrderID": some(range(1000, 1900), 3000),
        "ProductID": some(range(1, 78), 3000),
        "UnitPrice": some(np.arange(1, 78) * 1.37, 3000),
    },
}


@pytest.mark.slow
def test_orders_belong_to_customers_and_refer_to_what_has_no_customer(tmp_path):
    """Lists of products and staff are larger and smaller tables of nobody; a price is no key."""
    tables = drafted(tmp_path, **SHOP)
    assert belonging(tables) == {
        "categories": None,
        "customers": [],
        "employees": None,
        "order_details": ["orders", "products"],
        "orders": ["customers", "employees"],
        "products": None,
    }
    path = save_folder(tables, tmp_path / "drafts")
    path.write_text(path.read_text(encoding="utf-8").replace("# public", "public"), encoding="utf-8")
    stated = read_relations(path, tmp_path)
    assert stated.public == {"categories", "employees", "products"}
    note, of_people = notes_of(tables)
    assert note.startswith("categories, employees, products: nothing says whose of 'customers' their rows")
    assert of_people.startswith("employees: named as people, whose rows no release protects if they are")


@pytest.mark.slow
def test_people_are_those_who_are_named_so_and_not_what_they_use(tmp_path):
    """As many rows belong to films as to users, and there are more of them; the key has two spellings."""
    users = {"user_id": range(1, 151), "age": some(range(10, 70), 150)}
    films = {"movieId": range(1, 401), "title": [f"film {n}" for n in range(400)]}
    ratings = {"userId": some(range(1, 151), 2000), "movieId": some(range(1, 401), 2000), "rating": 3}
    tables = drafted(tmp_path, users=users, movies=films, ratings=ratings)
    assert belonging(tables) == {"movies": None, "ratings": ["users", "movies"], "users": []}
    assert next(one for one in tables if one.name == "ratings").belongs == Link(
        "userId", "users", "user_id", 0
    )


@pytest.mark.slow
def test_a_table_belongs_to_the_one_furthest_from_people_whatever_the_order_of_names(tmp_path):
    """A payment names customer, rental and staff; two tables that refer to each other are lists of nobody."""
    tables = drafted(
        tmp_path,
        customer={"customer_id": range(1, 201), "store_id": some([1, 2], 200), "address_id": range(5, 205)},
        staff={"staff_id": [1, 2], "store_id": [1, 2]},
        store={"store_id": [1, 2], "manager_staff_id": [1, 2]},
        rental={"rental_id": range(1, 901), "customer_id": some(range(1, 201), 900), "staff_id": 1},
        payment={"payment_id": range(1, 901), "customer_id": 1, "rental_id": range(1, 901), "staff_id": 2},
    )
    assert belonging(tables) == {
        "customer": ["store"],
        "payment": ["rental", "staff"],
        "rental": ["customer", "staff"],
        "staff": None,
        "store": None,
    }
    assert "address_id" in next(one for one in tables if one.name == "customer").draft.entries


@pytest.mark.slow
def test_one_key_of_several_tables_is_that_of_the_one_that_its_rows_belong_to(tmp_path):
    """Each of the employees is in one department, so that two tables have the key."""
    tables = drafted(
        tmp_path,
        employees={"emp_no": range(10001, 10301), "gender": some(["M", "F"], 300)},
        dept_emp={"emp_no": range(10001, 10301), "dept_no": some(["d1", "d2"], 300)},
        departments={"dept_no": ["d1", "d2"], "dept_name": ["x", "y"]},
        salaries={"emp_no": some(range(10001, 10301), 900), "salary": RNG.integers(1, 99, 900)},
    )
    assert belonging(tables) == {
        "departments": None,
        "dept_emp": ["employees", "departments"],
        "employees": [],
        "salaries": ["employees"],
    }


@pytest.mark.slow
def test_rows_that_mostly_have_no_key_of_the_nearest_table_belong_to_the_next(tmp_path):
    """A third of the values was taken outside of any stay."""
    stays = np.where(RNG.random(900) < 0.33, np.nan, some(range(1, 401), 900))
    tables = drafted(
        tmp_path,
        patients={"patient_id": range(1, 201), "sex": some(["f", "m"], 200)},
        stays={"stay_id": range(1, 401), "patient_id": some(range(1, 201), 400)},
        labs={"patient_id": some(range(1, 201), 900), "stay_id": stays, "value": RNG.integers(1, 9, 900)},
    )
    labs = next(one for one in tables if one.name == "labs")
    assert labs.links == (Link("patient_id", "patients", "patient_id", 0),)
    assert [*labs.draft.entries] == ["value"]
    (note,) = notes_of(tables)
    assert note.startswith("labs: 'stay_id' holds keys of 'stays', to which the table does not belong;")


@pytest.mark.slow
def test_codes_of_a_table_that_is_not_there_are_no_keys_of_the_same_table(tmp_path):
    """Codes of districts 1 to 77 are numbers of the first accounts, too."""
    accounts = {"account_id": range(1, 201), "district_id": some(range(1, 78), 200)}
    loans = {"account_id": some(range(1, 201), 300), "amount": RNG.integers(1, 99, 300)}
    tables = drafted(tmp_path, account=accounts, loan=loans)
    assert "district_id" in tables[0].draft.entries
    assert [*notes_of(tables)] == []


@pytest.mark.slow
def test_tables_that_no_column_relates_are_named(tmp_path):
    tables = drafted(tmp_path, patients={"a": range(30)}, visits={"b": some(range(100, 130), 90)})
    assert belonging(tables) == {"patients": [], "visits": []}
    (note,) = notes_of(tables)
    assert note.startswith(
        "patients, visits: no column is named as one that holds the keys of another table;"
    )


@pytest.mark.slow
def test_no_row_above_has_one_of_a_list_or_a_day_twice_where_none_has(tmp_path):
    """Orders have a product in one line, and shops a row for each day; ratings of one film may be several."""
    orders = np.repeat(np.arange(1, 301), 3)
    products = np.concatenate([RNG.choice(np.arange(1, 21), 3, replace=False) for _ in range(300)])
    days = pd.date_range("2024-03-01", periods=3)
    lists = {"product_id": range(1, 21), "price": range(20)}
    lines = {"order_id": orders, "product_id": products, "packed": np.tile(days, 300), "amount": 1}
    tables = drafted(tmp_path, orders={"order_id": range(1, 301)}, products=lists, lines=lines)
    assert next(one for one in tables if one.name == "lines").once == ("product_id", "packed")
    lines |= {"product_id": some(range(1, 21), 900), "packed": some(days, 900)}
    tables = drafted(tmp_path, lines=lines)
    assert next(one for one in tables if one.name == "lines").once == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "unit", "order"),
    [("timestamp", 1, "timestamp"), ("watchedTime", 1000, "watchedTime"), ("number", 1, "")],
)
def test_seconds_since_1970_are_numbers_and_the_order_where_the_column_is_named_so(
    tmp_path, name, unit, order
):
    """They nearly all differ, and are no names of the records."""
    seconds = RNG.choice(np.arange(880_000_000, 880_500_000), 900, replace=False) * unit
    ratings = {"user_id": some(range(1, 151), 900), "stars": some(range(1, 6), 900), name: seconds}
    tables = drafted(
        tmp_path, users={"user_id": range(1, 151), "age": some(range(9, 90), 150)}, ratings=ratings
    )
    entry = next(one for one in tables if one.name == "ratings").draft.entries[name]
    assert next(one for one in tables if one.name == "ratings").order == order
    assert entry["type"] == ("numeric" if order else "identifier")


@pytest.mark.slow
def test_rows_of_people_in_groups_belong_to_the_group_and_waves_are_no_people(tmp_path):
    """Of a panel the unit is the household; where a person has very many rows it is the person."""
    persons = {"pid": range(1, 601), "hid": some(range(1, 301), 600), "sex": some([1, 2], 600)}
    tables = drafted(
        tmp_path,
        household={"hid": range(1, 301), "region": some(list("NSEW"), 300)},
        person=persons,
        person_wave={"pid": some(range(1, 601), 2000), "wave": 1, "job": some([0, 1], 2000)},
    )
    assert belonging(tables) == {"household": [], "person": ["household"], "person_wave": ["person"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "visits", "why"),
    [
        ([1, *range(1, 300)], range(1, 300), "but 'patient_id' is missing there or stands in several rows;"),
        ([f"P{n}" for n in range(300)], [f"p{n}" for n in range(300)], "but most rows hold no key of it;"),
    ],
)
def test_a_column_that_is_named_as_a_key_and_holds_none_is_told_to_the_owner(tmp_path, keys, visits, why):
    tables = drafted(
        tmp_path,
        patients={"patient_id": keys, "title": [f"t{n}" for n in range(300)]},
        visits={"patient_id": some(visits, 900), "ward": some(list("ab"), 900), "title": "t"},
    )
    first, second = notes_of(tables)
    assert first.startswith(f"visits: 'patient_id' is named as the key of 'patients', {why}")
    assert second.startswith("patients, visits: no column is named as one that holds the keys of another")


@pytest.mark.slow
@pytest.mark.parametrize("blank", [0.2, 0.8])
def test_rows_that_refer_to_nothing_in_a_list_stay(tmp_path, blank):
    """An order that came by itself has no agent; as pandas writes it, others have agent 3.0."""
    agents = np.where(RNG.random(900) < blank, np.nan, some(range(5), 900))
    tables = drafted(
        tmp_path,
        customers={"customer_id": range(300), "age": some(range(20, 80), 300)},
        agents={"agent_id": range(5), "name": list("abcde")},
        orders={"customer_id": some(range(300), 900), "agent_id": agents, "sum": some(range(1, 99), 900)},
    )
    assert belonging(tables)["orders"] == ["customers", "agents"]
    path = save_folder(tables, tmp_path / "drafts")
    path.write_text(path.read_text(encoding="utf-8").replace("# public", "public"), encoding="utf-8")
    stated = read_relations(path, tmp_path)
    assert not stated.drop_incomplete
    found = dpmosaic.synthesize(
        stated.files,
        50.0,
        relations=stated.relations,
        public=[*stated.public],
        domain=dict(stated.domains),
        mechanism="independent",
        seed=1,
    ).tables["orders"]
    assert abs(found["agent_id"].isna().mean() - blank) < 0.1
    assert {*found["agent_id"].dropna()} == {*range(5)}


@pytest.mark.slow
def test_a_day_on_which_all_rows_above_were_written_binds_no_row(tmp_path):
    """Rows of two years before the dump lie before it, and it says nothing of when."""
    days = pd.Timestamp("2004-01-01") + pd.to_timedelta(RNG.integers(0, 700, 900), "D")
    orders = {"customer_id": some(range(300), 900), "ordered": days, "sum": some(range(1, 99), 900)}
    customers = {
        "customer_id": range(300),
        "written": pd.Timestamp("2006-02-14"),
        "age": some(range(20, 80), 300),
    }
    tables = drafted(tmp_path, customers=customers, orders=orders)
    assert not any(next(one for one in tables if one.name == "orders").around)
    tables = drafted(
        tmp_path, orders={"customer_id": orders["customer_id"], "written": "2006-02-14", "sum": orders["sum"]}
    )
    assert next(one for one in tables if one.name == "orders").order == ""
