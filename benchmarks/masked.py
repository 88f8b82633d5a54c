"""All cross pairs of two parties' attributes by the protocol `masked`, against counting the pooled table.

One slice, two parties with seven attributes of Adult's sizes each: 49 pairs, 83,300 cells. The cost of the
protocol does not depend on the values, so the rows are generated, or resampled from a given table. All roles
run in this process: the peak memory is an upper bound for each. Seconds are of the processor.

Run: python benchmarks/masked.py [TABLE DOMAIN]
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import Purpose
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.client import Connection
from dpmosaic.curator.releasing.agreement import Proposal, agree
from dpmosaic.party.sources.source import FileSource
from dpmosaic.simulations.parties.network import InProcessConnection, policy_for, start_dealers, start_parties

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
RECORDS = (10_000, 48_842, 100_000, 1_000_000)
GRANTED = Fraction(1)


class Clock:
    """Processor seconds of each role, without the time that it waits for others, in all threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._local = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def role(self, name: str) -> Iterator[None]:
        """Adds the time of the context to this role."""
        outer = self._turn(name)
        try:
            yield
        finally:
            self._turn(outer)

    def reset(self) -> None:
        """Sets all times to zero."""
        self._turn(self._turn("curator"))
        self.seconds.clear()

    def _turn(self, role: str) -> str:
        """Gives this thread to a role; returns the role that had it."""
        now = time.thread_time()
        before, since = getattr(self._local, "turn", ("curator", now))
        with self._lock:
            self.seconds[before] = self.seconds.get(before, 0.0) + now - since
        self._local.turn = (role, now)
        return str(before)


class TimedConnection:
    """A connection that times a participant's work, and its requests as work of the requesting role."""

    def __init__(self, link: Connection, clock: Clock, name: str) -> None:
        self._link, self._clock, self._name = link, clock, name

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """See `Connection`."""
        replies = self._link.call(method, self._requested(requests))
        while True:
            with self._clock.role(self._name):
                reply = next(replies, None)
            if reply is None:
                return
            yield reply

    def _requested(self, requests: Iterable[bytes]) -> Iterator[bytes]:
        iterator = iter(requests)
        while True:
            with self._clock.role("curator"):
                request = next(iterator, None)
            if request is None:
                return
            yield request


def table_of(records: int) -> Table:
    """Generated rows of Adult's sizes, or rows resampled from a given table."""
    rng = np.random.default_rng(0)
    if len(sys.argv) == 3:
        table = FileSource(Path(sys.argv[1])).read(Domain.load(sys.argv[2]))
        return table.take(rng.integers(0, table.record_count, records))
    domain = Domain.coded({f"x{i:02}": size for i, size in enumerate(SIZES)})
    return Table.from_codes(domain, {n: rng.integers(0, domain[n].size, records) for n in domain})


def proposal_of(domain: Domain, granted: Fraction) -> Proposal:
    """A release over a table of this domain."""
    purpose = Purpose(domain.digest(), "{}", "", "")
    return Proposal("0" * 32, ReleaseSpec(Budget(zcdp_rho=float(granted))), granted, purpose)


def masked(table: Table, pairs: list[Clique], clock: Clock) -> tuple[list[InProcessConnection], float]:
    """Measures the pairs; returns the connections and the root mean square error over its stated value."""
    names = table.domain.names
    pieces = [[table.project(names[:7]), table.project(names[7:])]]
    policy = policy_for("masked", PrivacyUnit(Adjacency.ZERO_OUT), float(GRANTED))
    keys = RandomStream.from_os()
    started = start_parties(pieces, policy, keys)
    dealers = [TimedConnection(dealer, clock, "dealer") for dealer in start_dealers(0, keys, started)]
    ((one, other),) = started
    links = [TimedConnection(one, clock, "party 1"), TimedConnection(other, clock, "party 2")]
    proposal = proposal_of(table.domain, GRANTED)
    measurer = agree(table.domain, [links], proposal, dealers=dealers).measurer()
    measured = measurer.measure([Query(View(pair), GRANTED / len(pairs), "pairs") for pair in pairs])
    with clock.role("check"):
        errors = np.concatenate([(m.values - table.marginal(m.clique)) / m.sigma for m in measured])
    return [one, other], float(np.sqrt(np.mean(errors**2)))


def main() -> None:
    """Prints seconds and bytes of each role, for each number of records."""
    print(
        f"{'records':>9} {'dealer s':>9} {'party 1 s':>10} {'party 2 s':>10} {'all s':>7} {'MB sent 1':>10} "
        f"{'MB sent 2':>10} {'of N w 4':>9} {'peak MB':>8} {'error/sigma':>12} {'pooled s':>9} {'ratio':>7}"
    )
    for records in RECORDS:
        table = table_of(records)
        names = table.domain.names
        pairs = list(product(names[:7], names[7:]))
        started = time.perf_counter()
        for pair in pairs:
            table.marginal(pair)
        pooled = time.perf_counter() - started
        clock = Clock()
        with threadpool_limits(1):
            links, error = masked(table, pairs, clock)
        spent = [clock.seconds[role] for role in ("dealer", "party 1", "party 2")]
        total = sum(spent) + clock.seconds["curator"]
        sent = [link.bytes_out for link in links]
        opened = records * sum(table.domain.sizes) * 4
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{records:>9} {spent[0]:>9.2f} {spent[1]:>10.2f} {spent[2]:>10.2f} {total:>7.2f} "
            f"{sent[0] / 1e6:>10.1f} {sent[1] / 1e6:>10.1f} {sum(sent) / opened:>9.4f} {peak:>8.0f} "
            f"{error:>12.3f} {pooled:>9.2f} {total / pooled:>7.1f}"
        )


if __name__ == "__main__":
    main()
