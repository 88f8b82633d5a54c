"""A release whose products are computed, and a curator that runs the steps of a score query."""

from dataclasses import replace

import numpy as np

from dpmosaic.common.data.view import View
from dpmosaic.common.messages import Delivery, DeliveryKind, OpeningRequest
from dpmosaic.common.privacy.cost import Adjacency, grid_of, score_cost
from dpmosaic.common.protocols.masked.reveal import opened_sum
from dpmosaic.common.protocols.scores.query import references_digest, score_shape
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire.streams import decode_answer
from support.changed import changed
from support.terms import RELEASE_ID

NORTH, EAST, WEST, SOUTH = range(4)
ZERO, ONE, TWO = EAST, SOUTH, NORTH
"""The evaluators; west is none."""

EVALUATORS = (ZERO, ONE, TWO)

CLIQUES = (("a",), ("a", "c"), ("b", "d"), ("a", "c", "d"))
SIGMA = 4.0
COST = score_cost(SIGMA, Adjacency.ZERO_OUT, len(CLIQUES))
CELLS = (2, 8, 6, 16)
ANYTHING = np.arange(sum(CELLS), dtype=np.int64) % 7


def query_of(references=ANYTHING, **changes):
    totals = [int(part.sum()) for part in np.split(references, np.cumsum(CELLS)[:-1])]
    digest = references_digest([references])
    query = ScoreQuery(
        RELEASE_ID, "s", tuple(map(View, CLIQUES)), SIGMA, digest, int(references.max()), max(totals)
    )
    return changed(query, **changes)


QUERY = query_of()


class Scoring:
    """A release whose products are computed, and a curator that runs the steps of a score query.

    Args:
        release: release whose parties are introduced.
        query: the score query.
        references: references of the query.
    """

    def __init__(self, release, query=QUERY, references=ANYTHING):
        self.release, self.query, self.references = release, query, references
        self.plan = release.plan
        self.evaluators = release.plan.evaluators or EVALUATORS
        self.shape = score_shape(self.plan, CELLS, query.sigma, query.largest_reference, query.largest_total)

    def party(self, place):
        return self.release.parties[self.release.names[place]]

    def multiply(self):
        for clique in (view.clique for view in self.query.views):
            self.release.prepare(clique)
        return self

    def prepare(self, *places):
        for place in places or range(4):
            self.party(place).prepare_scores(self.query)
        return self

    def deliver(self, to, kind, chunks, sender=0, step=0):
        self.party(to).deliver(Delivery(RELEASE_ID, kind, (), sender, self.query.query_id, step), chunks)

    def send_references(self, to=None, references=None):
        words = self.references if references is None else references
        place = self.evaluators[0] if to is None else to
        self.deliver(place, DeliveryKind.SCORE_REFERENCES, [words.astype("<i8").tobytes()])

    def sealed(self, step, sender, to):
        return list(self.party(sender).open(self.step_of(step, to)))

    def step_of(self, step, to):
        return OpeningRequest(RELEASE_ID, (), to, DeliveryKind.SCORE_STEP, self.query.query_id, step)

    def hand(self, step, sender, to, frames):
        self.deliver(to, DeliveryKind.SCORE_STEP, frames, sender, step)

    def relay(self, step, sender, to):
        self.hand(step, sender, to, self.sealed(step, sender, to))

    def share(self):
        """Runs all steps before those of the evaluators."""
        self.send_references()
        zero, one, two = self.evaluators
        for place in set(range(4)) - {zero}:
            self.relay(0, place, zero)
        self.relay(0, one, two)
        return self

    def ends(self, number):
        """The sender and the recipient of a step of the evaluators, counted from 1."""
        step = self.shape.steps[number - 1]
        return self.evaluators[step.sender], self.evaluators[step.recipient]

    def steps(self, until=None):
        """Runs the steps of the evaluators."""
        for number in range(1, 1 + (until or len(self.shape.steps))):
            self.relay(number, *self.ends(number))
        return self

    def frames(self):
        return [list(self.party(place).answer_scores(self.query)) for place in range(4)]

    def scores(self):
        answers = [next(decode_answer(frames, 1, len(CLIQUES), 1))[0] for frames in self.frames()]
        return opened_sum(self.plan.ring, answers) / grid_of(self.query.sigma)

    def distances(self):
        parts = np.split(self.references, np.cumsum(CELLS)[:-1])
        return [np.abs(self.release.exact(c) - part).sum() for c, part in zip(CLIQUES, parts, strict=True)]


def plan_with(masked, evaluators=EVALUATORS):
    return replace(masked.plan_of(), evaluators=evaluators)


def assert_nothing_charged(scoring):
    assert set(scoring.release.spent().values()) == {0}
