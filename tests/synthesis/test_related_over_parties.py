"""Related tables over parties, beside the same release from one place."""

import copy
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpmosaic import Holders, simulate_people
from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.curator.certificates.issuing import unreviewed_label
from dpmosaic.curator.people.release import load_people
from dpmosaic.curator.related.making import Making
from dpmosaic.party.institution.related import RelatedRows
from support.related import DOMAINS, ORDER, RELATIONS, patients, release

ALL = ("patients", "stays", "codes")
HOSPITALS = Holders((ALL,), slices=3, collusions=0)
APART = Holders((("patients",), ("stays", "codes")), collusions=0)
BOTH = Holders((("patients",), ("stays", "codes")), slices=2, collusions=0)

AUTO = {"type": "numeric", "min": 1930, "max": 2009, "bins": "auto", "integer": True}

EPSILON = 300.0
"""So large that noise is below one person, mostly: 400 of them are compared."""


def over(holders, data=None, epsilon=EPSILON, **options):
    defaults = {"relations": RELATIONS, "order": ORDER, "domain": DOMAINS, "mechanism": "independent"}
    data = patients() if data is None else data
    return simulate_people(data, epsilon, holders=holders, progress=False, **defaults | options)


@pytest.fixture(scope="module")
def central():
    return release(epsilon=EPSILON)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("holders", "protocol"),
    [
        (HOSPITALS, "masked"),
        (APART, "masked"),
        (BOTH, "masked"),
        (Holders((ALL,), slices=3), "indicator"),
        (Holders((ALL,)), "trusted"),
    ],
    ids=["hospitals", "apart", "both", "indicator", "trusted"],
)
def test_columns_are_as_from_one_place(holders, protocol, central):
    made = over(holders, protocol=protocol)
    for name in ALL:
        ours, theirs = made.releases[name].model, central.releases[name].model
        known = [one for one in ours.domain.names if one in theirs.domain.names]
        for column in known:
            found, wanted = (one.marginal((column,)) for one in (ours, theirs))
            if found.size == wanted.size:
                assert np.abs(found / found.sum() - wanted / wanted.sum()).sum() / 2 < 0.05
    assert set(made.tables["stays"]["id"]) <= set(made.tables["patients"]["id"])
    assert abs(len(made.tables["stays"]) / len(patients()["stays"]) - 1) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("holders", [HOSPITALS, APART], ids=["hospitals", "apart"])
def test_columns_follow_from_the_order_of_rows(holders):
    data = patients()
    day = data["stays"]["day"]
    data["stays"] = data["stays"].assign(
        month=day.dt.month, weekend=np.where(day.dt.day_of_week > 4, "y", "n")
    )
    named = {str(day): "y" if day > 5 else "n" for day in range(1, 8)}
    stays = {
        "attributes": DOMAINS["stays"] | {"month": [*range(1, 13)], "weekend": ["n", "y"]},
        "rules": [
            {"part": "month", "column": "month", "of": "day"},
            {"part": "weekday", "column": "weekend", "of": "day", "map": named},
        ],
    }
    made = over(holders, data, domain=DOMAINS | {"stays": stays}).tables["stays"]
    day = pd.to_datetime(made["day"])
    assert (day.dt.month == made["month"]).all()
    assert ((day.dt.day_of_week > 4) == (made["weekend"] == "y")).all()


WARDS = pd.DataFrame({"ward": ["c", "b", "a", "z"], "beds": [7, 20, 12, 1], "name": ["=C", "B", None, "Z"]})
OF_WARDS = {
    "relations": RELATIONS | {"stays": {"id": "patients", "ward": "wards"}},
    "public": ["wards"],
    "domain": DOMAINS | {"stays": {"day": DOMAINS["stays"]["day"]}},
}


