"""Related tables over parties, by brute force over people, and message by message."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.data.people import PeopleRows, adding_up
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import ALL_ROWS, WEIGHT_PARTS, Adjacency, PrivacyUnit
from dpmosaic.common.protocols.related import KnownColumn, RelatedPart, Relation, Way
from dpmosaic.common.protocols.scores.query import exact_scores
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.parties.federation import PartOfTables
from dpmosaic.curator.related.making import RelatedOrder
from dpmosaic.curator.releasing.agreement import agree
from dpmosaic.curator.releasing.release import ReleaseOrder
from dpmosaic.party.institution.related import RelatedRows
from dpmosaic.synthesis.over_parties.held import read_held
from dpmosaic.synthesis.over_parties.holders import Holders, parties_of, planned_tables
from dpmosaic.synthesis.over_parties.releasing import _Parts
from support.related import DOMAINS, ORDER, RELATIONS
from support.taps import Sizes

UNIT = PrivacyUnit(Adjacency.ADD_REMOVE, ALL_ROWS)
ALL = ("patients", "stays", "codes")
ORDERS = {**ORDER, "codes": True}
"""No order is drawn, so that rows of others stay as they are."""
HOLDERS = {"whole": (ALL,), "apart": (("patients",), ("stays", "codes"))}

RELATIONS_STATED = (
    Relation("patients", "", ""),
    Relation("stays", "patients", "day"),
    Relation("codes", "stays", ""),
)
COLUMNS = {
    "stays": (
        KnownColumn("sex", "patients", Way.CODE, "sex"),
        KnownColumn("number", "patients", Way.NUMBER, "stays", starts=(0, 1, 2, 4)),
        KnownColumn("first", "patients", Way.FIRST, "stays"),
        KnownColumn("any_code", "codes", Way.ANY, "code", groups=(1, 0, 0)),
        KnownColumn("last_ward", "stays", Way.LAST_ROW, "ward"),
        KnownColumn("previous_ward", "stays", Way.SERIES, "ward", before=True),
        KnownColumn("previous_day", "stays", Way.CODE, "day", before=True),
        KnownColumn("ward", "stays", Way.CODE, "ward", groups=(0, 1, 1)),
        KnownColumn("step", "stays", Way.STEP, ""),
    ),
    "codes": (
        KnownColumn("sex", "patients", Way.CODE, "sex"),
        KnownColumn("ward", "stays", Way.CODE, "ward"),
        KnownColumn("code", "codes", Way.CODE, "code"),
        KnownColumn("previous_code", "codes", Way.CODE, "code", before=True),
    ),
}


def tables_of(numbers, seed=1):
    """Tables of people who have so many stays each, with up to two codes a stay."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(len(numbers)), numbers)
    people = pd.DataFrame(
        {"id": np.arange(len(numbers)), "sex": rng.choice(["f", "m"], len(numbers)), "born": 1950}
    )
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, len(whose)), unit="D")
    wards = rng.choice(["a", "b", "c"], len(whose))
    stays = pd.DataFrame({"stay": np.arange(len(whose)), "id": whose, "day": days, "ward": wards})
    of = np.repeat(np.arange(len(whose)), rng.integers(0, 3, len(whose)))
    codes = pd.DataFrame({"stay": of, "code": rng.choice(["x", "y", "z"], len(of))})
    return {"patients": people, "stays": stays, "codes": codes}


def without(tables, person):
    """The same tables without one person."""
    patients = tables["patients"][tables["patients"]["id"] != person]
    stays = tables["stays"][tables["stays"]["id"] != person]
    codes = tables["codes"][tables["codes"]["stay"].isin(stays["stay"])]
    return {"patients": patients, "stays": stays, "codes": codes}


def parties(tables, held):
    """The related rows of each party, as the simulator starts them."""
    read = read_held(tables, RELATIONS, ORDERS, DOMAINS, np.random.default_rng(1))
    holders = Holders(held)
    (row,) = parties_of(read.raw, planned_tables(read, holders), holders)
    return [rows for rows, _ in row]


def part_of(table, evened=1, by_length=False):
    relations = tuple(replace(one, evened=evened if one.table == "stays" else 1) for one in RELATIONS_STATED)
    part = RelatedPart("a" * 32, 1.0, 1.0, table, relations, COLUMNS[table])
    return replace(part, by_length=by_length and part.may_weigh_by_length)


