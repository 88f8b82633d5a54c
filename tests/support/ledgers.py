"""Terms, queries and data for a ledger."""

import threading
from dataclasses import replace
from fractions import Fraction

from dpmosaic.common.data.view import View
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.party.accounts.ledger import Ledger
from support.terms import RELEASE_ID, terms_of

TERMS = terms_of()
QUERY = MarginalQuery(RELEASE_ID, "q1", AnswerForm.HISTOGRAM, View(("a",)), 2.0)
OTHER = replace(QUERY, query_id="q2")
HALF = Fraction(1, 2)
DATA = "d" * 64
KEY, SECOND_KEY = b"k" * 32, b"s" * 32
SECRET, SECOND_SECRET = b"e" * 32, b"f" * 32
INTRODUCTION = (b"who takes part, encoded", b"digest of the keys", {})


def ledger_at(path):
    """The ledger in a file, created if there is none; in memory without a path."""
    return Ledger(path) if path is None or path.exists() else Ledger.create(path)


def anything(reserved):
    """Admits every release."""


def together(tasks):
    """The result or exception of each task; all start at once."""
    barrier, outcomes = threading.Barrier(len(tasks)), [None] * len(tasks)

    def work(place):
        barrier.wait()
        try:
            outcomes[place] = tasks[place]()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
