"""A request in plain words: who asks for what, what it costs, what is left, and what speaks against it."""

import copy
from datetime import date

import pytest

from dpmosaic.party.console.question import question_of
from dpmosaic.party.deciding.desk import Desk
from support.consoles import ABOUT, WAITING, ask
from support.operators import Operator

TODAY = date(2026, 11, 23)


@pytest.fixture(scope="module")
def form(tmp_path_factory):
    """A request as `explain` returns it."""
    operator = Operator(tmp_path_factory.mktemp("question"))
    ask(operator, WAITING)
    with Desk.opened(operator.home.folder) as desk:
        return desk.explain(WAITING)


def asked(form, today=TODAY, **changes):
    changed = copy.deepcopy(form)
    for path, value in changes.items():
        *above, last = path.split("__")
        place = changed
        for key in above:
            place = place[key]
        place[last] = value
    return question_of(changed, today)


def test_a_question_says_who_asks_for_what_what_it_costs_and_what_is_left(form):
    question = asked(form)
    assert (question.curator, question.purpose, question.contact) == ("cur", ABOUT.purpose, ABOUT.contact)
    assert (question.asked, question.until) == (ABOUT.asked, ABOUT.until)
    assert question.columns == ("a",)
    assert question.others == (("other", ("b",)),)
    assert question.left == 2.0 - question.cost
    # (e + delta) / (1 + e): Wasserman and Zhou 2010.
    assert question.guess == pytest.approx(0.73106, abs=1e-5)
    assert "blanked out" in question.guessed
    assert question.warnings == ()
    assert (question.status, question.can_approve, question.can_deny) == ("waiting", True, True)


def test_a_promise_in_rho_is_put_into_words_by_what_the_party_is_charged(form):
    question = asked(form, promise__epsilon=None, promise__delta=None, charge__epsilon=2.0)
    assert question.guess == pytest.approx(0.8808, abs=1e-4)


@pytest.mark.parametrize(
    ("adjacency", "words"),
    [("zero-out", "blanked out"), ("replace-one", "which of two"), ("add-remove", "in your table at all")],
)
def test_what_is_guessed_depends_on_the_adjacency(form, adjacency, words):
    assert words in asked(form, adjacency=adjacency).guessed


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"curator__signed": False}, "Deny this release"),
        ({"curator__name": None}, "not one that your institution trusts"),
        ({"refused_by_policy": "the policy does not"}, "refuses this release, also after an approval"),
        ({"lifetime__left_rho": -0.1}, "more than is left"),
        ({"about__until": "2026-11-22"}, "last day has passed"),
        ({"unreviewed": ["age"]}, "age"),
        ({"about__purpose": ""}, "does not state what it is for"),
    ],
)
def test_everything_that_speaks_against_a_release_is_a_warning(form, changes, words):
    (warning,) = asked(form, **changes).warnings
    assert words in warning


def test_the_last_day_itself_is_in_time_and_a_running_release_has_no_last_day(form):
    assert asked(form, about__until="2026-11-23").warnings == ()
    running = {"state": "open", "spent_rho": 0.01, "queries": 1}
    assert asked(form, about__until="2026-11-22", ledger=running, state="approved").warnings == ()


def test_a_stranger_and_a_decision_that_is_not_signed_are_warnings(form):
    strange = copy.deepcopy(form)
    strange["parties"][1]["pinned"] = False
    strange["decisions"] = [{"signed_by_this_party": False}]
    first, second = question_of(strange, TODAY).warnings
    assert "not pinned these parties: other" in first
    assert "altered" in second


@pytest.mark.parametrize(
    ("decided", "ledger", "status", "can"),
    [
        ("pending", None, "waiting", (True, True)),
        ("approved", None, "approved", (False, True)),
        ("approved", "open", "running", (False, True)),
        ("approved", "certified", "finished", (False, False)),
        ("approved", "abandoned", "stopped", (False, False)),
        ("denied", None, "denied", (True, False)),
        ("denied", "abandoned", "ended", (False, False)),
    ],
)
def test_only_decisions_that_change_something_are_offered(form, decided, ledger, status, can):
    entry = None if ledger is None else {"state": ledger, "spent_rho": 0.0, "queries": 0}
    question = asked(form, state=decided, ledger=entry)
    assert (question.status, (question.can_approve, question.can_deny)) == (status, can)


def test_whom_to_trust_is_said_for_every_kind_of_dealing(form):
    def told(**masked):
        return " ".join(asked(form, **{f"masked__{name}": value for name, value in masked.items()}).trusted)

    assert "meant for trials" in told(dealers=["curator"])
    assert "north deals" in told(dealers=["north"])
    assert "No two of a, b, c" in told(dealers=["a", "b", "c"])
    assert "At most 1 of the 3 other parties" in told(tolerated=1, others=3)
    assert "may all work together" in told(tolerated=3, others=3)


def test_what_is_measured_says_its_limits(form):
    def told(**changes):
        return " ".join(asked(form, **changes).tables)

    assert "1 pair" in told()
    assert "5,000 rows of the largest slice" in told(masked__sample=5000)
    assert "more than 1,000 cells" in told(max_cells=1000)
    labels = {"attributes": ["job", "b"], "of_this_party": ["job"], "delta": 1e-10}
    assert "of these columns of yours are stated as they are: job." in told(labels=labels)


def test_an_alignment_releases_no_table(form):
    plan = {"match": [["surname", "born"], ["id"]], "with": ["other"]}
    question = asked(form, alignment=plan, masked=None)
    assert question.aligns
    assert question.records is None
    (computed,) = question.tables
    assert "surname and born; else id" in computed