def sent(rows, part, held, clique, compared=False):
    """The sum over people of products of what parties know, in parts of a record, shape (cells,)."""
    total = 0
    pieces = []
    for party, tables in zip(rows, held, strict=True):
        own = tuple(name for name in part.held_by(tables) if name in clique)
        if own:
            below = not part.below_people.isdisjoint(part.held_by(tables))
            found = party.records(part, own).in_parts(WEIGHT_PARTS if below else 1)
            pieces.append(adding_up(found) if compared else found)
    for person in range(rows[0].record_count):
        product = np.ones(1, dtype=object)
        for piece in pieces:
            vectors = piece.vectors(piece.domain.names, person, person + 1)
            mine = np.zeros(piece.domain.cells(piece.domain.names), dtype=np.int64)
            np.add.at(mine, vectors.cells, vectors.weights)
            product = np.multiply.outer(product, mine.astype(object)).ravel()
        total = total + product
    scale = Fraction(WEIGHT_PARTS, math.prod(piece.parts for piece in pieces))
    return np.array([int(one * scale) for one in total], dtype=np.int64)


def changes(numbers, grid, evened=1, by_length=False):
    """What each person adds to marginals of one or two columns of both tables' records, and their shapes."""
    tables, held = tables_of(numbers), HOLDERS[grid]
    whole = parties(tables, held)
    for person in range(len(numbers)):
        rest = parties(without(tables, person), held)
        for table, columns in COLUMNS.items():
            names, part = [column.name for column in columns], part_of(table, evened, by_length)
            sizes = {
                name: size
                for party, tables_held in zip(whole, held, strict=True)
                for name, size in sizes_of(party, part, tables_held).items()
            }
            for clique in itertools.chain(((one,) for one in names), itertools.combinations(names, 2)):
                for compared in (False, True) if part.by_length else (True,):
                    with_, before = (sent(one, part, held, clique, compared) for one in (whole, rest))
                    shape = [sizes[name] for name in part.held_by(sum(held, ())) if name in clique]
                    yield with_, with_ - before, shape, compared


def sizes_of(party, part, tables):
    """The number of codes of each column that a party knows."""
    own = part.held_by(tables)
    return dict(zip(own, party.records(part, own).domain.shape(own), strict=True))


def largest_change(numbers, grid, evened=1):
    return max(
        Fraction(int(np.abs(change).sum()), WEIGHT_PARTS) for _, change, *_ in changes(numbers, grid, evened)
    )


@pytest.mark.slow
@pytest.mark.parametrize("grid", [*HOLDERS])
@pytest.mark.parametrize("by_length", [False, True])
@pytest.mark.parametrize(("numbers", "evened"), [([3, 1], 1), ([7, 2], 3), ([0, 40], 2)])
def test_a_person_changes_what_parties_send_by_no_more_than_one_record_does(grid, numbers, evened, by_length):
    rng = np.random.default_rng(1)
    longer = 0
    for whole, change, shape, compared in changes(numbers, grid, evened, by_length):
        assert change.min() >= 0
        assert ((change / WEIGHT_PARTS) ** 2).sum() <= UNIT.squared_sensitivity
        if min(shape) > 1:
            moved = interaction(change / WEIGHT_PARTS, shape)
            assert (moved**2).sum() <= float(UNIT.squared_interaction_sensitivity(shape)) * (1 + 1e-12)
        if not compared:
            longer += change.sum() > WEIGHT_PARTS
            continue
        assert change.sum() <= WEIGHT_PARTS
        reference = WEIGHT_PARTS * rng.integers(0, 4, len(whole))
        with_, before = (exact_scores([one], reference)[0] for one in (whole, whole - change))
        assert (with_ - before) ** 2 <= UNIT.squared_score_sensitivity * WEIGHT_PARTS**2
    assert bool(longer) == (by_length and evened > 1)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [*HOLDERS])
def test_a_person_with_rows_counts_as_one(grid):
    assert largest_change([2, 3], grid) == 1


def not_divided(monkeypatch):
    made = PeopleRows.weighing_evenly

    def faulty(*arguments):
        rows = made(*arguments)
        rows.table.weights[:] = rows.parts
        return rows

    monkeypatch.setattr(PeopleRows, "weighing_evenly", faulty)


def one_event_counted_twice(monkeypatch):
    made = RelatedRows.records

    def faulty(self, part, own):
        rows = made(self, part, own)
        twice = np.append(0, np.arange(len(rows.person)))
        return replace(rows, table=rows.table.take(twice), person=rows.person[twice])

    monkeypatch.setattr(RelatedRows, "records", faulty)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [not_divided, one_event_counted_twice])
@pytest.mark.parametrize("grid", [*HOLDERS])
def test_brute_force_finds_a_planted_fault(grid, fault, monkeypatch):
    fault(monkeypatch)
    assert largest_change([5, 3], grid) > 1


