import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.party.drafting.functions import round_between
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.party.drafting.labels import labels_of
from dpmosaic.party.drafting.suggestions import suggested_rules
from dpmosaic.party.sources.checking import check_rows
from dpmosaic.party.sources.source import open_source

N = 2000
RNG = np.random.default_rng(5)


def numbers(low=0, high=1000, atoms=()):
    entry = {"type": "numeric", "min": low, "max": high, "bins": "auto", "integer": True, "nullable": True}
    return entry | ({"atoms": list(atoms)} if atoms else {})


def suggested(columns):
    """Rules for columns given as (entry, cells)."""
    domain = Domain.from_json({name: entry for name, (entry, _) in columns.items()})
    cells = {name: np.array(cells, dtype=object) for name, (_, cells) in columns.items()}
    labels = {name: labels_of(column, domain[name]) for name, column in cells.items()}
    found = suggested_rules({a.name: a for a in domain.attributes}, cells, labels)
    # Each is a rule of the domain that its rows keep.
    Domain.from_json({"attributes": domain.to_json(), "rules": found})
    return found


def texts(codes, prefix):
    return [f"{prefix}{code}" for code in codes]


def labels(codes, prefix):
    return sorted(set(texts(codes, prefix))), texts(codes, prefix)


def test_a_dependency_is_suggested_in_its_direction_only():
    zips = RNG.integers(0, 40, N)
    states = zips // 8
    assert suggested({"zip": labels(zips, "z"), "state": labels(states, "s")}) == [
        {"determines": {"from": "zip", "to": "state"}}
    ]


