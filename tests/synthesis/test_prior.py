"""A release with a table that is known beforehand: an earlier release, or a public table."""

import json

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError

pytestmark = pytest.mark.slow

TOWNS = ["east", "north", "south", "west"]
DOMAIN = {
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "integer": True},
    "town": TOWNS,
    "work": ["field", "none", "office", "shop"],
    "car": {"type": "boolean"},
    "house": ["none", "owned", "rented"],
}


def people(seed, rows=4000):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    town = np.where(rng.random(rows) < 0.7, np.minimum(age // 25, 3), rng.integers(0, 4, rows))
    work = np.where(rng.random(rows) < 0.7, (town + 1) % 4, rng.integers(0, 4, rows))
    return pd.DataFrame(
        {
            "age": age,
            "town": np.array(TOWNS)[town],
            "work": np.array(DOMAIN["work"])[work],
            "car": rng.random(rows) < 0.1 + 0.2 * work,
            "house": np.array(DOMAIN["house"])[np.where(rng.random(rows) < 0.6, town % 3, work % 3)],
        }
    )


REAL, LAST_YEAR = people(1), people(2)


def synthesize(data=REAL, epsilon=0.1, **options):
    return dpmosaic.synthesize(data, epsilon, **{"domain": DOMAIN, "seed": 1, "ledger": False, **options})


def distance(release):
    """Mean total variation distance of the pairs."""
    made, real = (dpmosaic.encode(rows, DOMAIN) for rows in (release.table, REAL))
    names = real.domain.names
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    shares = [
        np.abs(made.marginal(pair) / made.record_count - real.marginal(pair) / real.record_count).sum() / 2
        for pair in pairs
    ]
    return float(np.mean(shares))


@pytest.fixture(scope="module")
def alone():
    return synthesize()


@pytest.fixture(scope="module")
def known():
    return synthesize(prior=LAST_YEAR, prior_is_public=True)


def test_a_public_table_of_the_year_before_brings_pairs_closer_by_a_third(known, alone):
    assert distance(known) < 0.67 * distance(alone)


@pytest.mark.parametrize("asked", [{"target": "house"}, {"workload": "3way"}])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_workload_of_triples_may_stand_beside_a_prior(asked, epsilon):
    release = synthesize(epsilon=epsilon, prior=LAST_YEAR, prior_is_public=True, **asked)
    assert distance(release) < 0.1


def permuted(rows, seed):
    """The same rows with the values of each column changed for others."""
    rng = np.random.default_rng(seed)
    codes = dpmosaic.encode(rows, DOMAIN)
    changed = [
        rng.permutation(n)[column] for n, column in zip(codes.domain.sizes, codes.columns, strict=True)
    ]
    return Table.from_codes(codes.domain, np.column_stack(changed))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_prior_of_permuted_values_costs_little_on_average(epsilon):
    """Ratios of single seeds deviate by .2, so that of three exceeds 1.3 wrongly once in 200 times."""
    ratios = []
    for seed in range(1, 4):
        wrong = dpmosaic.decode(permuted(LAST_YEAR, seed))
        known = synthesize(epsilon=epsilon, seed=seed, prior=wrong, prior_is_public=True)
        ratios.append(distance(known) / distance(synthesize(epsilon=epsilon, seed=seed)))
    assert np.mean(ratios) < 1.3


def test_the_certificate_and_the_report_say_what_was_known_and_the_promise_stays(known, alone):
    assert len(known.certificate.plan.prior) == 64
    assert known.certificate.plan.prior in known.report().html
    assert known.certificate.promise.epsilon == alone.certificate.promise.epsilon == 0.1
    assert alone.certificate.plan.prior == ""
    assert "Known beforehand" not in alone.report().html


def test_a_seeded_release_is_no_private_one(alone):
    with pytest.raises(DataError, match="expected a private release"):
        synthesize(LAST_YEAR, prior=alone)


def test_a_private_release_and_its_folder_are_taken_as_they_are(tmp_path):
    earlier = synthesize(LAST_YEAR, 1.0, seed=None, mechanism="independent", out=tmp_path / "earlier")
    one = synthesize(prior=earlier)
    other = synthesize(prior=tmp_path / "earlier")
    assert one.certificate.plan.prior == other.certificate.plan.prior != ""
    pd.testing.assert_frame_equal(one.table, other.table)


def test_columns_that_are_learned_are_known_beforehand_too():
    with pytest.warns(dpmosaic.DomainWarning):
        release = synthesize(
            people(1, 9000), 1.0, domain=None, anyway=True, prior=LAST_YEAR, prior_is_public=True
        )
    assert release.certificate.plan.prior


def test_the_command_takes_a_file_and_goes_on_with_it(tmp_path):
    REAL.to_csv(tmp_path / "real.csv", index=False)
    LAST_YEAR.to_csv(tmp_path / "earlier.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    asked = [
        str(tmp_path / "real.csv"),
        "--out",
        str(tmp_path / "out"),
        "--domain",
        str(tmp_path / "domain.json"),
    ]
    prior = ["--no-ledger", "--prior", str(tmp_path / "earlier.csv")]
    refused = CliRunner().invoke(app, ["synthesize", *asked, *prior])
    assert refused.exit_code != 0
    done = CliRunner().invoke(app, ["synthesize", *asked, *prior, "--prior-is-public"])
    assert done.exit_code == 0, done.output
    assert dpmosaic.load(tmp_path / "out").certificate.plan.prior


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prior": LAST_YEAR}, "expected a private release"),
        ({"prior_is_public": True}, "expected a prior beside it"),
        ({"prior": REAL, "prior_is_public": True}, "another table than the real one"),
        ({"prior": REAL.sample(frac=1.0), "prior_is_public": True}, "another table than the real one"),
        (
            {"prior": duckdb.from_arrow(pa.table(REAL)), "prior_is_public": True},
            "another table than the real",
        ),
        ({"prior": LAST_YEAR.drop(columns="town"), "prior_is_public": True}, "none called 'town'"),
        ({"prior": LAST_YEAR.replace("east", "sea"), "prior_is_public": True}, "prior: column 'town'"),
        (
            {"prior": LAST_YEAR, "prior_is_public": True, "mechanism": "mst"},
            "expected the mechanism 'mosaic'",
        ),
        ({"prior": LAST_YEAR, "prior_is_public": True, "key": "town"}, "no such choice"),
    ],
)
def test_refuses_before_anything_is_spent(options, said, tmp_path):
    with pytest.raises(DataError, match=said):
        synthesize(**options, out=tmp_path / "out")
    assert not (tmp_path / "out" / "certificate.json").exists()
