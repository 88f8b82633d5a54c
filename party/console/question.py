"""One requested release in words for somebody who decides on it and never worked in a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from ...common.privacy.conversion import best_guess
from ...common.privacy.cost import ALL_ROWS, ROWS_PER_PERSON, Adjacency
from ...common.protocols.masked.dealers import CURATOR_DEALS, REPLICATED
from ..accounts.rows import ABANDONED, CERTIFIED, OPEN
from ..approving.decisions import APPROVED, DENIED, PENDING

_GUESSED = {
    Adjacency.ZERO_OUT: "whether the record of one given person is in your table or was blanked out",
    Adjacency.REPLACE_ONE: "which of two possible records one given person has in your table",
    Adjacency.ADD_REMOVE: "whether one given person is in your table at all",
}


@dataclass(frozen=True)
class Question:
    """What a decision is about.

    Attributes:
        release_id: id of the release.
        status: what became of it so far: "waiting", "approved", "running", "finished", "stopped", "denied",
            or "ended" if it was running when it was denied.
        warnings: what speaks against it, as sentences.
        curator: name of the pinned curator that asks; empty if it is not pinned any more.
        purpose: what it is for; empty if it is not stated.
        contact: who answers questions; empty if it is not stated.
        asked: day on which the parties were asked; empty if it is not stated.
        until: last day on which it can be accepted; empty for none.
        aligns: whether it aligns rows, and releases no table.
        columns: this institution's columns that it uses.
        others: for each other party its name and its columns.
        records: number of records of the whole table; None if it is not public.
        tables: which tables of counts it measures, in words.
        learnt: who sees what, as sentences.
        trusted: what has to hold for that, as sentences.
        cost: what it may cost, zCDP.
        left: what would be left of the lifetime budget after it, zCDP.
        guess: chance of a right guess about one person, at most, from even odds.
        guessed: what is guessed.
        unit: what counts as one person's data.
        epsilon: epsilon of the promise, or what its cost amounts to.
        delta: delta of the promise.
        spent: what it has spent so far, zCDP.
    """

    release_id: str
    status: str
    warnings: tuple[str, ...]
    curator: str
    purpose: str
    contact: str
    asked: str
    until: str
    aligns: bool
    columns: tuple[str, ...]
    others: tuple[tuple[str, tuple[str, ...]], ...]
    records: int | None
    tables: tuple[str, ...]
    learnt: tuple[str, ...]
    trusted: tuple[str, ...]
    cost: float
    left: float
    guess: float
    guessed: str
    unit: str
    epsilon: float
    delta: float
    spent: float

    @property
    def can_approve(self) -> bool:
        """Whether an approval would change anything."""
        return self.status in ("waiting", "denied")

    @property
    def can_deny(self) -> bool:
        """Whether a denial would change anything."""
        return self.status in ("waiting", "approved", "running")


def question_of(form: dict[str, Any], today: date) -> Question:
    """The question that a request asks.

    Args:
        form: the request, as `explain` returns it.
        today: the day in UTC.
    """
    about, charge, aligning = form["about"], form["charge"], form["alignment"]
    epsilon, delta = form["promise"]["epsilon"], form["promise"]["delta"]
    if epsilon is None:
        epsilon, delta = charge["epsilon"], charge["delta"]
    return Question(
        release_id=form["release"],
        status=_status(form),
        warnings=tuple(_warnings(form, today)),
        curator=form["curator"]["name"] or "",
        purpose=about["purpose"],
        contact=about["contact"],
        asked=about["asked"],
        until=about["until"],
        aligns=aligning is not None,
        columns=tuple(_columns(form)),
        others=tuple(
            (one["name"], tuple(one["attributes"])) for one in form["parties"] if not one["this_party"]
        ),
        records=None if aligning is not None else form["records"],
        tables=tuple(_tables(form)),
        learnt=tuple(_learnt(form)),
        trusted=tuple(_trust_sentences(form)),
        cost=charge["zcdp_rho"],
        left=form["lifetime"]["left_rho"],
        guess=best_guess(epsilon, delta),
        guessed=_GUESSED[Adjacency.named(form["adjacency"])],
        unit=_unit(form[ROWS_PER_PERSON]),
        epsilon=epsilon,
        delta=delta,
        spent=0.0 if form["ledger"] is None else form["ledger"]["spent_rho"],
    )


def _columns(form: dict[str, Any]) -> list[str]:
    """This institution's columns; of a part of a release of related tables, those that any part may use."""
    if form["related"] is not None:
        return list(form["related"]["columns"])
    return [name for one in form["parties"] if one["this_party"] for name in one["attributes"]]


def _status(form: dict[str, Any]) -> str:
    state = None if form["ledger"] is None else form["ledger"]["state"]
    if form["state"] == DENIED:
        return "denied" if state is None else "ended"
    if state is not None:
        return {OPEN: "running", CERTIFIED: "finished", ABANDONED: "stopped"}[state]
    return {PENDING: "waiting", APPROVED: "approved"}[form["state"]]