@pytest.mark.slow
@pytest.mark.parametrize("holders", [HOSPITALS, APART], ids=["hospitals", "apart"])
@pytest.mark.parametrize("table_format", ["csv", "parquet", "xlsx"])
def test_a_release_with_a_public_table_is_as_from_one_place(holders, table_format, tmp_path):
    data = patients() | {"wards": WARDS}
    made, central = over(holders, data, **OF_WARDS), release(data, EPSILON, **OF_WARDS)
    for one, name in ((made, "parties"), (central, "one")):
        one.save(tmp_path / name, table_format)
    made, central = (load_people(tmp_path / name) for name in ("parties", "one"))
    assert set(made.tables) == set(central.tables)
    for name, rows in central.tables.items():
        found = made.tables[name]
        assert set(found.columns) == set(rows.columns)
        assert found.dtypes.to_dict() == rows.dtypes.to_dict()
    assert made.tables["wards"].equals(central.tables["wards"])
    assert made.tables["wards"]["beds"].tolist() == WARDS["beds"].tolist()
    assert set(made.tables["stays"]["ward"]) <= set(WARDS["ward"])
    assert made.certificate.epsilon_spent <= EPSILON
    assert {part.table for part in made.certificate.parts} <= {*ALL, ""}
    joined = made.query("SELECT SUM(beds) AS n FROM stays JOIN wards USING (ward)").frame.n[0]
    assert joined == made.tables["stays"].merge(WARDS, on="ward").beds.sum()


@pytest.mark.slow
def test_a_table_of_keys_and_a_reference_alone_needs_no_domain():
    data = patients()
    data["codes"]["code"] = data["codes"]["code"].map({"x": 1, "y": 2, "z": 3})
    kinds = pd.DataFrame({"code": [3, 1, 2], "chapter": ["c", "a", "b"]})
    relations = RELATIONS | {"codes": {"stay": "stays", "code": "kinds"}}
    domain = {name: DOMAINS[name] for name in ("patients", "stays")}
    made = over(APART, data | {"kinds": kinds}, relations=relations, domain=domain, public=["kinds"])
    joined = made.tables["codes"].merge(made.tables["kinds"], on="code")
    assert len(joined) == len(made.tables["codes"]) > 0
    assert set(joined["chapter"]) == {"a", "b", "c"}


def test_a_row_that_refers_to_nothing_public_is_refused_or_left_out_as_from_one_place(monkeypatch):
    started = []
    monkeypatch.setattr(Making, "release", lambda self: started.append(self._order.tables))
    data = patients() | {"wards": WARDS[:2]}
    with pytest.raises(DataError, match="stays: expected in 'ward' a key of the public table in every row"):
        over(APART, data, **OF_WARDS)
    assert not started
    over(APART, data, **OF_WARDS, drop_incomplete=["stays", "codes"])
    assert started[0].domains["stays"]["ward"].categories == ("c", "b")


@pytest.mark.slow
@pytest.mark.parametrize("holders", [HOSPITALS, APART], ids=["hospitals", "apart"])
def test_summaries_are_as_from_one_place(holders):
    """Shares of 400 people, of which noise and drawing move few."""
    days = {"type": "numeric", "min": 0, "max": 1000, "bins": 12, "integer": True}
    data = patients()
    data["stays"]["day"] = (data["stays"]["day"] - pd.Timestamp("2020-01-01")).dt.days
    options = {
        "domain": DOMAINS | {"stays": DOMAINS["stays"] | {"day": days}},
        "summaries": {
            "stays": {
                "ever_a": {"ward": ["a"]},
                "number_of_ab": {"what": "count", "column": "ward", "values": ["a", "b"]},
                "first_ward": {"what": "first", "column": "ward"},
                "last_ward": {"what": "last", "column": "ward"},
                "to_b": {"what": "time", "column": "ward", "values": ["b"]},
            },
            "codes": {"has_x": {"code": ["x"]}},
        },
    }
    made, central = over(holders, data, **options), release(data, EPSILON, **options)
    for table, name in (*(("patients", name) for name in options["summaries"]["stays"]), ("stays", "has_x")):
        # The largest count is learned: one of them may know of counts that the other lacks; nobody has them.
        found, wanted = (pd.Series(one.releases[table].model.marginal((name,))) for one in (made, central))
        farther = (found / found.sum()).sub(wanted / wanted.sum(), fill_value=0)
        assert farther.abs().sum() / 2 < 0.05
        assert name in made.tables[table].columns
    with pytest.raises(DataError, match="got 'drugs'"):
        over(holders, data, **options | {"summaries": {"drugs": {}}})
    with pytest.raises(DataError, match="no column 'born'"):
        over(holders, data, **options | {"summaries": {"stays": {"born": {"ward": ["a"]}}}})


