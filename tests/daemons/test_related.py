"""Releases of related tables by commands, over daemons of hospitals and of parties of some tables each."""

import contextlib
import hashlib
import json
import re
import shutil
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.federation.card import FederationList
from dpmosaic.common.privacy.conversion import zcdp_epsilon
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.people.release import load_people
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.accounts.rows import CERTIFIED
from dpmosaic.party.console.question import question_of
from support.edits import edited
from support.related import DOMAINS, patients
from support.related_network import APART, RELATIONS, WHOLE, network
from support.verifiers import failed_checks_of_people

pytestmark = pytest.mark.slow

RHO = 1e4


def check_ledgers(made, planned):
    """Every party charged each part once, and together what was planned."""
    for name in made.all_names:
        with contextlib.closing(Ledger(made.party(name) / "ledger.sqlite")) as ledger:
            entries = ledger.summaries()
        assert {entry.state for entry in entries} == {CERTIFIED}
        assert abs(float(sum(entry.spent for entry in entries)) / planned - 1) < 1e-6


@pytest.mark.parametrize("grid", [APART, "2x1"], ids=["apart", "hospitals"])
def test_related_tables_are_released_over_daemons_and_everybody_says_so(tmp_path, command, grid):
    real = patients(people=300)

    def in_epsilon(text):
        # Beside an alignment, whose noise is not Gaussian, epsilon is that of zCDP.
        return text.replace("rho = 10000.0", "epsilon = 10000.0\ndelta = 1e-6") if grid == APART else text

    made = network(tmp_path / "net", real, grid, plan=in_epsilon)
    out = tmp_path / "out"
    with made.running():
        assert "FIX" not in command("curator", "preflight", made.plan)
        planned = json.loads(command("curator", "release", made.plan, "--dry-run", "--json"))
        command("curator", "release", made.plan, "--out", out)
        if grid == APART:
            # The alignment is made now, so the first part is reviewed.
            assert "FIX" not in command("curator", "preflight", made.plan)
    release = load_people(out)
    assert set(release.tables) == set(DOMAINS)
    assert set(release.tables["stays"]["id"]) <= set(release.tables["patients"]["id"])
    assert abs(len(release.tables["patients"]) - 300) < 60
    assert abs(len(release.tables["stays"]) / len(real["stays"]) - 1) < 0.25
    found, wanted = (
        one["stays"]["ward"].value_counts(normalize=True).sort_index() for one in (release.tables, real)
    )
    assert np.abs(found - wanted).max() < 0.06
    certificate = json.loads((out / "certificate.json").read_text())
    assert "person with all rows in all tables" in certificate["privacy_unit"]
    assert [one["part"] for one in planned["parts"] if one["part"].startswith("records")] == [
        f"records {name}" for name in DOMAINS
    ]
    spent = sum(float(Fraction(one["zcdp_rho"])) for one in certificate["parts"])
    assert spent <= planned["zcdp_rho"] * (1 + 1e-9) <= RHO * (1 + 1e-6)
    check_ledgers(made, planned["zcdp_rho"])
    federation = tmp_path / "federation.json"
    command("curator", "federation", made.folder / "curator", "--out", federation)
    assert "FAILED" not in command("curator", "verify", out / "certificate.json", "--federation", federation)
    check_both_verify(out, FederationList.from_json(json.loads(federation.read_text())), grid == APART)
    said = command("query", out, "SELECT sex, COUNT(*) FROM patients GROUP BY sex")
    assert "(" in said
    found = evaluated(tmp_path, command, real, out)
    assert found["rows"]["patients"]["real"] == 300
    assert found["children"]["stays"]["orphans"] == 0
    assert found["children"]["stays"]["numbers"] < 0.1


PAIRS = '[["ward", "day"], ["ward", "patients.sex"]]'
SAID = '{ ever_a = { ward = ["a"] }, last_ward = { what = "last", column = "ward" } }'