def test_a_dependency_with_few_exceptions_is_suggested_and_one_with_many_is_not():
    zips = RNG.integers(0, 40, N)
    for share, kept in ((0.002, True), (0.2, False)):
        states = np.where(RNG.random(N) < share, RNG.integers(0, 5, N), zips // 8)
        found = suggested({"zip": labels(zips, "z"), "state": labels(states, "s")})
        assert any("determines" in rule for rule in found) is kept


def test_independent_columns_and_rare_values_suggest_nothing():
    columns = {
        "a": labels(RNG.integers(0, 4, N), "a"),
        "b": labels(RNG.integers(0, 3, N), "b"),
        "rare": labels(RNG.random(N) < 0.002, "r"),
        "x": (numbers(), RNG.integers(0, 1000, N)),
        "y": (numbers(), RNG.integers(0, 1000, N)),
    }
    assert suggested(columns) == []


def test_an_identifier_like_column_determines_nothing():
    many = RNG.permutation(N)
    assert suggested({"many": labels(many, "m"), "b": labels(many % 2, "b")}) == []


def test_combinations_that_never_occur_are_suggested():
    sex = RNG.integers(0, 2, N)
    relation = np.where(sex == 0, RNG.choice([0, 2], N), RNG.choice([1, 2], N))
    found = suggested({"sex": labels(sex, "s"), "relation": labels(relation, "r")})
    assert sorted(found, key=str) == [
        {"impossible": {"sex": ["s0"], "relation": ["r1"]}},
        {"impossible": {"sex": ["s1"], "relation": ["r0"]}},
    ]


def test_of_columns_that_determine_each_other_one_has_the_other_rules():
    test = RNG.integers(0, 4, N)
    visit = np.where(test == 3, 0, RNG.integers(0, 3, N))
    columns = {"test": labels(test, "t"), "unit": labels(3 - test, "u"), "visit": labels(visit, "v")}
    found = suggested(columns)
    assert [{*rule["determines"].values()} for rule in found if "determines" in rule] == [{"test", "unit"}]
    told = {"impossible": {"test": ["t3"], "visit": ["v1", "v2"]}}
    assert [rule for rule in found if "impossible" in rule] == [told]


def test_amounts_of_which_one_is_always_zero_are_suggested():
    kind = RNG.integers(0, 3, N)
    gain = np.where(kind == 1, RNG.integers(1, 500, N), 0)
    loss = np.where(kind == 2, RNG.integers(1, 500, N), 0)
    columns = {"gain": (numbers(atoms=[0]), gain), "loss": (numbers(atoms=[0]), loss)}
    assert {"impossible": {"gain": {"above": 0}, "loss": {"above": 0}}} in suggested(columns)


def test_limits_of_numbers_are_suggested_for_categories_that_are_far_from_the_others():
    """With room, at round numbers; none for a category that reaches as far as the others."""
    test = np.arange(N) % 4
    value = np.choose(
        test,
        [
            RNG.uniform(3.1, 6, N),
            RNG.uniform(0.4, 2.2, N),
            RNG.uniform(70, 300, N),
            (np.arange(N) // 4) % 300,
        ],
    )
    entry = {"type": "numeric", "min": 0, "max": 500, "bins": "auto", "scale": "symlog", "decimals": 2}
    found = suggested({"test": labels(test, "t"), "value": (entry, value.round(2))})
    assert sorted(found, key=str) == [
        {"impossible": {"test": ["t0"], "value": {"above": 10.0}}},
        {"impossible": {"test": ["t0"], "value": {"below": 2.0}}},
        {"impossible": {"test": ["t1"], "value": {"above": 5.0}}},
        {"impossible": {"test": ["t2"], "value": {"below": 50.0}}},
    ]
    assert not suggested({"test": labels(test, "t"), "value": (entry, RNG.permutation(value.round(2)))})


def test_inequalities_and_sums_of_numbers_are_suggested():
    start, length = RNG.integers(0, 500, N), RNG.integers(1, 400, N)
    columns = {
        "start": (numbers(), start),
        "end": (numbers(), start + RNG.integers(0, 200, N)),
        "length": (numbers(), length),
        "total": (numbers(high=3000), start + length),
    }
    found = suggested(columns)
    assert {"sum": "total", "of": ["start", "length"]} in found
    assert suggested({name: columns[name] for name in ("start", "end")}) == [{"at_most": ["start", "end"]}]


def test_products_are_suggested_though_they_are_rounded_and_a_factor_is_mostly_one():
    quantity, price = RNG.choice([1, 1, 1, 1, 2, 5, 10], N), RNG.integers(99, 9_999, N) / 100
    kilos = RNG.integers(1, 5_000, N) / 1000
    columns = {
        "quantity": (numbers(), quantity),
        "price": (numbers(high=100), price),
        "amount": (numbers(high=1000), (quantity * price).round(2)),
    }
    rule = {"product": "amount", "of": ["quantity", "price"]}
    assert rule in suggested(columns)
    assert rule not in suggested(
        columns | {"amount": (numbers(high=1000), RNG.permutation(columns["amount"][1]))}
    )
    weighed = columns | {
        "quantity": (numbers(), kilos),
        "amount": (numbers(high=1000), (kilos * price).round(2)),
    }
    assert rule in suggested(weighed)
    # A flag that says whether something was paid at all is no factor.
    paid = RNG.integers(0, 2, N)
    flagged = {
        "flag": (numbers(), paid),
        "price": columns["price"],
        "paid": (numbers(high=100), paid * price),
    }
    assert {"product": "paid", "of": ["flag", "price"]} not in suggested(flagged)


def test_columns_whose_ranges_do_not_meet_suggest_no_inequality():
    columns = {
        "small": (numbers(high=10), RNG.integers(0, 10, N)),
        "large": (numbers(low=100), RNG.integers(100, 1000, N)),
    }
    assert suggested(columns) == []


def test_numbers_that_are_missing_for_a_category_are_suggested():
    married = RNG.integers(0, 2, N)
    age = np.where(married == 1, RNG.integers(18, 90, N), None)
    assert suggested({"married": labels(married, "m"), "age": (numbers(), age)}) == [
        {"null": "age", "when": {"married": ["m0"]}, "only": True}
    ]


@pytest.mark.parametrize("rows", [10, N])
def test_suggestions_stand_beside_the_attributes_and_are_not_applied(tmp_path, rows):
    path = tmp_path / "rows.csv"
    zips = RNG.integers(0, 20, rows)
    path.write_text("zip,state\n" + "".join(f"z{z},s{z // 5}\n" for z in zips), encoding="utf-8")
    form = draft_file(path).to_json()
    if rows < 100:
        assert "suggested_rules" not in form
        return
    assert form["suggested_rules"] == [{"determines": {"from": "zip", "to": "state"}}]
    domain = Domain.from_json(form)
    assert domain.rules == ()
    assert "suggested_rules" not in domain.to_json()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("seed", range(6))
def test_suggestions_are_rules_of_the_drafted_domain(tmp_path, suffix, seed):
    """Cells of each kind are missing in the rows of one category, and others where another column says so."""
    rng = np.random.default_rng(seed)
    what = rng.integers(0, 4, 600)
    kinds = {
        "word": np.array(["x", "y", "z", "?"], dtype=object)[what],
        "agreed": np.array(["ja", "nein"], dtype=object)[what % 2],
        "paid": np.array(
            [f"{value:.2f}".replace(".", ",") + " EUR" for value in 100 * what + rng.random(600)]
        ),
        "count": (rng.integers(0, 50, 600) + 100 * what).astype(str),
        "day": (np.datetime64("2020-01-01") + 400 * what + rng.integers(0, 300, 600)).astype(str),
        "lasted": np.array([f"{hours} h 5 min" for hours in 6 * what + rng.integers(0, 6, 600)]),
    }
    table = pd.DataFrame({"what": np.array(["a", "b", "c", "d"], dtype=object)[what]})
    for name in rng.permutation(list(kinds))[:4]:
        table[name] = np.where(what == rng.integers(0, 4), None, kinds[name].astype(object))
    path = tmp_path / f"rows{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    form = draft_file(path).to_json()
    suggestions = form.pop("suggested_rules")
    assert suggestions
    domain = Domain.from_json({**form, "rules": suggestions})
    found = list(check_rows(open_source(path), domain))
    assert not [one for one in found if one.refused or ("break rule" in one.what and one.rows > 1)]


DAYS = {"type": "date", "min": "2019-01-01", "max": "2023-12-31", "bins": "auto", "nullable": True}
WEEKDAYS = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()


def some_days(rows=N):
    return pd.Timestamp("2019-01-01") + pd.to_timedelta(RNG.integers(0, 1500, rows), "D")


def dated(days):
    return DAYS, days.strftime("%Y-%m-%d").tolist()


def test_parts_of_dates_are_suggested_by_numbers_and_by_names():
    found = some_days()
    names = dict(enumerate(WEEKDAYS, start=1))
    columns = {
        "day": dated(found),
        "year": (numbers(2019, 2023), found.year),
        "month": ([*range(1, 13)], found.month),
        "weekday": labels([names[one] for one in found.day_of_week + 1], ""),
        "from_sunday": ([*range(7)], (found.day_of_week + 1) % 7),
        "weekend": ({"type": "boolean"}, np.where(found.day_of_week > 4, "true", "false")),
        "week": (numbers(1, 53), found.isocalendar().week),
    }
    rules = {rule.get("column"): rule for rule in suggested(columns)}
    assert rules.keys() == {*columns} - {"day"}
    assert rules["year"] == {"part": "year", "column": "year", "of": "day"}
    assert rules["week"] == {"part": "week", "column": "week", "of": "day"}
    assert rules["month"] == {"part": "month", "column": "month", "of": "day"}
    assert rules["weekday"]["map"] == {str(one): name for one, name in names.items()}
    assert rules["from_sunday"]["map"] == {str(one): one % 7 for one in range(1, 8)}
    assert rules["weekend"]["map"] == {str(one): one > 5 for one in range(1, 8)}


def test_a_part_with_few_exceptions_is_suggested_and_one_with_many_is_not():
    found = some_days(20_000)
    for share, kept in ((0.0005, True), (0.01, False)):
        months = np.where(RNG.random(len(found)) < share, 1 + found.month % 12, found.month)
        rules = suggested({"day": dated(found), "month": (numbers(1, 12), months)})
        assert ({"part": "month", "column": "month", "of": "day"} in rules) is kept


def test_steps_are_suggested_at_round_numbers_also_where_a_group_comes_twice():
    ages = RNG.integers(0, 95, N)
    amounts = np.round(RNG.lognormal(3, 1, N), 2)
    born = some_days()
    columns = {
        "age": (numbers(0, 99), ages),
        "group": labels(np.where(ages < 18, "child", np.where(ages < 65, "adult", "old")), ""),
        "working": ({"type": "boolean"}, np.where((ages >= 18) & (ages < 65), "true", "false")),
        "amount": ({"type": "numeric", "min": 0, "max": 1000, "bins": "auto", "decimals": 2}, amounts),
        "large": ({"type": "codes", "n": 2}, (amounts > 30).astype(int)),
        "born": dated(born),
        "cohort": labels(np.where(born.year < 2021, "first", "second"), ""),
    }
    rules = {rule["steps"]: rule for rule in suggested(columns) if "steps" in rule}
    assert rules["group"] == {
        "steps": "group",
        "of": "age",
        "at": [18, 65],
        "values": ["child", "adult", "old"],
    }
    assert rules["working"]["at"] == [18, 65]
    assert rules["working"]["values"] == [False, True, False]
    assert rules["cohort"] == {
        "steps": "cohort",
        "of": "born",
        "at": ["2021-01-01"],
        "values": ["first", "second"],
    }
    (step,) = rules["large"]["at"]
    assert amounts[amounts <= 30].max() < step <= amounts[amounts > 30].min()
    assert len(f"{step:g}") <= 5


def test_what_follows_is_said_once():
    ages, found = RNG.integers(0, 95, N), some_days()
    columns = {
        "age": (numbers(0, 99), ages),
        "group": labels(np.where(ages < 18, "child", np.where(ages < 65, "adult", "old")), ""),
        "minor": labels(np.where(ages < 18, "yes", "no"), ""),
        "months": (numbers(0, 1200), ages * 12),
        "day": dated(found),
        "month": ([*range(1, 13)], found.month),
        "quarter": labels(found.quarter, "Q"),
    }
    rules = suggested(columns)
    assert sorted(next(iter(rule)) for rule in rules) == ["part", "part", "product", "steps", "steps"]


def test_labels_that_change_as_often_as_by_chance_are_no_steps():
    days = some_days()
    for share in (0.02, 0.3):
        holidays = pd.Series(RNG.random(1500) < share, index=pd.date_range("2019-01-01", periods=1500))
        rules = suggested({"day": dated(days), "holiday": labels(holidays[days].to_numpy(), "h")})
        assert not [rule for rule in rules if "steps" in rule or "part" in rule]


@pytest.mark.parametrize("seed", range(5))
def test_independent_columns_follow_from_nothing(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([100, 150, 1000]))
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, rows), "D")
    columns = {"day": dated(days), "x": (numbers(), rng.integers(0, 1000, rows))}
    for values in (2, 3, 7, 12):
        columns[f"label {values}"] = labels(rng.integers(0, values, rows), "v")
        columns[f"rare {values}"] = labels(rng.random(rows) < 1 / (10 * values), "r")
        columns[f"number {values}"] = (numbers(), rng.integers(1, values + 1, rows))
    rules = suggested(columns)
    assert not [rule for rule in rules if {"part", "steps", "sum", "product"} & rule.keys()]