@pytest.mark.slow
@pytest.mark.parametrize("holders", [HOSPITALS, APART], ids=["hospitals", "apart"])
def test_the_pairs_that_a_workload_names_are_asked_for_as_from_one_place(holders):
    asked = {"workload": {"stays": [("ward", "day"), ("ward", "previous ward"), ("ward", "patients.sex")]}}
    found, wanted = (
        {one.clique for one in made.releases["stays"].certificate.plan.workload}
        for made in (over(holders, **asked), release(**asked))
    )
    assert found == wanted
    assert {("ward", "day"), ("previous_ward", "ward"), ("sex", "ward")} <= found
    assert ("born", "ward") not in found


@pytest.mark.slow
def test_wards_follow_the_year_where_the_pair_is_named():
    """Each year has a ward of its own; without the pair, two of three stays are at another one."""
    of_year, data = {2020: "a", 2021: "b", 2022: "c"}, patients()
    data["stays"]["ward"] = data["stays"]["day"].dt.year.map(of_year)
    named = {"workload": {"stays": [("ward", "day")]}, "mechanism": "mosaic", "seed": 1}
    stays = over(Holders((ALL,)), data, protocol="trusted", **named).tables["stays"]
    assert (stays["day"].dt.year.map(of_year) == stays["ward"]).mean() > 0.6


@pytest.mark.slow
def test_what_one_party_knows_of_a_person_and_what_another_does_are_joined():
    """Wards follow the sex of patients, which another party knows."""
    data = patients(people=600)
    sex = data["patients"].set_index("id")["sex"]
    data["stays"]["ward"] = np.where(data["stays"]["id"].map(sex) == "f", "a", "b")
    del data["codes"]
    two = {"relations": {"stays": {"id": "patients"}}, "domain": {name: DOMAINS[name] for name in data}}
    apart = Holders((("patients",), ("stays",)), collusions=0)
    tables = over(apart, data, mechanism="mosaic", **two).tables
    joined = tables["stays"].merge(tables["patients"], on="id")
    assert (joined["ward"].map({"a": "f", "b": "m"}) == joined["sex"]).mean() > 0.95


@pytest.mark.slow
def test_people_of_whom_a_party_has_no_row_are_people_all_the_same():
    made = over(APART)
    share = (patients()["patients"]["id"].isin(patients()["stays"]["id"])).mean()
    found = made.tables["patients"]["id"].isin(made.tables["stays"]["id"]).mean()
    assert abs(found - share) < 0.08


@pytest.mark.slow
@pytest.mark.parametrize("holders", [HOSPITALS, APART], ids=["hospitals", "apart"])
def test_what_was_spent_is_within_the_promise(holders):
    certificate = over(holders, epsilon=1.0, delta=1e-6).certificate
    assert certificate.epsilon_spent <= 1.0
    assert {part.of for part in certificate.parts} >= {"records", "bins of columns and of numbers of rows"}
    assert all(part.zcdp_rho > 0 for part in certificate.parts)


@pytest.mark.slow
def test_a_party_holds_at_most_one_part_of_each_person_of_each_table(monkeypatch):
    held, made = [], RelatedRows.records

    def watched(self, part, own):
        records = made(self, part, own)
        # Decisions on terms are made without rows (`RelatedRows.without_rows`).
        if any(len(table.rows) for table in self.tables.values()):
            held.append((part.table, own, records))
        return records

    monkeypatch.setattr(RelatedRows, "records", watched)
    over(APART)
    assert {table for table, _, _ in held} == set(ALL)
    for _, own, rows in held:
        assert rows.record_count == 400
        assert np.bincount(rows.person, rows.weights, 400).max() <= WEIGHT_PARTS
        if "sex" in own:
            # Of the patients' party, one row of each person, whatever the number of stays.
            assert len(rows.person) == 400
            assert Fraction(int(rows.weights.sum()), WEIGHT_PARTS) == 400


