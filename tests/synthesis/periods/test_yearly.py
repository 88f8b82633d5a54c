"""Releases of the same people, period after period, under one promise."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.conversion import gaussian_epsilon
from dpmosaic.curator.dossier.card import data_card
from dpmosaic.curator.dossier.institution import Institution
from dpmosaic.curator.dossier.subject import Subject
from dpmosaic.curator.people.certificate import PeopleCertificate
from dpmosaic.curator.people.files import verify_people
from dpmosaic.curator.results.raw_frames import encode_frame
from dpmosaic.synthesis.ledgers.places import beside
from dpmosaic.synthesis.periods.making import PeriodMaking
from support.verifiers import NODE, SCRIPT, needs_node

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* releases share the promise, and each needs"),
    pytest.mark.filterwarnings("ignore:rows up to .* stay as they were published"),
]

DOMAIN = {
    "year": {"type": "numeric", "min": 2020, "max": 2031, "bins": 12, "integer": True},
    "sex": ["f", "m"],
    "job": ["work", "school", "none"],
    "pay": {"type": "numeric", "min": 0, "max": 9, "bins": 10, "integer": True},
}
ASKED = {
    "key": "id",
    "order": "year",
    "per_person": ["sex"],
    "domain": DOMAIN,
    "delta": 1e-6,
    "releases": 3,
    "progress": False,
}
YEARS = (2020, 2021, 2022)


def panel(people=600, years=YEARS, seed=0):
    """People who come in any year and go in any other; jobs persist, and who is at school earns nothing."""
    rng = np.random.default_rng(seed)
    first, last = rng.integers(0, len(years), people), rng.integers(1, len(years) + 2, people)
    job, sex = rng.integers(0, 3, people), rng.choice(["f", "m"], people)
    parts = []
    for place, year in enumerate(years):
        job = np.where(rng.random(people) < 0.1, rng.integers(0, 3, people), job)
        rows = {
            "id": np.arange(people) + 50_000,
            "year": year,
            "sex": sex,
            "job": np.array(["work", "school", "none"])[job],
            "pay": np.where(job == 1, 0, rng.integers(1, 10, people)),
        }
        parts.append(pd.DataFrame(rows)[(first <= place) & (place <= last)])
    return pd.concat(parts, ignore_index=True)


def release(data, year, out, before=None, epsilon=40.0, **others):
    asked = {"ledger": False, **ASKED, "until": year, "continues": before, "out": out, **others}
    return dpmosaic.synthesize(data, epsilon, **asked)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """Folders of three releases at a generous promise, and the table of which they are."""
    folder, data = tmp_path_factory.mktemp("yearly"), panel()
    before = None
    for year in YEARS:
        release(data, year, folder / str(year), before)
        before = folder / str(year)
    return folder, data


def table_of(folder, year):
    return pd.read_csv(folder / str(year) / "tables" / "rows.csv")


def certificate_of(folder, year):
    return PeopleCertificate.load(folder / str(year) / "certificate.json")


def test_rows_of_earlier_years_stay_byte_for_byte(chain):
    folder, _ = chain
    for before, after in ((2020, 2021), (2021, 2022)):
        one, other = ((folder / str(year) / "tables" / "rows.csv").read_bytes() for year in (before, after))
        assert len(other) > len(one)
        assert other.startswith(one)


def test_keys_in_a_form_that_is_stated_stay_from_year_to_year(tmp_path):
    domain = DOMAIN | {"id": {"type": "identifier", "pattern": "P-{:03d}"}}
    form = {"domain": domain, "mechanism": "independent"}
    data, before, tables = panel(), None, []
    for year in YEARS[:2]:
        tables.append(release(data, year, tmp_path / str(year), before, **form).table)
        before = tmp_path / str(year)
    one, other = ((tmp_path / str(year) / "tables" / "rows.csv").read_bytes() for year in YEARS[:2])
    assert other.startswith(one)
    assert dpmosaic.load_people(before).table.equals(tables[1])
    old, new = (set(table["id"]) for table in tables)
    assert old < new
    assert all(re.fullmatch(r"P-\d{3}", one) for one in new)
    with pytest.raises(DataError, match="expected"):
        release(data, YEARS[2], tmp_path / "other", before, mechanism="independent")


def test_apostrophes_for_spreadsheets_are_in_all_years_or_in_none(tmp_path):
    domain, file = DOMAIN | {"job": ["=work", "school", "none"]}, tmp_path / "panel.csv"
    rows = panel()
    rows.assign(job=rows["job"].replace("work", "=work")).to_csv(file, index=False)
    (tmp_path / "domain.json").write_text(json.dumps(domain))

    def released(year, *more):
        words = ["synthesize", file, "--key", "id", "--order", "year", "--per-person", "sex", "--releases", 3]
        words += ["--domain", tmp_path / "domain.json", "--until", year, "--out", tmp_path / str(year)]
        words += ["--epsilon", 40, "--mechanism", "independent", "--no-ledger", *more]
        return CliRunner().invoke(app, [*map(str, words)])

    assert released(YEARS[0], "--spreadsheet-safe").exit_code == 0
    assert released(YEARS[1], "--continues", tmp_path / str(YEARS[0])).exit_code == 0
    one, other = (tmp_path / str(year) / "tables" / "rows.csv" for year in YEARS[:2])
    assert other.read_bytes().startswith(one.read_bytes())
    lines = other.read_text().splitlines()[len(one.read_text().splitlines()) :]
    assert any(",'=work," in line for line in lines)
    assert not any(",=work," in line for line in lines)
    assert set(dpmosaic.load_people(other.parents[1]).table["job"]) == {"=work", "school", "none"}
    assert released(2020 + 9).exit_code == 0
    refused = released(2020 + 10, "--continues", tmp_path / "2029", "--spreadsheet-safe")
    assert "expected the choice of the release that is continued" in str(refused.exception)


def test_each_year_adds_its_rows_alone_about_one_of_a_person(chain):
    folder, _ = chain
    for place, year in enumerate(YEARS):
        rows = table_of(folder, year)
        assert sorted(rows.year.unique()) == list(YEARS[: place + 1])
        # In one of about thirty runs noise makes a bin of two rows, into which it puts a few people.
        assert rows.duplicated(["id", "year"]).mean() < 0.02


def test_a_person_keeps_what_is_the_same_in_all_rows(chain):
    folder, _ = chain
    assert (table_of(folder, 2022).groupby("id").sex.nunique() == 1).all()


def test_with_little_noise_people_come_go_stay_and_change_as_the_real_ones_do(chain):
    folder, real = chain
    made = table_of(folder, 2022)
    for year in YEARS[1:]:
        joined = [
            rows[rows.year == year].merge(rows[rows.year == year - 1], on="id", suffixes=("", "_before"))
            for rows in (real, made)
        ]
        # Of about 300 people: chance and noise move each of these by less than a tenth.
        for compared in (
            [len(one) / len(rows[rows.year == year]) for one, rows in zip(joined, (real, made), strict=True)],
            [(one.job == one.job_before).mean() for one in joined],
            [(one.pay[one.job == "school"] == 0).mean() for one in joined],
            [len(rows[rows.year == year]) / 600 for rows in (real, made)],
        ):
            assert compared[0] == pytest.approx(compared[1], abs=0.1)


def test_all_releases_together_promise_what_was_promised_by_the_closed_form(chain):
    folder, _ = chain
    granted = Budget(40.0, 1e-6).granted(gaussian_only=True)
    spent = Fraction(0)
    for number, year in enumerate(YEARS, 1):
        certificate = certificate_of(folder, year)
        own = sum((part.zcdp_rho for part in certificate.parts), Fraction(0))
        assert own <= granted / 3
        assert own > granted / 3 * Fraction(9, 10)
        spent += own
        assert certificate.zcdp_rho_spent == spent
        assert certificate.epsilon_spent == gaussian_epsilon(math.sqrt(2 * spent), 1e-6)
        assert (certificate.lifetime.number, certificate.lifetime.releases) == (number, 3)


def test_the_dossier_says_with_which_releases_the_promise_is_shared(chain):
    folder, _ = chain
    subject = Subject.load(folder / str(YEARS[1]))
    spent = certificate_of(folder, YEARS[1]).epsilon_spent
    assert f"This is number 2, with rows up to {YEARS[1]}" in subject.sharing
    assert f"spent epsilon {spent:.4g} together" in subject.sharing
    answers = [
        answer.text for section in data_card(subject, Institution()).sections for answer in section.answers
    ]
    assert subject.sharing in answers


def test_a_folder_is_verified_with_the_releases_that_it_continues(chain):
    folder, _ = chain
    for year in YEARS:
        checks = list(verify_people(folder / str(year)))
        assert all(one.passed for one in checks), checks
        assert ("earlier rows" in {one.what for one in checks}) == (year > 2020)


def changed(folder, year, edit):
    """What fails after a certificate was edited."""
    form = json.loads((folder / str(year) / "certificate.json").read_text())
    edit(form)
    (folder / str(year) / "certificate.json").write_text(json.dumps(form))
    return {one.what for one in verify_people(folder / str(year)) if not one.passed}


@needs_node
def test_the_second_verifier_says_the_same(chain, copied):
    def lines(folder):
        words = [NODE, SCRIPT, folder / "2022" / "certificate.json"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    assert "FAILED" not in lines(chain[0])
    assert "ok      earlier releases: 2 of 3 that share the promise" in lines(chain[0])
    changed(copied, 2022, lambda form: form["lifetime"].update(zcdp_rho_earlier="1/1000000"))
    assert "FAILED  earlier releases" in lines(copied)
    assert "FAILED  costs" in lines(copied)


@pytest.fixture
def copied(chain, tmp_path):
    shutil.copytree(chain[0] / "2022", tmp_path / "2022")
    return tmp_path


def test_verify_finds_a_cost_that_was_left_out(copied):
    def edit(form):
        form["lifetime"]["zcdp_rho_earlier"] = "1/1000000"

    assert changed(copied, 2022, edit) >= {"earlier releases", "costs"}


def test_verify_finds_rows_of_the_past_that_changed(copied):
    path = copied / "2022" / "tables" / "rows.csv"
    text = path.read_bytes()
    place = text.index(b"work")
    path.write_bytes(text[:place] + b"none" + text[place + 4 :])
    failed = {one.what for one in verify_people(copied / "2022") if not one.passed}
    assert failed == {"file tables/rows.csv", "earlier rows"}


def test_verify_finds_that_the_table_is_missing(copied):
    (copied / "2022" / "tables" / "rows.csv").unlink()
    failed = {one.what for one in verify_people(copied / "2022") if not one.passed}
    assert failed == {"file tables/rows.csv", "earlier rows"}


@pytest.mark.parametrize(
    "stated",
    [
        *({"table": name} for name in ("../secret", "/etc/hostname", "tables/../../secret", "", "other.csv")),
        {"table_bytes": -1},
    ],
)
def test_the_rows_of_before_are_read_from_a_published_file_alone(copied, stated):
    (copied / "secret").write_text("a key")
    path = copied / "2022" / "certificate.json"
    form = json.loads(path.read_text())
    form["lifetime"] |= stated
    path.write_text(json.dumps(form))
    for read in (dpmosaic.load_people, lambda folder: list(verify_people(folder))):
        with pytest.raises(DataError, match="the certificate is damaged"):
            read(copied / "2022")


def test_verify_finds_an_earlier_release_that_is_not_the_one_that_is_continued(copied):
    path = copied / "2022" / "earlier" / "1.json"
    form = json.loads(path.read_text())
    form["lifetime"]["until"] = "2019"
    path.write_text(json.dumps(form))
    failed = {one.what for one in verify_people(copied / "2022") if not one.passed}
    assert failed == {"file earlier/1.json", "earlier releases"}


REFUSED = {
    "another domain": ({"domain": {**DOMAIN, "sex": ["f", "m", "x"]}}, "the same"),
    "another number of people's columns": ({"per_person": []}, "the same"),
    "another key": ({"key": "other"}, "the same"),
    "another number of releases": ({"releases": 5}, "which state the promise"),
    "a year that was released": ({"until": 2022}, "until: expected a value"),
    "a year outside the domain": ({"until": 2040}, "until: expected a value"),
    "a text as a year": ({"until": "soon"}, "until: expected a value"),
    "a column that is computed": (
        {"domain": {**DOMAIN, "net": {**DOMAIN["pay"], "computed": "pay - 1"}}},
        "no column that is computed",
    ),
    "no order": ({"order": None}, "order and domain: expected both"),
    "no domain": ({"domain": None}, "order and domain: expected both"),
    "an order that is missing": ({"order": "month"}, "'month'"),
    "no releases": ({"releases": None}, "expected both"),
    "a folder of nothing": ({"continues": "nowhere"}, "nowhere"),
}


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
@pytest.mark.parametrize("named", REFUSED)
def test_what_does_not_fit_is_refused_before_anything_is_spent(chain, tmp_path, named):
    folder, data = chain
    others, said = REFUSED[named]
    path = tmp_path / "table.csv"
    data.assign(other=data.id).to_csv(path, index=False)
    asked = {"until": 2023, "continues": folder / "2022", "out": tmp_path / "out", **others}
    with pytest.raises(DataError, match=said):
        dpmosaic.synthesize(path, 40.0, **ASKED | asked)
    assert not beside(path).exists()
    assert not (tmp_path / "out" / "certificate.json").exists()


def test_related_tables_are_not_continued():
    with pytest.raises(DataError, match="related tables, which are not continued"):
        dpmosaic.synthesize({"a": panel(5)}, relations={}, releases=12, until=2020)


def test_another_promise_is_refused(chain, tmp_path):
    with pytest.raises(DataError, match="which state the promise"):
        release(chain[1], 2023, tmp_path, chain[0] / "2022", epsilon=200.0)


def test_more_releases_than_share_the_promise_are_refused(chain, tmp_path):
    with pytest.raises(BudgetError, match="expected at most 3 releases"):
        release(chain[1], 2023, tmp_path, chain[0] / "2022")


def test_a_changed_folder_is_not_continued(chain, tmp_path):
    shutil.copytree(chain[0] / "2022", tmp_path / "2022")
    with (tmp_path / "2022" / "tables" / "rows.csv").open("a") as file:
        file.write("1,2022,f,work,3\n")
    with pytest.raises(DataError, match="not the file that was certified"):
        release(chain[1], 2023, tmp_path / "out", tmp_path / "2022")


def test_the_ledger_of_a_table_counts_the_releases_that_a_new_one_continues(chain, tmp_path):
    folder, data = chain
    path = tmp_path / "panel.csv"
    data.to_csv(path, index=False)
    with pytest.warns(dpmosaic.BudgetWarning, match="3 releases together promise"):
        release(path, 2022, tmp_path / "out", folder / "2021", ledger=True)
    found = dpmosaic.budget(path)
    (together,) = found.together
    assert (together.releases, len(found.releases)) == (3, 3)
    share = Budget(40.0, 1e-6).granted(gaussian_only=True) / 3
    assert together.epsilon == pytest.approx(gaussian_epsilon(math.sqrt(2 * 3 * share), 1e-6))


def test_a_release_that_is_continued_twice_exceeds_what_is_shared_and_the_ledger_says_so(chain, tmp_path):
    folder, data = chain
    path = tmp_path / "panel.csv"
    data.to_csv(path, index=False)

    def warned_of(out, before):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            release(path, 2022, tmp_path / out, before, ledger=True)
        return [str(one.message) for one in found if "continued already" in str(one.message)]

    assert warned_of("one", folder / "2021") == []
    [said] = warned_of("other", folder / "2021")
    assert f"into {tmp_path / 'one'}" in said
    (together,) = dpmosaic.budget(path).together
    assert together.releases == 4
    # After another one it is continued for the first time.
    shutil.copytree(folder / "2020", tmp_path / "2020")
    assert warned_of("third", tmp_path / "2020") == []


def warned_before_anything_is_spent(data, year, out, before=None, **others):
    """The first warning of a release that stops there, without a charge and without a certificate."""
    path = out.parent / "warned.csv"
    data.to_csv(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dpmosaic.BudgetWarning)
        with pytest.raises(dpmosaic.BudgetWarning) as found:
            release(path, year, out, before, ledger=True, **others)
    assert not beside(path).exists()
    assert not (out / "certificate.json").exists()
    return str(found.value)


@pytest.mark.parametrize("people", [20, 600])
def test_a_first_release_says_how_many_people_each_period_needs_whatever_the_table_is(people, tmp_path):
    said = warned_before_anything_is_spent(panel(people), 2020, tmp_path / "out", epsilon=1.0, releases=12)
    deviation = 1 / math.sqrt(2 * Budget(1.0, 1e-6).granted(gaussian_only=True) / 12)
    (number,) = re.findall(r"each needs about (\d+) people", said)
    assert int(number) == pytest.approx(20 * deviation, rel=0.03)


def test_later_releases_say_what_happens_to_rows_that_came_late_or_were_corrected(chain, tmp_path):
    folder, data = chain
    said = warned_before_anything_is_spent(data, 2022, tmp_path / "out", folder / "2021")
    assert "rows up to 2021 stay as they were published" in said
    for year in YEARS:
        page = " ".join((folder / str(year) / "report.html").read_text().split())
        assert ("came late or were corrected since are not in it" in page) == (year > 2020)


def test_late_and_corrected_rows_change_nothing_that_was_published(chain, tmp_path):
    folder, data = chain
    late = data.copy()
    late.loc[late.year == 2020, "pay"] = 9
    late = pd.concat([late, late[late.year == 2020].assign(id=lambda rows: rows.id + 10_000)])
    release(late, 2022, tmp_path / "out", folder / "2021")
    before = (folder / "2021" / "tables" / "rows.csv").read_bytes()
    assert (tmp_path / "out" / "tables" / "rows.csv").read_bytes().startswith(before)


def test_the_period_before_is_expected_from_the_third_release_on(chain):
    folder, _ = chain
    for year in YEARS:
        for name in ("people", "rows"):
            form = json.loads((folder / str(year) / "records" / name / "certificate.json").read_text())
            assert bool(form["plan"].get("prior")) == (year == 2022)


def test_with_much_noise_a_year_is_expected_to_be_much_as_it_is(tmp_path, monkeypatch):
    """Where independent columns are .43 away, what is expected of job and pay is .06 to .1 away."""
    data, found, expectation = panel(2000, seed=1), {}, PeriodMaking._expectation

    def watched(self, name):
        found[name] = expectation(self, name)
        return found[name]

    monkeypatch.setattr(PeriodMaking, "_expectation", watched)
    before = None
    for year in YEARS:
        release(data, year, tmp_path / str(year), before, epsilon=2.0, seed=5)
        before = tmp_path / str(year)
    expected, real = found["rows"], encode_frame(Domain.from_json(DOMAIN), data[data.year == 2022])
    apart = (one.marginal(("job", "pay")) / one.total for one in (expected, real))
    assert np.abs(np.subtract(*apart)).sum() / 2 < 0.2


def test_dates_of_events_lie_in_their_year_and_the_command_says_the_same(tmp_path):
    rng = np.random.default_rng(3)
    of = np.sort(rng.integers(0, 300, 1500))
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 1096, 1500), unit="D")
    rows = pd.DataFrame({"id": of, "day": days.strftime("%Y-%m-%d"), "ward": rng.choice(list("abc"), 1500)})
    rows.to_csv(tmp_path / "stays.csv", index=False)
    domain = {
        "day": {"type": "date", "min": "2024-01-01", "max": "2026-12-31", "bins": 36},
        "ward": list("abc"),
    }
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    words = ["synthesize", tmp_path / "stays.csv", "--key", "id", "--order", "day", "--epsilon", "20"]
    words += ["--domain", tmp_path / "domain.json", "--releases", "3", "--no-ledger"]
    for year in (2024, 2025, 2026):
        more = ["--continues", tmp_path / str(year - 1)] if year > 2024 else []
        asked = [*words, "--until", f"{year}-12-31", "--out", tmp_path / str(year), *more]
        done = CliRunner().invoke(app, [str(word) for word in asked])
        assert done.exit_code == 0, done.output
        said = "stay as they were published" if more else "3 releases share the promise"
        assert said in " ".join(done.stderr.split())
    past = 0
    for year in (2024, 2025, 2026):
        rows = table_of(tmp_path, year)
        assert rows.day[past:].str.startswith(str(year)).all()
        assert 300 < len(rows) - past < 700
        past = len(rows)
    checked = CliRunner().invoke(app, ["curator", "verify", str(tmp_path / "2026" / "certificate.json")])
    assert checked.exit_code == 0, checked.output