def test_times_and_plus_a_number_are_suggested_in_the_plainer_direction():
    net, hired = np.round(RNG.lognormal(3, 1, N), 2), RNG.integers(1950, 2020, N)
    money = {"type": "numeric", "min": 0, "max": 5000, "bins": "auto", "decimals": 2}
    columns = {
        "cents": (numbers(0, 500_000), np.round(net * 100).astype(int)),
        "net": (money, net),
        "gross": (money, np.round(net * 1.19, 2)),
        "hired": (numbers(1950, 2020), hired),
        "short": (numbers(50, 120), hired - 1900),
    }
    rules = suggested(columns)
    assert {"product": "cents", "of": ["net", 100]} in rules
    assert {"product": "gross", "of": ["net", 1.19]} in rules
    assert {"sum": "hired", "of": ["short", 1900]} in rules
    assert len(rules) == 3


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_times_between_dates_are_suggested(missing):
    """Birthdays, calendar days and hours, also where some dates are missing; not what chance makes alike."""
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(RNG.integers(0, 15_000, N), "D")
    came, left = (
        pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 600, N), "D") for _ in range(2)
    )
    before = (came.month < born.month) | ((came.month == born.month) & (came.day < born.day))
    gone = RNG.random(N) < missing

    def some(values):
        return np.where(gone, None, np.asarray(values).astype(object))

    columns = {"born": dated(born), "came": (DAYS, some(came.strftime("%Y-%m-%d"))), "left": dated(left)}
    columns |= {"age": (numbers(0, 90) | {"nullable": True}, some(came.year - born.year - before))}
    columns |= {"stay": (numbers(-600, 600) | {"nullable": True}, some((left - came).days))}
    columns |= {"other": (numbers(0, 90), RNG.permutation(came.year - born.year - before))}
    found = [rule for rule in suggested(columns) if "from" in rule]
    assert found == [
        {"years": "age", "from": "born", "to": "came"},
        {"days": "stay", "from": "came", "to": "left"},
    ]