def started(numbers, held, table, protocol="masked", evened=3):
    """Parties in this process, a part of a release of theirs, and its order."""
    read = read_held(tables_of(numbers), RELATIONS, ORDERS, DOMAINS, np.random.default_rng(1))
    collusions = 0 if protocol == "masked" else None
    holders = Holders(held, collusions=collusions, alignment_rho=50.0)
    tables = planned_tables(read, holders)
    spec = ReleaseSpec(
        Budget(zcdp_rho=1e3),
        Adjacency.ZERO_OUT if len(held) == 1 else Adjacency.ADD_REMOVE,
        protocol,
        collusions=collusions,
        rows_per_person=ALL_ROWS,
    )
    rho = Fraction(0) if len(held) == 1 else Fraction(50)
    order = RelatedOrder(tables, spec, mechanism_named("independent"), 0.1, rho, "a" * 32)
    parts = _Parts.start(read.raw, order, holders, RandomStream.from_seed(1), True)
    columns = {column.name: column for column in COLUMNS[table]}
    rows = parties(tables_of(numbers), held)
    part = part_of(table, evened)
    sizes = {}
    for party, own in zip(rows, held, strict=True):
        sizes |= sizes_of(party, part, own)
    domain = Domain.coded({name: sizes[name] for name in columns})
    workload = Workload(tuple((name,) for name in domain.names), (1.0,) * len(domain))
    return parts, part, ReleaseOrder(domain, order.budget_of(Fraction(1)), order.mechanism, workload)


def transcript(numbers, held, table, protocol="masked"):
    """Method, direction and size of every message of one part of a release, in order."""
    Sizes.seen = []
    parts, part, release = started(numbers, held, table, protocol)
    parts = replace(parts, links=[[Sizes(link) for link in row] for row in parts.links])
    Sizes.seen = []
    parts.make("part", release, part, None)
    return [one for one in Sizes.seen if one[0] != "Certify"]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["masked", "trusted"])
def test_parties_answer_by_length_and_score_by_weights_that_add_up(protocol):
    numbers = [3, 20, 1, 7, 0, 12, 5]
    held = HOLDERS["apart" if protocol == "masked" else "whole"]
    parts, part, release = started(numbers, held, "stays", protocol)
    part = replace(part, zcdp_rho=900.0, left_rho=900.0)
    cliques = (("sex",), ("ward",), ("sex", "ward"), ("previous_ward", "ward"))
    release = replace(
        release,
        mechanism=mechanism_named("mosaic"),
        workload=Workload(cliques, (1.0,) * len(cliques)),
        spec=replace(release.spec, budget=Budget(zcdp_rho=900.0)),
    )
    agreement = agree(
        release.domain,
        parts.links,
        release.proposal("b" * 32),
        dealers=parts.dealing,
        aligned=parts.aligned,
        part=PartOfTables(part, parts.holds),
    )
    assert agreement.terms.plan.related.by_length
    (whole,) = parties(tables_of(numbers), HOLDERS["whole"])
    rows = whole.records(agreement.terms.plan.related, release.domain.names)
    measurer = agreement.measurer()
    for clique in cliques:
        view, rho = View(clique), Fraction(100)
        (found,) = measurer.measure([Query(view, rho, "step")])
        exact = view.counted(rows) / WEIGHT_PARTS
        assert np.abs(found.values - exact).max() < 6 * found.sigma + 1e-3
        added = view.counted(adding_up(rows))
        assert (np.abs(added / WEIGHT_PARTS - exact).max() > 0.1) == (clique != ("sex",))
        reference = np.zeros(len(exact), dtype=np.int64)
        scores = measurer.score([view], [reference], rho, "scores")
        assert scores.values[0] == pytest.approx(added.sum() / WEIGHT_PARTS, abs=6 * scores.sigma + 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [*HOLDERS])
@pytest.mark.parametrize("table", [*COLUMNS])
def test_messages_have_the_same_sizes_whatever_the_number_of_events_of_a_person(grid, table):
    found = transcript([3, 1, 2], HOLDERS[grid], table)
    assert found == transcript([3, 90, 2], HOLDERS[grid], table)
    assert len(found) > 10


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["trusted", "indicator"])
def test_so_have_those_of_places_that_hold_whole_people(protocol):
    found = transcript([3, 1, 2], HOLDERS["whole"], "stays", protocol)
    assert found == transcript([3, 90, 2], HOLDERS["whole"], "stays", protocol)
    assert len(found) > 10
