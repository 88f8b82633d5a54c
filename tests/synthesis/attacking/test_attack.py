"""Attacks on honest releases and on releases that leak, by command and in Python.

An honest release raises an alarm with probability .05 at most; tests/soak/attacks.py counts alarms over many.
Here one release of each kind is attacked. A leak is missed with a probability below 1e-3.
"""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.curator.results.outputs import PEOPLE
from support.attacked import DOMAIN, LEAKS, attacked, people, released

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows():
    return people(0)


@pytest.fixture(scope="module")
def release(rows):
    return released(rows[0], seed=1)


@pytest.fixture(scope="module")
def found(rows, release):
    return release.attack(*rows)


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_a_planted_leak_is_found_by_its_attack(leak):
    assert LEAKS[leak] in attacked(leak, 0).alarms


def test_a_release_that_keeps_its_promise_raises_no_alarm(found):
    """Of a seeded release, so that it never does."""
    assert found.alarms == ()
    assert 0.75 * found.ceiling.mu < found.membership.mu_bound < found.ceiling.mu
    assert found.membership.epsilon_bound < found.ceiling.epsilon
    assert found.membership.by_rows.epsilon < found.ceiling.epsilon_of_replacing


def test_shares_of_the_budget_add_up_to_what_was_promised(found):
    assert sum(share for _, share in found.membership.gaps) == pytest.approx(1)
    assert all(share > -1e-9 for _, share in found.membership.gaps)


def test_the_gain_by_measurements_stays_below_what_one_record_can_change(found):
    """Of 2,000 rows, whose share has a deviation of about a point."""
    assert {one.name for one in found.inferred} == {"age", "income", "sex", "ward", "ill"}
    assert all(one.gain < found.ceiling.gain + 0.03 for one in found.inferred)


def test_without_rows_held_out_guesses_by_rows_are_left_out(rows, release):
    found = release.attack(rows[0])
    assert found.membership.by_rows is None
    assert found.copies.members is None
    assert "Membership, by the released rows alone" not in {one.name for one in found.findings}


def test_columns_that_a_first_step_learned_are_read_as_it_read_them(rows):
    found = released(rows[0], domain=None, anyway=True, seed=4).attack(rows[0])
    assert found.alarms == ()
    assert dict(found.membership.gaps)["the first step, whose counts are not published"] > 0.2


def test_under_replace_one_the_worst_two_records_are_searched_for(rows):
    found = released(rows[0], adjacency="replace-one", seed=4).attack(rows[0])
    assert found.membership.mu_of_a_record < found.membership.mu_of_the_worst < found.ceiling.mu


def test_a_release_over_parties_is_attacked_with_the_rows_of_all_of_them(rows, tmp_path):
    rows[0].to_csv(tmp_path / "real.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    real, made = str(tmp_path / "real.csv"), str(tmp_path / "release")
    options = ["--grid", "2x2", "--epsilon", "1", "--mechanism", "independent", "--seed", "1", "--out", made]
    done = CliRunner().invoke(app, ["simulate", real, "--domain", str(tmp_path / "domain.json"), *options])
    assert done.exit_code == 0, done.output
    found = dpmosaic.load(made).attack(real)
    assert found.alarms == ()
    assert 0 < found.membership.mu_bound < found.membership.mu_of_the_worst < found.ceiling.mu


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("column", ["sex", "income"])
def test_a_table_of_one_column_is_attacked_though_no_row_may_be_unique(column, adjacency):
    real, others = (table[[column]] for table in people(2))
    found = released(real, domain={column: DOMAIN[column]}, adjacency=adjacency, seed=2).attack(real, others)
    assert found.alarms == ()
    assert (found.copies.unique == 0) == (column == "sex")
    assert "<svg" in found._repr_html_()


def test_without_published_measurements_rows_and_costs_are_attacked(rows, release):
    found = dpmosaic.Release(replace(release.published, evidence=None)).attack(*rows)
    assert found.membership is None
    assert "Costs as charged" in {one.name for one in found.findings}
    assert "no published measurements" in found._repr_html_()


def test_other_rows_than_those_released_are_refused(rows, release):
    with pytest.raises(DataError, match="further from the published measurements than noise explains"):
        release.attack(rows[0].assign(sex="f"))


def test_a_table_of_a_few_rows_is_refused(rows, release):
    with pytest.raises(DataError, match="expected at least 10 rows"):
        release.attack(rows[0][:3])


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"rows_per_person": 2}, "of people with several rows"),
        ({"sample": 0.5}, "of a sample of the rows"),
    ],
)
def test_a_release_that_counts_other_than_each_row_is_refused(changed, why, rows, release):
    plan = release.certificate.plan
    certificate = replace(release.certificate, plan=replace(plan, spec=replace(plan.spec, **changed)))
    with pytest.raises(DataError, match=why):
        dpmosaic.Release(replace(release.published, certificate=certificate)).attack(rows[0])


def test_a_release_with_other_than_gaussian_noise_is_refused(rows, release):
    promise = replace(release.certificate.promise, composition={})
    certificate = replace(release.certificate, promise=promise)
    with pytest.raises(DataError, match="with other than Gaussian noise"):
        dpmosaic.Release(replace(release.published, certificate=certificate)).attack(rows[0])


def test_a_release_of_related_tables_is_refused(tmp_path):
    (tmp_path / PEOPLE).write_text("{}")
    done = CliRunner().invoke(app, ["attack", "real.csv", str(tmp_path)])
    assert "got one of related tables" in str(done.exception)


def test_the_command_writes_a_page_that_says_that_it_is_not_for_release(rows, release, tmp_path):
    release.save(tmp_path / "release")
    for name, table in zip(("real", "held"), rows, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    done = CliRunner().invoke(
        app,
        [
            "attack",
            *(str(tmp_path / name) for name in ("real.csv", "release")),
            *("--holdout", str(tmp_path / "held.csv"), "--report", str(tmp_path / "page.html"), "--json"),
        ],
    )
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    assert form["alarms"] == []
    assert "not for publication" in form["private"]
    page = (tmp_path / "page.html").read_text()
    assert "Not for publication" in page
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http-equiv", "")
    assert "not for publication" in (tmp_path / "page.html.NOT-FOR-RELEASE.txt").read_text()


def test_the_command_ends_with_status_1_if_a_leak_is_found(tmp_path):
    rows, _ = people(0)
    rows.to_csv(tmp_path / "real.csv", index=False)
    leak = next(iter(LEAKS))
    leak(rows).save(tmp_path / "release")
    done = CliRunner().invoke(app, ["attack", str(tmp_path / "real.csv"), str(tmp_path / "release")])
    assert done.exit_code == 1
    assert "ALARM" in done.stdout