@pytest.mark.parametrize(
    ("holders", "options", "refusal"),
    [
        (Holders((("patients", "stays"),)), {}, "each of patients, stays, codes once"),
        (Holders((ALL, ("stays",))), {}, "name each table at one party"),
        (Holders((ALL,), slices=0), {}, "parties: expected"),
        (HOSPITALS, {"domain": {"patients": DOMAINS["patients"]}}, "stays: expected a domain"),
        (HOSPITALS, {"mechanism": "dp-select"}, "only adds Gaussian noise"),
        (HOSPITALS, {"workload": {"drugs": [("ward", "day")]}}, "workload: expected tables that belong"),
        (HOSPITALS, {"workload": {"patients": [("sex", "born")]}}, "that belongs to another"),
        (APART, {"workload": {"stays": [("ward", "patients.sexx")]}}, r"did you mean 'patients.sex'"),
        (APART, {"workload": {"codes": [("code", "previous code")]}}, "if it has an order"),
    ],
)
def test_what_does_not_fit_is_refused(holders, options, refusal):
    with pytest.raises(DataError, match=refusal):
        over(holders, **options)


@pytest.mark.slow
def test_numbers_of_rows_are_counted_at_the_cost_that_they_have_from_one_place():
    """Hospitals have an open column as well, which has a share of what is left."""
    domain = DOMAINS | {"patients": DOMAINS["patients"] | {"born": AUTO}}
    made, central = over(HOSPITALS, domain=domain), release(epsilon=EPSILON, domain=domain)
    costs = {part.of: float(part.zcdp_rho) for part in central.certificate.parts if part.table == "patients"}
    (counted,) = [one for one in made.choices["patients"].measurements if one.clique == ("number_of_stays",)]
    assert counted.zcdp_rho == pytest.approx(costs["numbers of rows of stays"], rel=0.005)


UNREVIEWED = copy.deepcopy(DOMAINS)
UNREVIEWED["patients"]["born"]["reviewed"] = False
UNREVIEWED["stays"]["day"]["reviewed"] = False
ABOVE = ("born", "first_day_of_stays", "span_of_day_of_stays")
FOLLOWING = {
    "patients": ABOVE,
    "stays": (*ABOVE, "previous_step_of_day", "step_of_day", "day"),
    "codes": ABOVE,
}
"""Columns of records that follow from a year of birth, or from the day of a stay, as a whole or in part."""


@pytest.mark.slow
def test_a_release_is_labelled_by_all_columns_that_follow_from_those_that_nobody_has_reviewed(tmp_path):
    made = over(APART, domain=UNREVIEWED)
    assert not made.certificate.differentially_private
    for name, part in made.releases.items():
        assert part.certificate.plan.unreviewed == FOLLOWING[name]
        assert part.certificate.labels == (unreviewed_label(FOLLOWING[name]),)
    every = [*dict.fromkeys(name for table in made.releases for name in FOLLOWING[table])]
    assert made.certificate.labels == (unreviewed_label(every),)
    made.save(tmp_path / "out")
    assert load_people(tmp_path / "out").certificate.labels == made.certificate.labels


@pytest.mark.slow
@pytest.mark.parametrize("holders", [HOSPITALS, APART], ids=["hospitals", "apart"])
def test_terms_that_hide_what_nobody_has_reviewed_are_refused_by_its_party(monkeypatch, holders):
    monkeypatch.setattr(Making, "_with_reviews", lambda self, domain, part: domain)
    unreviewed = DOMAINS | {"stays": UNREVIEWED["stays"]}
    with pytest.raises(ProtocolError, match="nobody has reviewed, and the terms do not say so: first"):
        over(holders, domain=unreviewed)
