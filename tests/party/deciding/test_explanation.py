"""What an operator reads before deciding: the whole plan, and what it costs this party."""

import contextlib
import json
from dataclasses import replace

import pytest

from dpmosaic.common.about import About
from dpmosaic.common.crypto.certificates import fingerprint_text
from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import ApprovalPending, DataError, PolicyError, ProtocolError
from dpmosaic.common.labels import LabelSearch
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import ALL_ROWS
from dpmosaic.common.protocols.alignment.plan import ALIGNMENT, AlignmentPlan
from dpmosaic.common.protocols.chosen import Chosen
from dpmosaic.party.console.question import _unit
from dpmosaic.party.deciding.explanation import _bins
from dpmosaic.party.deciding.sentences import _bins_in_words, _protected_unit
from support.operators import CURATOR_IDENTITY, proposed
from support.terms import RELEASE_ID, id_of, terms_with

PROMISE = Budget(epsilon=1.0, delta=1e-9)


def requested(operator, **terms):
    """The explanation of a release that waits for the operator."""
    with (
        operator.serving() as (party, _),
        pytest.raises(PolicyError, match="waits for this party's operator"),
    ):
        proposed(party, operator.terms(**terms))
    return json.loads(operator.run("show", RELEASE_ID[:6], "--json"))


