"""Scores of all pairs of attributes by the protocol `masked`.

Fourteen attributes of Adult's sizes: 91 pairs, 148,137 cells, each compared with the product of its one-way
marginals. The reference computes the same distances from the pooled table in NumPy. The shares of the pairs
are computed before; `benchmarks/masked.py` times them.

Run: python benchmarks/scores.py [TABLE DOMAIN]
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
from masked import Clock, TimedConnection, proposal_of, table_of
from threadpoolctl import threadpool_limits

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.protocols.scores.shape import ScoreShape
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.releasing.agreement import agree
from dpmosaic.simulations.parties.network import policy_for, start_dealers, start_parties
from dpmosaic.simulations.parties.partition import Grid, partition

RECORDS = 48_842
GRANTED = Fraction(10)
GRIDS = ("1x2", "2x2", "3x3")


def main() -> None:
    """Prints seconds and bytes of each role, for each grid."""
    table = table_of(RECORDS)
    workload = Workload.parse(table.domain, "2way")
    one_way = {name: table.marginal((name,)) / np.sqrt(RECORDS) for name in table.domain}
    references = [
        np.rint(np.outer(one_way[a], one_way[b])).astype(np.int64).ravel() for a, b in workload.cliques
    ]
    started = time.perf_counter()
    exact = [
        np.abs(table.marginal(clique) - reference).sum()
        for clique, reference in zip(workload.cliques, references, strict=True)
    ]
    pooled = time.perf_counter() - started
    print(
        f"{'grid':>5} {'curator s':>10} {'evaluators s':>13} {'others s':>9} {'all s':>7} "
        f"{'evaluators MB':>16} {'steps':>6} {'worst error/sigma':>18} {'pooled s':>9} {'ratio':>7}"
    )
    for spec in GRIDS:
        pieces = partition(table, Grid.parse(spec, table.domain, RECORDS))
        policy = policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), float(GRANTED))
        keys = RandomStream.from_os()
        links = start_parties(pieces, policy, keys)
        flat = [link for row in links for link in row]
        clock = Clock()
        timed = [[TimedConnection(link, clock, f"party {flat.index(link)}") for link in row] for row in links]
        dealers = [TimedConnection(dealer, clock, "dealer") for dealer in start_dealers(0, keys, links)]
        agreement = agree(table.domain, timed, proposal_of(table.domain, GRANTED), dealers=dealers)
        plan = agreement.terms.masked_plan
        assert plan is not None
        measurer = agreement.measurer()
        measurer.measure([Query(View(clique), GRANTED / 200, "pairs") for clique in workload.cliques])
        before = [(link.bytes_in, link.bytes_out) for link in flat]
        clock.reset()
        with threadpool_limits(1):
            scores = measurer.score([*map(View, workload.cliques)], references, GRANTED / 4, "scores")
        with clock.role("check"):
            error = np.max(np.abs(scores.values - exact)) / scores.sigma
        moved = [
            (link.bytes_in - a + link.bytes_out - b) / 1e6 for link, (a, b) in zip(flat, before, strict=True)
        ]
        seconds = {role: spent for role, spent in clock.seconds.items() if role != "check"}
        cells = tuple(reference.size for reference in references)
        steps = len(ScoreShape(cells, plan.ring).steps)
        # Of two parties the dealer is the third evaluator.
        parties = [place for place in plan.evaluators if place < len(flat)]
        evaluating = [seconds.get(f"party {place}", 0.0) for place in parties]
        evaluating += [seconds.get("dealer", 0.0)] if len(parties) < len(plan.evaluators) else []
        all_roles, curator = sum(seconds.values()), seconds.get("curator", 0.0)
        others = all_roles - curator - sum(evaluating)
        traffic = " + ".join(f"{moved[place]:.1f}" for place in parties)
        print(
            f"{spec:>5} {curator:>10.3f} {sum(evaluating):>13.3f} {others:>9.3f} {all_roles:>7.3f} "
            f"{traffic:>16} {steps:>6} {error:>18.2f} {pooled:>9.3f} {all_roles / pooled:>7.1f}"
        )


if __name__ == "__main__":
    main()