@pytest.mark.parametrize(("protocol", "grid"), [("trusted", WHOLE), ("indicator", "2x1")])
def test_places_that_hold_whole_people_need_no_masks(tmp_path, command, protocol, grid):
    real = patients(people=120)

    def without_masks(text):
        text = re.sub("(collusions|dealers) = .*\n", "", text)
        said = {"[tables.stays]\n": f"[tables.stays]\nsummaries = {SAID}\nworkload = {PAIRS}\n"}
        return edited(text, said | {'protocol = "masked"': f'protocol = "{protocol}"'})

    made = network(
        tmp_path / "net",
        real,
        grid,
        plan=without_masks,
    )
    out = tmp_path / "out"
    with made.running():
        planned = json.loads(command("curator", "release", made.plan, "--dry-run", "--json"))
        command("curator", "release", made.plan, "--out", out)
    release = load_people(out)
    assert len(release.tables["patients"]) == 120
    asked = {one.clique for one in release.releases["stays"].certificate.plan.workload}
    assert {("ward", "day"), ("sex", "ward")} <= asked
    assert ("born", "ward") not in asked
    # People without stays are no records of stays, and those with few count in part.
    stays, people = (release.releases[name].model for name in ("stays", "patients"))
    numbers = real["stays"]["id"].value_counts() / release.family["stays"].evened
    assert abs(stays.marginal(("ward",)).sum() - np.minimum(1, numbers).sum()) < 5
    # Summaries that the plan names are columns of people, with which rows agree.
    ever = real["stays"]["id"][real["stays"]["ward"] == "a"].nunique()
    last = real["stays"].sort_values("day").groupby("id")["ward"].last().value_counts().sort_index()
    assert np.abs(people.marginal(("ever_a",)) - [120 - ever, ever]).max() < 5
    assert np.abs(people.marginal(("last_ward",)) - [*last, 120 - last.sum()]).max() < 5
    joined = release.tables["stays"].merge(release.tables["patients"], on="id")
    assert ((joined["ward"] == "a") <= joined["ever_a"]).all()
    check_ledgers(made, planned["zcdp_rho"])
    federation = CuratorHome.open(made.folder / "curator").federation()
    assert failed_checks_of_people(out, federation) == set()


STAYS = "stays, bins of columns and of numbers of rows"
RECORDS = "codes, records"


