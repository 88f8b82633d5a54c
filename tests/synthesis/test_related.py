"""Related tables to a release of people: what comes out, what it cost, and what noise it has."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpmosaic
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.interactions import interaction
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.labels import DELTA_SHARE
from dpmosaic.common.privacy import budget as budgets
from dpmosaic.common.privacy import noise
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.common.protocols import indicator
from dpmosaic.curator.mechanisms.catalogue import mechanism_named, mechanism_names
from dpmosaic.curator.people import rows as parts
from dpmosaic.curator.people.certificate import digest_of
from dpmosaic.curator.people.drawn import drawn_rows
from dpmosaic.curator.people.files import verify_people
from dpmosaic.simulations.evaluation.related import evaluate, mean_distance
from dpmosaic.synthesis.related import making
from support.related import DOMAINS, ORDER, RELATIONS, patients, release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made():
    return release(mechanism="mosaic")


@pytest.fixture(scope="module")
def seeded():
    return release(seed=3)


def test_keys_are_new_and_no_row_is_an_orphan(made):
    tables = made.tables
    for name, key in (("patients", "id"), ("stays", "stay")):
        assert tables[name][key].tolist() == list(range(1, len(tables[name]) + 1))
    assert set(tables["stays"]["id"]) <= set(tables["patients"]["id"])
    assert set(tables["codes"]["stay"]) <= set(tables["stays"]["stay"])


def test_columns_and_their_types_are_those_of_the_real_tables(made):
    for name, rows in patients().items():
        assert list(made.tables[name].columns) == list(rows.columns)
    kinds = made.tables["stays"].dtypes
    assert pd.api.types.is_integer_dtype(kinds["stay"])
    assert pd.api.types.is_datetime64_dtype(kinds["day"])


def test_rows_of_a_parent_are_in_order_and_inside_the_bounds(made):
    days = made.tables["stays"].groupby("id")["day"]
    assert days.apply(lambda one: one.is_monotonic_increasing).all()
    assert made.tables["stays"]["day"].between("2020-01-01", "2022-12-31").all()


@pytest.mark.parametrize(
    ("kept", "asked"),
    [({}, True), ({"within": {"tests": ("on", None)}}, False), ({"order": {"tests": "n"}}, False)],
)
def test_times_below_times_without_bounds_are_asked_about_before_anything_is_spent(kept, asked, tmp_path):
    days = [f"2024-01-0{day}" for day in range(1, 9)]
    stays = pd.DataFrame({"stay": range(8), "id": range(8), "on": days})
    tests = pd.DataFrame({"stay": range(8), "n": range(8), "at": days})
    tables = {
        "patients": pd.DataFrame({"id": range(8), "sex": list("fm") * 4}),
        "stays": stays,
        "tests": tests,
    }
    stated = {"order": {"stays": "on", "tests": "at"} | kept.pop("order", {})} | kept
    relations = {"stays": {"id": "patients"}, "tests": {"stay": "stays"}}
    stated |= {"workload": {"tests": [("n", "nothing")]}, "ledger": tmp_path / "ledger.json"}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(DataError, match="expected a column"):
            dpmosaic.synthesize(tables, epsilon=1, relations=relations, **stated)
    assert any("tests: its rows are in order by 'at'" in str(one.message) for one in told) == asked
    assert not (tmp_path / "ledger.json").exists()


def test_the_column_of_a_number_of_rows_says_how_many_each_parent_has(made):
    people = made.releases["patients"].rows
    _, rows = drawn_rows(made.family, people, made.releases, RandomStream.from_seed(3))
    for parent, child in (("patients", "stays"), ("stays", "codes")):
        column = f"number_of_{child}"
        reach = made.family[parent].domain[column].reach[rows[parent].codes[column]]
        # More rows than the last bin holds are those of a summary alone, which these tables do not have.
        assert (reach[:, 0] <= rows[child].numbers).all()
        assert (rows[child].numbers <= reach[:, 1]).all()


def test_the_order_is_counted_in_records_and_in_no_pair_that_is_not_named(made):
    known = made.releases["stays"].published.evidence.known
    assert ("day",) in known
    assert not [clique for clique in known if "day" in clique and len(clique) > 1]


@pytest.mark.parametrize(
    ("pairs", "asked"),
    [
        ([("ward", "previous ward")], {("previous_ward", "ward")}),
        (
            [("patients.sex", "ward"), ("ward", "day")],
            {("sex", "ward"), ("ward", "step_of_day"), ("ward", "day")},
        ),
        ([("ward", "patients.number_of_stays")], {("number_of_stays", "ward")}),
    ],
)
def test_the_pairs_that_a_workload_names_are_asked_for_and_those_that_bind_tables(pairs, asked):
    made = release(workload={"stays": pairs})
    cliques = {one.clique for one in made.releases["stays"].certificate.plan.workload if len(one.clique) > 1}
    assert {clique for clique in cliques if "number_of_codes" not in clique} == asked
    assert ("ward", "number_of_codes") in cliques


def test_each_person_has_as_many_rows_as_were_drawn(monkeypatch):
    seen = {}
    drawn_rows = making.drawn_rows

    def watched(*arguments):
        family, rows = drawn_rows(*arguments)
        seen.update(rows)
        return family, rows

    monkeypatch.setattr(making, "drawn_rows", watched)
    made = release()
    for name, foreign, parent in (("stays", "id", "patients"), ("codes", "stay", "stays")):
        counts = made.frames[name][foreign].value_counts()
        found = counts.reindex(range(1, len(made.frames[parent]) + 1), fill_value=0).to_numpy()
        np.testing.assert_array_equal(found, seen[name].numbers)


def test_further_people_come_with_all_that_belongs_to_them(made):
    some = made.generate(50, seed=3)
    assert len(some["patients"]) == 50
    assert set(some["stays"]["id"]) <= set(range(1, 51))
    again = made.generate(50, seed=3)
    for name, rows in some.items():
        pd.testing.assert_frame_equal(rows, again[name])


@pytest.mark.parametrize("without", [(), ("stays",), ("patients", "stays", "codes")], ids=len)
def test_what_was_charged_is_what_is_stated_and_at_most_what_was_promised(without, monkeypatch):
    spent = []
    charge = budgets.Accountant.charge

    def watched(self, *charges):
        spent.extend(charges)
        return charge(self, *charges)

    monkeypatch.setattr(budgets.Accountant, "charge", watched)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = release(domain={k: v for k, v in DOMAINS.items() if k not in without} or None, anyway=True)
    stated = made.certificate
    charged = float(sum((one.zcdp_rho for one in spent), Fraction(0)))
    assert charged == pytest.approx(float(stated.zcdp_rho_spent), rel=1e-9)
    labels = sum(part.labels_delta for part in stated.parts)
    assert labels <= DELTA_SHARE * 1e-9 * (1 + 1e-9)
    assert bool(labels) == bool(without)
    # The epsilon of Gaussian differential privacy, by bisection of Balle and Wang's delta.
    mu, left = math.sqrt(2 * stated.zcdp_rho_spent), 1e-9 - labels
    assert stated.epsilon_spent == pytest.approx(_epsilon(mu, left), rel=1e-6)
    assert stated.epsilon_spent <= 2.0
    assert stated.zcdp_rho_spent == sum(part.zcdp_rho for part in stated.parts)
    for name, one in made.releases.items():
        (part,) = (p for p in stated.parts if p.table == name and p.of == "records")
        assert part.certificate == digest_of(one.certificate)
        # Records of people have no count before them.
        promise = one.certificate.promise
        assert (promise.zcdp_rho_with_bins is None) == (name == "patients")
        assert part.zcdp_rho >= Fraction(promise.zcdp_rho_with_bins or promise.zcdp_rho_spent)


def _epsilon(mu, delta):
    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        upper = stats.norm.cdf(mu / 2 - middle / mu)
        found = upper - math.exp(middle) * stats.norm.cdf(-mu / 2 - middle / mu)
        low, high = (low, middle) if found <= delta else (middle, high)
    return high


def unlikely(monkeypatch):
    """The probability of so much, or so little, noise in all that was measured of weighted records."""
    tables, records = {}, making.records

    def watched(family, name, rows):
        tables[name] = records(family, name, rows)
        return tables[name]

    monkeypatch.setattr(making, "records", watched)
    made = release(epsilon=0.5)
    squares = freedom = 0.0
    for name, one in made.releases.items():
        table = tables[name]
        for clique, known in one.published.evidence.known.items():
            shape = table.domain.shape(clique)
            exact = interaction(table.marginal(clique) / WEIGHT_PARTS, shape)
            squares += float(((known.values - exact) ** 2).sum()) / known.sigma**2
            freedom += math.prod(n - 1 for n in shape)
    return 2 * min(stats.chi2.cdf(squares, freedom), stats.chi2.sf(squares, freedom))


def test_measurements_of_weighted_records_have_the_noise_that_is_stated(monkeypatch):
    # One of 10^6 runs fails by chance.
    assert unlikely(monkeypatch) > 1e-6


def noise_for_whole_rows(monkeypatch):
    def without_parts(counts, sigma, stream, parts=1):
        grid = noise.grid_of(sigma)
        few = noise.discrete_gaussian(grid * sigma, counts.size, stream).reshape(counts.shape)
        return few + noise.grid_of(sigma, parts) // parts * counts

    monkeypatch.setattr(indicator, "noisy_counts", without_parts)


def half_of_the_noise(monkeypatch):
    full = noise.discrete_gaussian
    monkeypatch.setattr(noise, "discrete_gaussian", lambda sigma, *others: full(sigma / 2, *others))


@pytest.mark.parametrize("fault", [noise_for_whole_rows, half_of_the_noise])
def test_a_planted_fault_of_noise_is_found(fault, monkeypatch):
    fault(monkeypatch)
    assert unlikely(monkeypatch) < 1e-6


def test_without_a_seed_noise_comes_from_the_operating_system_and_with_one_it_is_labelled():
    one, other = (release(seed=None) for _ in range(2))
    assert not one.certificate.labels
    assert one.certificate.differentially_private
    values = [{n: r.published.evidence.known for n, r in each.releases.items()} for each in (one, other)]
    # Which marginals are measured, and in which bins, depends on noise too.
    both = [(held, values[1][name], clique) for name, held in values[0].items() for clique in held]
    both = [(held[clique], other[clique]) for held, other, clique in both if clique in other]
    assert both
    assert not any(np.array_equal(held.values, other.values) for held, other in both)
    seeded = release(seed=5)
    assert not seeded.certificate.differentially_private
    assert any("seed" in label for label in seeded.certificate.labels)
    for name, rows in release(seed=5).frames.items():
        pd.testing.assert_frame_equal(rows, seeded.frames[name])


def test_every_mechanism_that_adds_gaussian_noise_alone_takes_part_and_no_other():
    for name in mechanism_names():
        mechanism = mechanism_named(name)
        if name in ("dp-gan", "dp-select"):
            with pytest.raises(DataError, match="only adds Gaussian noise"):
                release(mechanism=mechanism)
    for name in ("randdpgen", "absyn", "ppsyn"):
        with pytest.raises(DataError, match="only adds Gaussian noise"):
            release(mechanism=mechanism_named(name, "paper"))


@pytest.mark.parametrize("name", ["aim", "mst"])
def test_scores_of_weighted_records_choose_pairs(name):
    assert release(mechanism=name, epsilon=20.0).certificate.epsilon_spent <= 20


def test_a_budget_that_parts_cannot_hold_is_refused_before_anything_is_asked():
    with pytest.raises(BudgetError, match="raise epsilon"):
        release(epsilon=1e-6)


def test_a_table_of_keys_alone_gets_its_numbers_of_rows():
    data = patients() | {"codes": patients()["codes"][["stay"]]}
    made = release(data, domain={name: DOMAINS[name] for name in ("patients", "stays")})
    assert "codes" not in made.releases
    assert list(made.tables["codes"].columns) == ["stay"]
    assert set(made.tables["codes"]["stay"]) <= set(made.tables["stays"]["stay"])


def test_a_table_with_a_key_comes_back_as_one_table():
    data = patients()
    flat = data["stays"].merge(data["patients"], on="id")[["day", "id", "sex", "ward"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = dpmosaic.synthesize(
            flat, 3.0, key="id", order="day", per_person=["sex"], mechanism="independent", anyway=True
        )
    assert list(made.table.columns) == ["day", "id", "sex", "ward"]
    assert (made.table.groupby("id")["sex"].nunique() == 1).all()
    assert made.table.groupby("id")["day"].apply(lambda one: one.is_monotonic_increasing).all()


@pytest.mark.parametrize("library", ["polars", "pyarrow", "nullable", "arrow", "category"])
def test_the_same_kind_of_frames_comes_back(library):
    data = patients()
    if library == "polars":
        polars = pytest.importorskip("polars")
        given = {name: polars.from_pandas(rows) for name, rows in data.items()}
    elif library == "pyarrow":
        import pyarrow as pa

        given = {name: pa.Table.from_pandas(rows) for name, rows in data.items()}
    elif library == "category":
        given = data | {"stays": data["stays"].astype({"ward": "category"})}
    else:
        backend = {"nullable": "numpy_nullable", "arrow": "pyarrow"}[library]
        given = {name: rows.convert_dtypes(dtype_backend=backend) for name, rows in data.items()}
    made = release(given)
    for name, rows in given.items():
        assert type(made.tables[name]) is type(rows)
    if library in ("nullable", "arrow", "category"):
        ward = made.tables["stays"]["ward"].dtype
        assert type(ward) is type(given["stays"]["ward"].dtype)


def test_a_release_from_files_is_one_from_their_tables(seeded, tmp_path):
    paths = {}
    for name, rows in patients().items():
        paths[name] = tmp_path / f"{name}.csv"
        rows.to_csv(paths[name], index=False)
    other = release(paths, seed=3)
    for name, rows in seeded.frames.items():
        assert rows.astype(str).equals(other.frames[name].astype(str)), name


def test_the_type_of_keys_says_nothing_of_a_single_key(seeded):
    data = patients()
    odd = data["patients"].astype({"id": object}), data["stays"].astype({"id": object})
    odd[0].loc[0, "id"] = "A 1"
    odd[1].loc[odd[1]["id"] == 1000, "id"] = "A 1"
    other = release(data | {"patients": odd[0], "stays": odd[1]}, seed=3)
    for name, rows in seeded.frames.items():
        pd.testing.assert_frame_equal(rows, other.frames[name])


def test_order_is_that_of_cells_of_any_spelling(seeded):
    data = patients()
    texts = data["stays"].assign(day=data["stays"]["day"].dt.strftime("%Y-%m-%d"))
    other = release(data | {"stays": texts}, seed=3)
    for name, rows in seeded.frames.items():
        pd.testing.assert_frame_equal(rows, other.frames[name])


def test_warns_of_columns_that_too_few_people_share():
    data = patients()
    # Texts without a form in common, which would be names.
    letters = str.maketrans("0123456789", "abcdefghij")
    data["stays"]["ward"] = [str(7 * place).translate(letters) for place in range(len(data["stays"]))]
    with pytest.warns(dpmosaic.MosaicWarning, match="stays: .*ward"):
        made = release(data, domain={"patients": DOMAINS["patients"]}, anyway=True, seed=2)
    assert not {*made.tables["stays"].get("ward", [])} & {*data["stays"]["ward"]}


def test_order_names_tables():
    with pytest.raises(DataError, match="expected one for each table"):
        release(order="day")
    assert release(order=ORDER | {"codes": True}).tables["codes"].shape[1] == 2


def test_people_keep_to_the_rules_of_their_domain():
    rule = {"impossible": {"sex": ["f"], "born": {"above": 1969}}}
    data = patients()
    born = data["patients"]["born"]
    data["patients"]["sex"] = data["patients"]["sex"].where(born < 1970, "m")
    domains = DOMAINS | {"patients": {"attributes": DOMAINS["patients"], "rules": [rule]}}
    made = release(data, domain=domains, epsilon=0.3)
    for people in (made.tables["patients"], made.generate(300, seed=1)["patients"]):
        assert not ((people["sex"] == "f") & (people["born"] > 1969)).any()


@pytest.mark.filterwarnings("ignore::dpmosaic.MosaicWarning")
def test_a_release_that_stopped_goes_on_and_draws_no_noise_again(tmp_path, monkeypatch):
    # A table of this name has its own answers, beside those of what columns hold.
    data = patients()
    given = {"patients": data["patients"], "columns": data["stays"][["id", "day", "ward"]]}
    options = {
        "relations": {"columns": {"id": "patients"}},
        "order": {"columns": "day"},
        "domain": {"columns": DOMAINS["stays"]},
        "anyway": True,
        "out": tmp_path / "out",
    }

    def full(*arguments):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(making, "frames", full)
        with pytest.raises(OSError, match="no space left"):
            release(given, **options)

    def again(sigma, size, stream):
        raise AssertionError("noise was drawn twice")

    for module in (noise, indicator):
        monkeypatch.setattr(module, "discrete_gaussian", again, raising=False)
    made = release(given, **options)
    assert set(made.tables) == {"patients", "columns"}
    assert dpmosaic.load_people(tmp_path / "out").certificate.parts == made.certificate.parts
    assert not [check for check in verify_people(tmp_path / "out") if not check.passed]


def test_rows_that_are_drawn_some_people_at_a_time_are_as_near_to_their_pairs(monkeypatch):
    made, found, tables = release(epsilon=300.0, mechanism="mosaic"), [], []
    for most in (1 << 20, 150):
        monkeypatch.setattr(parts, "_ROWS_OF_PART", most)
        tables.append(made.generate(400, seed=1))
        distances = evaluate(patients(), tables[-1], RELATIONS, ORDER)
        found.append([mean_distance((*one.within, *one.across)) for one in distances.values()])
        assert {one.orphans for one in distances.values()} == {0.0}
    assert np.abs(np.subtract(*found)).max() < 0.02
    for name, whole in tables[0].items():
        in_parts = tables[1][name]
        assert in_parts.dtypes.equals(whole.dtypes)
        if key := made.family[name].key:
            assert in_parts[key].tolist() == list(range(1, len(in_parts) + 1))


def test_what_was_learned_from_one_row_of_each_person_is_promised_to_the_person():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = release(domain=None, anyway=True)
    assert set(made.choices) == {"patients", "stays", "codes"}
    for certificate in made.choices.values():
        assert "for the person with all rows" in certificate.plan.privacy_unit
