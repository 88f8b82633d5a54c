"""One party with its own rows, in a release by the protocol `indicator`."""

from fractions import Fraction

import numpy as np

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.cost import Adjacency, grid_of
from dpmosaic.common.queries import AnswerForm, MarginalQuery
from dpmosaic.common.wire.streams import decode_answer
from dpmosaic.party.policies.policy import Policy
from support.changed import changed
from support.parties import party_of
from support.terms import RELEASE_ID, alone, terms_of

DOMAIN = Domain.coded({"a": 100, "b": 60, "c": 3})
IDENTITY = Identity.from_seed(b"n" * 32)
TERMS = terms_of(plan=alone(DOMAIN, 700, identity=IDENTITY.public))
QUERY = MarginalQuery(RELEASE_ID, "q", AnswerForm.HISTOGRAM, View(("a", "b")), 3.0)
RECORD_WISE = changed(QUERY, form=AnswerForm.RECORD_WISE, clique=("b", "c"))
POLICY = Policy(
    protocols=frozenset({"trusted", "indicator"}),
    adjacencies=frozenset(Adjacency),
    max_release_rho=Fraction(10**9),
    lifetime_rho=Fraction(10**9),
    max_cells=6_000,
)


def started(table, ledger, policy=POLICY, seed=1):
    keys = RandomStream.from_seed(seed).key
    return party_of("north", table, policy, ledger=ledger, keys=keys, identity=IDENTITY)


def asked(party, query, rows=1):
    """The answer in counts, shape (rows, cells, or differences of an interaction)."""
    cells = query.view.sent_count(party.describe().domain)
    integers = list(decode_answer(party.answer(query), rows, cells, 64))
    return np.concatenate(integers) / grid_of(query.sigma)