def test_a_part_that_is_missing_with_its_date_is_said_to_be():
    found = some_days()
    gone = RNG.random(N) < 0.1
    cells = np.where(gone, None, found.strftime("%Y-%m-%d"))
    quarters = np.where(gone, "", [f"Q{one}" for one in found.quarter])
    columns = {
        "day": (DAYS, cells),
        "month": (numbers(1, 12), np.where(gone, None, found.month)),
        "quarter": (["", "Q1", "Q2", "Q3", "Q4"], quarters),
    }
    assert suggested(columns) == [
        {"part": "quarter", "column": "quarter", "of": "day", "map": {str(k): f"Q{k}" for k in range(1, 5)}},
        {"part": "month", "column": "month", "of": "day"},
        {"null": "quarter", "when": {"day": [None]}, "only": True},
        {"null": "month", "when": {"day": [None]}, "only": True},
    ]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (17, 18, 18),
        (3, 47, 20),
        (0.004, 0.0061, 0.005),
        (-7, -3, -5),
        (-0.5, 3, 0),
        (999.9, 1000, 1000),
        (1.19, 1.1901, 1.1901),
    ],
)
def test_round_numbers_between_two(low, high, found):
    assert round_between(low, high) == pytest.approx(found)
    assert low < round_between(low, high) <= high
