"""An institution with a past, for its console: finished, running and waiting releases, and hostile texts."""

import contextlib
import copy
import hashlib
import shutil
from fractions import Fraction

from dpmosaic.common.about import About
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import PolicyError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.party.home.home import PartyHome
from support.operators import Operator, proposed
from support.terms import id_of, terms_with

ABOUT = About(
    "Planning of emergency beds in the region for 2027. The synthetic table goes to the ministry of health "
    "and to three universities.",
    "Dr. Ada Example, ada@example.org",
    "2026-11-20",
    "2126-12-24",
)
NASTY = About(
    '<script>alert(1)</script>\n=HYPERLINK("http://example.org")\u202egnp.exe ' + "w" * 300,
    "<img src=x onerror=alert(1)>\u200b\x1b[31m",
    "2026-11-20",
)
PROMISE = Budget(epsilon=1.0, delta=1e-9)
WAITING, RUNNING, FINISHED, HOSTILE = (id_of(label) for label in ("waiting", "running", "done", "hostile"))


def ask(operator, release_id, about=ABOUT, **terms):
    """A curator asks for a release, which then waits for the operator."""
    terms.setdefault("budget", PROMISE)
    terms.setdefault("rho", float(terms["budget"].granted(gaussian_only=True)))
    made = operator.terms(release_id=release_id, **terms)
    made = terms_with(made, about=about)
    with operator.serving() as (party, _), contextlib.suppress(PolicyError):
        proposed(party, made)
    return made


def run(operator, terms, *, spent, finish):
    """An approved release is accepted and charged one query; then perhaps certified."""
    with operator.serving() as (party, ledger):
        proposed(party, terms)
        query = MarginalQuery(terms.release_id, "q1", AnswerForm.HISTOGRAM, View(("a",)), 2.0)
        digest = ledger.release(terms.release_id).data_digest
        ledger.charge(query, Fraction(spent), digest, b"k" * 32)
        if finish:
            certificate = hashlib.sha256(terms.release_id.encode()).digest()
            ledger.certify(Claim(terms.release_id, certificate, spent))


def institution(folder, *, waiting=True):
    """The operator of an institution that has finished a release and runs one; perhaps with two waiting."""
    operator = Operator(folder)
    budget = Budget(zcdp_rho=0.25)
    for release_id, finish in ((FINISHED, True), (RUNNING, False)):
        terms = ask(operator, release_id, budget=budget)
        operator.run("approve", release_id, "--yes", "--by", "M. Officer", "--reason", "board of 12 November")
        run(operator, terms, spent=0.1, finish=finish)
    if waiting:
        ask(operator, WAITING)
        ask(operator, HOSTILE, NASTY, words="<b>1 pair</b>", budget=Budget(zcdp_rho=0.3))
    return operator


def copied(operator, folder):
    """The same operator on a copy of the institution's files."""
    twin = copy.copy(operator)
    twin.home = PartyHome.open(shutil.copytree(operator.home.folder, folder / "clinic"))
    return twin
