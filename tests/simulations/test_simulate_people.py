"""Simulated releases of people with all rows of one table."""

import json

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.simulations.simulate import simulate

DOMAIN = dpmosaic.Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})
HUGE = dpmosaic.Budget(zcdp_rho=1e5)
CHEAP = dpmosaic.Budget(zcdp_rho=0.02)


def rows_of(people=300, seed=0):
    """Rows of people whose attribute a is the person's and agrees with b; and the person of each row."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), rng.integers(1, 9, people))
    order = rng.permutation(len(person))
    person = person[order]
    first = person % 3
    columns = [first, first % 2, rng.integers(0, 4, len(person)), rng.integers(0, 2, len(person))]
    return dpmosaic.Table.from_codes(DOMAIN, np.column_stack(columns)), [f"p{one}" for one in person]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "off"),
    [
        ({"grid": "1x1", "protocol": "trusted"}, 0.02),
        ({"grid": "3x1"}, 0.02),
        ({"grid": "3x1", "protocol": "indicator"}, 0.02),
        # Columns of one event at two parties are paired with those of all events.
        ({"grid": "1x2"}, 0.06),
        ({"grid": "2x2", "shuffle": True, "overlap": 0.9, "alignment_rho": 1.0}, 0.06),
    ],
)
def test_a_table_of_people_comes_back_at_a_huge_budget(options, off):
    table, people = rows_of()
    made = simulate(table, epsilon=HUGE, people=people, seed=1, **options)
    assert made.metrics["kway"][1]["total_variation"] < off
    assert made.certificate.plan.spec.rows_per_person == 0
    shared = 0.9 if "overlap" in options else 1.0
    assert abs(made.rows.record_count / (300 * shared) - 1) < 0.06


@pytest.mark.slow
def test_what_parties_know_of_a_person_is_paired():
    table, people = rows_of()
    made = simulate(table, epsilon=HUGE, people=people, grid="1x4", seed=1)
    found = made.fitted.model.marginal(("a", "b"))
    assert found.reshape(3, 2)[[0, 1, 2], [1, 0, 1]].sum() < 0.02 * found.sum()


@pytest.mark.slow
def test_the_noise_of_people_is_that_of_rows():
    table, people = rows_of()
    sigmas = {
        simulate(table, epsilon=CHEAP, mechanism="independent", grid="2x1", people=one, seed=1)
        .certificate.measurements[0]
        .sigma
        for one in (people, None)
    }
    assert len(sigmas) == 1


@pytest.mark.slow
def test_bins_are_chosen_from_people():
    rng = np.random.default_rng(2)
    domain = {"x": {"type": "numeric", "min": 0, "max": 100, "bins": "auto"}, "y": ["u", "v"]}
    frame = pd.DataFrame({"x": rng.exponential(20, 900).clip(0, 100), "y": rng.choice(["u", "v"], 900)})
    people = (np.arange(900) // 3).tolist()
    made = simulate(
        frame, domain=domain, epsilon=dpmosaic.Budget(zcdp_rho=5.0), people=people, grid="2x1", seed=1
    )
    assert made.bins is not None
    assert made.bins.plan.spec.rows_per_person == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"people": ["p"]}, "people: expected one for each row"),
        ({"people": [""] * 4}, "people: expected one for each row"),
        ({"people": list("pqpq"), "identifiers": list("pqpq")}, "identifiers: expected none beside people"),
        ({"people": list("pqpq"), "record_wise": True, "protocol": "indicator"}, "record_wise"),
        (
            {"people": list("pqpq"), "mechanism": "dp-select", "protocol": "trusted"},
            "only adds Gaussian noise",
        ),
        (
            {"people": list("pqpq"), "check": "one-hot", "grid": "1x2"},
            "check: .* proves that a row is one-hot",
        ),
        ({"people": list("pqpq"), "sample": 1, "grid": "1x2"}, "sample: expected all people"),
        ({"people": list("pqpq"), "protocol": "indicator", "grid": "1x2"}, "expected 'masked' for people"),
        ({"people": list("pqpq"), "grid": "3x1"}, "one slice per record"),
        ({"people": list("pqpq"), "grid": "1x2", "population": "anywhere", "shuffle": True}, "everywhere"),
    ],
)
def test_what_people_do_not_have_is_refused_before_anything_is_spent(options, named):
    table = rows_of()[0].rows(0, 4)
    with pytest.raises(DataError, match=named):
        simulate(table, epsilon=CHEAP, **options)


@pytest.mark.slow
def test_the_command_names_the_column_of_people(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from dpmosaic.command import app

    table, people = rows_of()
    lines = ["who,a,b,c,d"]
    for row, person in enumerate(people):
        lines.append(",".join([person, *(str(table.column(name)[row]) for name in DOMAIN.names)]))
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "domain.json").write_text(json.dumps({"a": 3, "b": 2, "c": 4, "d": 2}))
    monkeypatch.chdir(tmp_path)
    command = ["simulate", "visits.csv", "--domain", "domain.json", "--rho", "1", "--grid", "2x1"]
    command += ["--mechanism", "independent", "--key", "who"]
    done = CliRunner().invoke(app, [*command, "--out", "out"])
    assert done.exit_code == 0, done.output
    certificate = json.loads((tmp_path / "out/certificate.json").read_text())
    assert certificate["plan"]["record_counts"] == [150, 150]
    assert "person with all rows" in certificate["plan"]["privacy_unit"]
    refused = CliRunner().invoke(app, [*command, "--align-by", "who", "--out", "other"])
    assert "--align-by: expected none beside --key" in str(refused.exception)