def _warnings(form: dict[str, Any], today: date) -> list[str]:
    found = []
    if not form["curator"]["signed"]:
        found.append("The signature of the curator does not fit what is asked. Deny this release.")
    if form["curator"]["name"] is None:
        found.append("The curator that asks is not one that your institution trusts any more.")
    if form["refused_by_policy"]:
        found.append(
            "The policy of your institution refuses this release, also after an approval: "
            f"{form['refused_by_policy']}."
        )
    if form["lifetime"]["left_rho"] < 0:
        found.append("It may cost more than is left of your institution's budget.")
    until = form["about"]["until"]
    if until and form["ledger"] is None and today > date.fromisoformat(until):
        found.append("Its last day has passed; an approval has no effect any more.")
    if form["unreviewed"]:
        found.append(
            "Nobody has reviewed the possible values of these columns, which were read from your rows: "
            f"{', '.join(form['unreviewed'])}."
        )
    if not form["about"]["purpose"]:
        found.append("The curator does not state what it is for. Ask before you decide.")
    strangers = [one["name"] for one in form["parties"] if not (one["this_party"] or one["pinned"])]
    if strangers:
        found.append(f"Your institution has not pinned these parties: {', '.join(strangers)}.")
    if any(not decision["signed_by_this_party"] for decision in form["decisions"]):
        found.append("A stored decision is not signed by your institution: somebody altered the file.")
    return found


def _tables(form: dict[str, Any]) -> list[str]:
    if form["alignment"] is not None:
        keys = "; else ".join(" and ".join(key) for key in form["alignment"]["match"])
        return [f"No table is released. Rows are taken to be of one person if they agree in {keys}."]
    found = [f"Counts of how often values occur together, to keep {form['workload']['words']}."]
    if form["related"] is not None:
        names = ", ".join(one["name"] for one in form["related"]["tables"])
        found.append(
            f"This is one part of a release of the related tables {names}. An approval is one of all parts "
            "that follow: they may use all columns of your tables among these, and what they cost is "
            "counted above."
        )
    if form.get("max_attributes") is not None:
        found.append(f"No table of counts is of more than {form['max_attributes']} columns together.")
    if form["max_cells"] is not None:
        found.append(f"No table of counts has more than {form['max_cells']:,} cells.")
    if form["masked"] is not None and form["masked"]["sample"]:
        rows = f"{form['masked']['sample']:,} rows of the largest slice"
        found.append(f"Tables over columns of several parties are counted on {rows}, drawn at random.")
    if form["labels"] is not None and form["labels"]["of_this_party"]:
        names = ", ".join(form["labels"]["of_this_party"])
        found.append(f"Frequent texts of these columns of yours are stated as they are: {names}.")
    found.append("Random noise is added to every count before anybody outside sees it.")
    return found


def _learnt(form: dict[str, Any]) -> list[str]:
    masked, aligning = form["masked"], form["alignment"]
    if aligning is not None:
        return [
            "The curator and the other parties learn, up to noise, how many people are in which parties. "
            "Nobody learns who."
        ]
    found = []
    if masked is not None:
        found = [
            "No other institution and no curator sees your rows or exact counts, if the software of all "
            "follows the protocol and if what is said below holds."
        ]
    return [*found, "The synthetic table and what is computed from it may be passed on to anybody."]


def _trust_sentences(form: dict[str, Any]) -> list[str]:
    masked = form["masked"]
    if masked is None:
        return [f"Trusted: {form['protocol']['trusted']}."]
    return [
        _colluding(masked["tolerated"], masked["others"]),
        *_dropout_sentences(masked["may_drop_out"], masked["parties"]),
        *_dealer_sentences(masked["dealers"]),
        *_evaluator_sentences(masked),
    ]


def _colluding(tolerated: int, others: int) -> str:
    if tolerated >= others:
        return "Nothing of the other parties: they may all work together against your institution."
    return f"At most {tolerated} of the {others} other parties work together against your institution."


def _dropout_sentences(most: int, parties: int) -> list[str]:
    if not most:
        return []
    return [
        f"At most {most} of the {parties} parties drop out; with more, the release stops and nothing more is "
        "learned."
    ]


def _dealer_sentences(dealers: list[str]) -> list[str]:
    if not dealers:
        return []
    if dealers == [CURATOR_DEALS]:
        return [
            "The curator, which deals the randomness that hides the rows, works together with no party. This "
            "is meant for trials."
        ]
    names = ", ".join(dealers)
    if len(dealers) >= REPLICATED:
        return [
            f"No two of {names}, who deal the randomness that hides the rows, work together with a party."
        ]
    return [f"{names} deals the randomness that hides the rows, and works together with no party."]


def _evaluator_sentences(masked: dict[str, Any]) -> list[str]:
    if not masked["evaluators"]:
        return []
    names = ", ".join(masked["evaluators"])
    return [f"No two of {names}, who compute scores from hidden counts, work together."]


def _unit(rows: int) -> str:
    if rows == 1:
        return "one row of your table"
    if rows == ALL_ROWS:
        return "one person with all rows"
    return f"all of one person's rows, up to {rows} of them"