@pytest.mark.slow
def test_an_explanation_contains_the_whole_plan(operator):
    rho = float(PROMISE.granted(gaussian_only=True))
    form = requested(operator, rho=rho, budget=PROMISE, mechanism='{"name": "mst", "rounds": 3}')
    own = operator.home.keyring.identity.public.hex()
    assert form["release"] == RELEASE_ID
    assert form["state"] == "pending"
    assert form["curator"] == {"name": "cur", "identity": CURATOR_IDENTITY.public.hex(), "signed": True}
    assert form["protocol"]["name"] == "masked"
    assert form["adjacency"] == "zero-out"
    assert form["promise"] == {"epsilon": 1.0, "delta": 1e-9, "zcdp_rho": None}
    assert form["rows_per_person"] == 1
    assert form["charge"]["zcdp_rho"] == rho
    assert form["charge"]["epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert form["attributes"] == {"a": 3, "b": 2}
    assert form["records"] == 150
    assert [(p["name"], p["slice"], p["attributes"], p["records"]) for p in form["parties"]] == [
        ("clinic", 1, ["a"], 150),
        ("other", 1, ["b"], 150),
    ]
    assert [(p["this_party"], p["pinned"]) for p in form["parties"]] == [(True, True), (False, True)]
    assert form["parties"][0]["identity"] == own
    assert form["workload"]["words"] == "1 pair"
    assert form["mechanism"] == {"name": "mst", "rounds": 3}
    assert form["masked"] == {
        "tolerated": 1,
        "others": 1,
        "may_drop_out": 0,
        "parties": 2,
        "dealers": ["curator"],
        "evaluators": ["curator", "clinic", "other"],
        "this_party_evaluates": True,
        "sample": 0,
    }
    labels = {"labels_delta": 1e-10, "left_labels_delta": 1e-10}
    assert form["lifetime"] == {"rho": 2.0, "left_rho": 2.0 - rho, **labels}
    assert form["refused_by_policy"] is None
    assert form["ledger"] is None
    assert form["decisions"] == []


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_an_explanation_says_that_further_rows_of_a_person_are_left_out_and_not_how_many(operator, most):
    assert requested(operator)["rows_used"] is None
    assert "uses the first" not in operator.run("show", RELEASE_ID[:6])
    policy = operator.home.folder / "policy.toml"
    keyed = (
        policy.read_text().replace('"rows.csv"', '"rows.csv"\nkey = "id"').replace('order = "guaranteed"', "")
    )
    policy.write_text(keyed.replace("[policy]", f"[policy]\nmax_rows_per_person = {most}"))
    first = "row" if most == 1 else "2 rows"
    assert f"uses the first {first}, since its policy says so" in operator.run("show", RELEASE_ID[:6])


@pytest.mark.slow
def test_an_approval_needs_a_purpose_of_the_curator_or_a_reason_of_its_own(operator):
    requested(operator)
    for reason in ((), ("--reason", " ")):
        with pytest.raises(DataError, match="the curator states no purpose; ask what the release is for"):
            operator.run("approve", RELEASE_ID, "--yes", *reason)
    assert json.loads(operator.run("show", RELEASE_ID, "--json"))["state"] == "pending"
    operator.run("approve", RELEASE_ID, "--yes", "--reason", "waiting times, by telephone")
    (decision,) = json.loads(operator.run("show", RELEASE_ID, "--json"))["decisions"]
    assert (decision["verdict"], decision["reason"]) == ("approved", "waiting times, by telephone")


def test_an_explanation_names_attributes_whose_domain_nobody_has_reviewed(operator):
    folder = operator.home.folder
    (folder / "domain.json").write_text('{"a": {"type": "codes", "n": 3, "reviewed": false}}')
    policy = (folder / "policy.toml").read_text()
    (folder / "policy.toml").write_text(policy + "allow_unreviewed = true\n")
    assert requested(operator, unreviewed=("a",))["unreviewed"] == ["a"]
    (line,) = [line for line in operator.run("show", RELEASE_ID).splitlines() if "NOT REVIEWED" in line]
    assert line.split()[0] == "domain"


def test_an_explanation_says_which_texts_are_stated_and_what_they_take_of_delta(operator):
    budget = Budget(epsilon=1.0, delta=1e-9)
    rho = float(budget.without_delta(1e-10).granted(gaussian_only=True))
    form = requested(operator, rho=rho, budget=budget, labels=LabelSearch(("b",), 1e-10))
    assert form["labels"] == {"attributes": ["b"], "of_this_party": [], "delta": 1e-10}
    assert form["charge"]["epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert form["charge"]["delta"] == pytest.approx(9e-10)
    lines = " ".join(operator.run("show", RELEASE_ID).split())
    assert (
        "labels states the frequent texts of b (of this party: none); a text that one person alone has is "
        "stated with probability at most 1e-10, a part of delta" in lines
    )


def test_an_explanation_is_also_in_plain_sentences(operator):
    requested(operator, mechanism='{"name": "mst", "rounds": 3}')
    lines = [" ".join(line.split()) for line in operator.run("show", RELEASE_ID).splitlines()]
    for sentence in (
        f"curator cur, pinned here, identity {fingerprint_text(CURATOR_IDENTITY.public.hex())}",
        "table 150 records, attributes a (3 values), b (2 values)",
        "slice 1 clinic (this party) holds a of 150 records",
        "slice 1 other (pinned here) holds b of 150 records",
        "workload 1 pair",
        "mechanism mst, rounds = 3",
        "promise rho 0.02 for each record, which is one row of one slice",
        "charge up to rho 0.02 at this party, which is epsilon 1.10405 at delta 1e-09",
        "collusions 1 of the 1 other parties may collude without weakening the promise",
        "dealers the curator, trusted to deal as written and not to collude with a party; for trials",
        "evaluators curator, clinic, other, of whom any two together could see every scored marginal; this "
        "party is one of them",
        "purpose NOT STATED; ask the curator what the release is for",
        "contact not stated",
        "dates asked on a day that is not stated",
        "left rho 1.98 of lifetime_rho 2 after this release, 99%",
        "policy allows it",
    ):
        assert sentence in lines


def test_an_operator_reads_why_who_answers_until_when_and_how_much_at_once(operator):
    about = About("waiting times", "data-office@example.org", "2026-05-01", "2999-12-31")
    terms = operator.terms()
    terms = terms_with(terms, about=about, max_cells=100)
    with operator.serving() as (party, _), pytest.raises(ApprovalPending):
        proposed(party, terms)
    lines = [" ".join(line.split()) for line in operator.run("show", RELEASE_ID).splitlines()]
    for sentence in (
        "purpose waiting times",
        "contact data-office@example.org",
        "dates asked on 2026-05-01; it can be accepted until 2999-12-31",
        "largest no marginal of more than 100 cells is measured",
    ):
        assert sentence in lines
    (listed,) = json.loads(operator.run("releases", "--json"))
    assert (listed["purpose"], listed["curator"], listed["decision"]) == ("waiting times", "cur", "pending")


def test_a_release_is_refused_after_its_last_day_and_on_a_larger_limit_of_cells(operator):
    terms = operator.terms()
    late = terms_with(terms, about=About(until="2026-01-01"))
    large = terms_with(terms, max_cells=101)
    with operator.serving() as (party, _):
        with pytest.raises(PolicyError, match="could be accepted until 2026-01-01"):
            proposed(party, late)
        with pytest.raises(PolicyError, match="more cells than max_cells"):
            proposed(party, large)
    assert json.loads(operator.run("releases", "--json")) == []


@pytest.mark.slow
def test_what_is_left_counts_every_accepted_release(operator):
    for number in (1, 2):
        with operator.serving() as (party, _):
            with pytest.raises(PolicyError):
                proposed(party, operator.alone(id_of(number)))
            operator.run("approve", id_of(number), "--yes", "--reason", "a trial")
            proposed(party, operator.alone(id_of(number)))
    assert requested(operator)["lifetime"]["left_rho"] == pytest.approx(0.98)
    form = json.loads(operator.run("show", id_of(1), "--json"))
    assert form["lifetime"]["left_rho"] == 1.0
    assert form["ledger"] == {"spent_rho": 0.0, "queries": 0, "state": "open"}


def test_a_policy_that_was_narrowed_since_the_request_is_shown_to_refuse(operator):
    requested(operator)
    path = operator.home.folder / "policy.toml"
    path.write_text(path.read_text().replace("max_release_rho = 0.5", "max_release_rho = 0.01"))
    assert "REFUSES it: the release requests more than max_release_rho" in operator.run("show", RELEASE_ID)


def test_a_curator_that_is_not_pinned_any_more_is_shown_as_such(operator):
    requested(operator)
    operator.home.revoke("cur")
    output = operator.run("show", RELEASE_ID)
    assert "NOT PINNED here any more" in output
    assert "other (NOT PINNED here)" in output


@pytest.mark.slow
def test_approving_shows_the_release_and_asks(operator):
    requested(operator)
    output = operator.run("approve", RELEASE_ID, "--reason", "a trial", typed="n\n")
    assert "1 pair" in output
    assert "Approve this release?" in output
    assert json.loads(operator.run("show", RELEASE_ID, "--json"))["state"] == "pending"
    operator.run("approve", RELEASE_ID, "--reason", "a trial", typed="y\n")
    assert json.loads(operator.run("show", RELEASE_ID, "--json"))["state"] == "approved"


def test_an_operator_reads_that_a_release_chooses_bins(operator):
    requested(operator, mechanism='{"name": "bins", "variant": "default"}')
    assert "to choose the bins of a release that will follow" in operator.run("show", RELEASE_ID)


def test_an_operator_reads_which_release_chose_the_bins_and_for_how_much(operator):
    chosen = Chosen(id_of("before"), "c" * 64, 0.001, Coding({"a": (0, 2)}))
    terms = operator.terms()
    terms = replace(
        terms, plan=replace(terms.plan, domain=Domain.coded({"a": 2, operator.rest: 2}), chosen=chosen)
    )
    with (
        operator.serving() as (party, _),
        pytest.raises(ProtocolError, match="do not fit this party"),
    ):
        proposed(party, terms)
    assert _bins(terms)["attributes"] == ["a"]
    said = _bins_in_words(_bins(terms))
    assert f"as the release {id_of('before')} chose them, for up to rho 0.001" in said


def test_a_release_of_another_protocol_has_no_masked_part(operator):
    with operator.serving() as (party, _), pytest.raises(PolicyError):
        proposed(party, operator.alone())
    form = json.loads(operator.run("show", RELEASE_ID, "--json"))
    assert form["masked"] is None
    assert form["mechanism"] == {"name": "mst"}


@pytest.mark.slow
@pytest.mark.parametrize("text", ["mst", "[" * 100_000, '"mst"', "9" * 5000])
def test_a_mechanism_in_any_text_is_shown(operator, text):
    requested(operator, mechanism=text)
    shown_text = operator.run("show", RELEASE_ID).replace("\n", "").replace(" ", "")
    assert text.strip('"')[:200] in shown_text


def test_a_plan_that_the_policy_on_records_no_longer_allows_is_shown_to_be_refused(operator):
    requested(operator)
    path = operator.home.folder / "policy.toml"
    path.write_text(path.read_text().replace('same_as = ["other"]', "same_as = []"))
    assert "REFUSES it: the plan puts 'other' into the slice of this party" in operator.run(
        "show", RELEASE_ID
    )


def test_the_rows_of_a_person_that_the_promise_covers_are_named(operator):
    terms = operator.terms()
    terms = terms_with(terms, rows_per_person=3)
    with operator.serving() as (party, _), pytest.raises(PolicyError, match="key column"):
        proposed(party, terms)
    with (
        contextlib.closing(operator.home.approvals()) as approvals,
        pytest.raises(PolicyError, match="waits"),
    ):
        approvals.check(terms, CURATOR_IDENTITY.public, b"")
    output = operator.run("show", RELEASE_ID)
    assert "for each person with up to 3 rows of one slice" in output
    assert "does NOT verify: deny this release" in output


def test_a_promise_for_people_with_all_rows_is_named_for_those_who_decide():
    assert (
        _protected_unit({"rows_per_person": ALL_ROWS, "related": None})
        == "each person with all rows of one slice, whatever their number"
    )
    assert _unit(ALL_ROWS) == "one person with all rows"


def aligning(operator, **plan):
    """Lets the operator's party be asked to align its rows, by its own key column; the terms."""
    home, terms = operator.home.folder, operator.terms(rho=0.125)
    rows = "".join(f"{number},{number % 3}\n" for number in range(150))
    (home / "rows.csv").write_text(f"id,a\n{rows}")
    policy = (home / "policy.toml").read_text().replace('order = "guaranteed"', "")
    policy = policy.replace("[records]", 'key = "id"\n[records]')
    policy += "max_alignment_rho = 0.125\nmax_match_keys = 2\n"
    (home / "policy.toml").write_text(policy)
    roster = tuple(replace(entry, record_count=0) for entry in terms.plan.roster)
    return terms_with(terms, protocol=ALIGNMENT, plan=AlignmentPlan(terms.plan.domain, roster, **plan))


@pytest.mark.slow
def test_an_alignment_is_explained_by_what_it_compares_and_what_each_side_learns(operator):
    terms = aligning(operator, match=(("key:exact",), ("key:digits",)))
    with operator.serving() as (party, _), pytest.raises(PolicyError, match="waits for"):
        proposed(party, terms)
    form = json.loads(operator.run("show", RELEASE_ID, "--json"))
    assert form["alignment"] == {
        "with": ["other"],
        "match": [["key:exact"], ["key:digits"]],
        "keying": "hmac",
        "duplicates": "first",
        "across_slices": "",
        "sigma": pytest.approx(2.0),
    }
    # Of zCDP alone; as Gaussian noise it would be 2.91.
    assert form["charge"]["epsilon"] == pytest.approx(3.05812, rel=1e-5)
    assert form["refused_by_policy"] is None
    lines = [" ".join(line.split()) for line in operator.run("show", RELEASE_ID).splitlines()]
    for sentence in (
        "table attributes a (3 values), b (2 values)",
        "slice 1 clinic (this party) holds a",
        "alignment gives every person one position in the rows of this party and of other",
        "match rows are of one person if they are equal in key:exact; else key:digits",
        "duplicates of several rows of one person, this party uses the first",
        "keying identifiers are hidden from the curator under one key that the parties share",
        "trusted the curator, to match tokens as written and not to collude with a party",
        "learnt the curator and the other parties learn how many people are in which parties, up to noise of "
        "standard deviation 2 or more, and nobody learns who",
        "with several match keys the curator also sees how many rows agree in which of them",
        "policy allows it",
    ):
        assert sentence in lines