def check_both_verify(out, federation, aligned):
    """Both verifiers find the release as it is, and each false statement of it, by the same checks."""
    assert failed_checks_of_people(out, federation) == set()

    def found(change, part=None):
        copy = out.with_name("copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(out, copy)
        whole = json.loads((copy / "certificate.json").read_text())
        if part is None:
            change(whole)
        else:
            form = json.loads((copy / part).read_text())
            change(form)
            (copy / part).write_text(json.dumps(form))
            whole["outputs"][part] = hashlib.sha256((copy / part).read_bytes()).hexdigest()
        (copy / "certificate.json").write_text(json.dumps(whole))
        return failed_checks_of_people(copy, federation)

    def of_other_people(form):
        form.update(privacy_unit="One record is one row.")

    def of_another_table(form):
        form["parts"][-1]["table"] = "stays"

    def without_a_signature(form):
        form["signed"]["parties"][0]["signature"] = "00" * 64

    def with_damaged_terms(form):
        form["signed"]["terms"] = form["signed"]["terms"][:-2]

    assert found(of_other_people) == {"record"}
    assert found(lambda form: form.update(adjacency="replace-one")) == {"record"}
    assert "release" in found(of_another_table)
    assert found(without_a_signature, "choices/stays.json") == {f"{STAYS}: party party-1-1"}
    assert found(with_damaged_terms, "choices/stays.json") == {f"{STAYS}: form", "release"}
    assert f"{RECORDS}: form" in found(lambda form: form.pop("signed"), "records/codes/certificate.json")
    for place in range(len(json.loads((out / "certificate.json").read_text())["parts"])):
        check_a_part_is_missed(out, federation, place)
    stated = "epsilon" if aligned else "zcdp_rho"
    assert found(lambda form: form["budget"].update({stated: 1.0})) == {"promise"}
    if aligned:
        assert found(lambda form: form["parts"].pop(0)) == {"alignment", "costs"}
        assert found(lambda form: form["parts"][0].update(zcdp_rho="1/2")) == {"alignment", "costs"}


def check_a_part_is_missed(out, federation, place):
    """Without a part, its files and its cost, a release is found not to be whole, whichever part it is.

    What the part answered may be in the bins of others.
    """
    copy = out.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(out, copy)
    whole = json.loads((copy / "certificate.json").read_text())
    left_out = whole["parts"].pop(place)
    if not left_out["certificate"]:
        return
    gone = f"records/{left_out['table']}/" if left_out["of"] == "records" else f"choices/{left_out['table']}"
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        if path.relative_to(copy).as_posix().startswith(gone):
            path.unlink()
            whole["outputs"].pop(path.relative_to(copy).as_posix(), None)
    spent = sum(Fraction(one["zcdp_rho"]) for one in whole["parts"])
    whole["zcdp_rho_spent"] = str(spent)
    if whole["epsilon_spent"] is not None:
        whole["epsilon_spent"] = zcdp_epsilon(float(spent), whole["budget"]["delta"])
    (copy / "certificate.json").write_text(json.dumps(whole))
    assert failed_checks_of_people(copy, federation) == {"release"}


def evaluated(tmp_path, command, real, out):
    """What the command says of the release, whose tables lie in files of their names."""
    folder, relations = tmp_path / "real", tmp_path / "relations.toml"
    folder.mkdir()
    for name, rows in real.items():
        rows.to_csv(folder / f"{name}.csv", index=False)
    # A table without an entry lies in the file of its name, as that of people.
    relations.write_text('[stays]\nbelongs_to = {id = "patients"}\norder = "day"\n')
    page = tmp_path / "evaluation.html"
    said = command("evaluate", folder, out, "--relations", relations, "--report", page, "--json")
    assert "Not for publication" in page.read_text()
    return json.loads(said)


def refusal(tmp_path, command, policy=None, plan=None):
    made = network(tmp_path / "net", patients(people=40), WHOLE, policy=policy, plan=plan)
    with made.running():
        return command("curator", "release", made.plan, "--out", tmp_path / "out", fails=True)


@pytest.mark.parametrize(
    ("policy", "plan", "said"),
    [
        (('"stays", "codes"]', '"stays"]'), ("", ""), "of 'codes', and the policy does not allow that"),
        (
            ("max_release_rho = 1e6", "max_release_rho = 9e3"),
            ("", ""),
            "all parts of the release|max_release_rho",
        ),
        (("lifetime_rho = 1e9", "lifetime_rho = 9e3"), ("", ""), "left of lifetime_rho"),
        (('order = "day"\n', ""), ("", ""), "relates or orders 'stays' otherwise"),
    ],
)
def test_a_party_refuses_all_parts_before_the_first_is_charged(tmp_path, command, policy, plan, said):
    found = refusal(tmp_path, command, lambda name, text: text.replace(*policy), lambda text: text)
    assert any(one in found for one in said.split("|")), found
    party = tmp_path / "net/parties/party-1-1"
    with contextlib.closing(Ledger(party / "ledger.sqlite")) as ledger:
        assert not ledger.summaries()


def test_people_whom_a_party_does_not_list_do_not_count(tmp_path, command):
    real = patients(people=300)
    made = network(tmp_path / "net", real, APART, listed=False)
    out = tmp_path / "out"
    with made.running():
        command("curator", "release", made.plan, "--out", out)
    with_stays = real["stays"]["id"].nunique()
    assert abs(len(load_people(out).tables["patients"]) - with_stays) < 30


OF_WARDS = RELATIONS.replace("}\norder", ', ward = "wards" }\norder') + "\n[wards]\npublic = true\n"
CANARY = "somewhere-private"


def test_a_release_holds_a_public_table_and_nothing_of_a_row_that_refers_to_another(tmp_path, command):
    """Domains list the keys; a party has a row with another one, and leaves it out."""
    wards = pd.DataFrame({"ward": ["c", "b", "a"], "beds": [7, 20, 12]})

    def dropping(name, text):
        return text.replace('order = "day"', 'order = "day"\ndrop_incomplete = true')

    tables = patients(people=60) | {"wards": wards}
    made = network(tmp_path / "net", tables, APART, policy=dropping, relations=OF_WARDS)
    stays = made.party("party-1-2") / "stays.csv"
    assert "wards" not in {path.stem for path in stays.parent.iterdir()}
    with stays.open("a", encoding="utf-8") as file:
        row = {"stay": 10**6, "id": 1, "ward": CANARY, "day": "2020-02-02"}
        file.write(",".join(str(row[name]) for name in pd.read_csv(stays, nrows=0)) + "\n")
    out = tmp_path / "out"
    with made.running():
        said = command("curator", "preflight", made.plan)
        assert "FIX" not in said
        assert "public table wards: in the release as it is, and stays.ward refers to it" in said
        command("curator", "release", made.plan, "--out", out)
    release = load_people(out)
    assert release.tables["wards"].equals(wards)
    assert set(release.tables["stays"]["ward"]) <= set(wards["ward"])
    assert len(release.tables["stays"])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == [stays]


def test_who_approves_the_first_part_approves_all_of_what_it_says(tmp_path, command):
    made = network(
        tmp_path / "net",
        patients(people=60),
        WHOLE,
        policy=lambda name, text: text.replace("approval = false", "approval = true"),
    )
    party, out = made.party("party-1-1"), tmp_path / "out"
    with made.running():
        command("curator", "release", made.plan, "--out", out, fails=True)
        (waiting,) = json.loads(command("party", "releases", party, "--json"))
        shown = command("party", "show", party, waiting["release"]).replace("\n", " ")
        assert "all its parts cost up to rho" in " ".join(shown.split())
        assert "with all rows in all tables" in " ".join(shown.split())
        told = json.loads(command("party", "show", party, waiting["release"], "--json"))
        question = question_of(told, date(2026, 1, 1))
        command("party", "approve", party, "--yes", "--reason", "a trial")
        command("curator", "resume", out)
    decided = json.loads(command("party", "releases", party, "--json"))
    assert [one["decision"] for one in decided] == ["approved"] * 5
    with contextlib.closing(Ledger(party / "ledger.sqlite")) as ledger:
        spent = float(sum(entry.spent for entry in ledger.summaries()))
    # What is told before the first part is of all parts.
    assert question.cost == pytest.approx(spent, rel=1e-6)
    assert told["lifetime"]["rho"] - question.left == pytest.approx(spent, rel=1e-6)
    assert told["promise"]["zcdp_rho"] == pytest.approx(spent, rel=1e-6)
    assert question.columns == tuple(f"{name}.{column}" for name in DOMAINS for column in DOMAINS[name])
    assert "approval is one of all parts" in " ".join(question.tables)
    assert set(load_people(out).tables) == set(DOMAINS)


def test_who_decides_on_the_first_part_is_told_of_columns_of_others_that_nobody_reviewed(
    tmp_path, command, monkeypatch
):
    """The first part is about people, and the column is one of stays."""
    ward = {"type": "categorical", "categories": ["a", "b", "c"], "reviewed": False}
    monkeypatch.setitem(DOMAINS, "stays", DOMAINS["stays"] | {"ward": ward})

    def asking(name, text):
        return text.replace("approval = false", "approval = true")

    made = network(tmp_path / "net", patients(people=60), WHOLE, policy=asking)
    party = made.party("party-1-1")
    with made.running():
        command("curator", "release", made.plan, "--out", tmp_path / "out", fails=True)
        (waiting,) = json.loads(command("party", "releases", party, "--json"))
        told = json.loads(command("party", "show", party, waiting["release"], "--json"))
    assert told["related"]["table"] == "patients"
    assert told["unreviewed"] == ["stays.ward"]


@pytest.mark.parametrize("grid", [APART, "2x1"], ids=["apart", "hospitals"])
def test_preflight_says_which_party_orders_its_tables_otherwise(tmp_path, grid):
    def without_order(name, text):
        return text.replace('order = "day"\n', "") if name == "party-1-2" or grid != APART else text

    made = network(tmp_path / "net", patients(people=60), grid, policy=without_order)
    with made.running():
        done = CliRunner().invoke(app, ["curator", "preflight", str(made.plan)])
    wrong = [line for line in done.output.splitlines() if line.startswith("FIX")]
    assert done.exit_code == 1
    assert all("compare belongs_to and order" in line for line in wrong), done.output
    names = {line.split()[1].rstrip(":") for line in wrong}
    assert names == ({"party-1-2"} if grid == APART else {"party-1-1", "party-2-1"})
