"""What dealers cost: the same release with the curator as dealer, one dealer and three.

Each line has the seconds that the release took, with all roles in this process; processor seconds of all
roles, of the dealers together and of the parties together; the bytes that parties and dealers send and those
of the dealers alone; the mean total variation distance of the pairs of attributes between synthetic and real
table; and ratios of processor seconds, bytes and error to the release in which the curator deals, over the
same rows with the same seed. Masks cancel and the noise has the same keys, so the errors have to be equal.

Run: python benchmarks/dealers.py [FOLDER] [--grid 2x2] [--epsilon 1] [--seed 0]

The FOLDER holds NAME.csv.gz (or .csv, .parquet) and domain.json, NAME being the folder's; without it, rows of
Adult's sizes are generated.
"""

from __future__ import annotations

import argparse
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from masked import SIZES, Clock, TimedConnection
from mechanisms import DELTA, load
from threadpoolctl import threadpool_limits

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.protocols.registry import MASKED
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.parties.client import Connection
from dpmosaic.curator.releasing.agreement import agree
from dpmosaic.curator.releasing.release import ReleaseOrder, make_release
from dpmosaic.simulations.evaluation.metrics import kway_errors
from dpmosaic.simulations.parties.network import policy_for, start_dealers, start_parties
from dpmosaic.simulations.parties.partition import Grid, partition

RECORDS = 48_842
DEALERS = {"curator": 0, "one": 1, "three": 3}


class CountedConnection:
    """A connection that counts the bytes of replies."""

    def __init__(self, link: Connection) -> None:
        self._link = link
        self.sent = 0

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """See `Connection`."""
        for reply in self._link.call(method, requests):
            self.sent += len(reply)
            yield reply


@dataclass(frozen=True)
class Cost:
    """What one release cost.

    Attributes:
        wall_s: seconds of the release.
        seconds: processor seconds of each role.
        sent: bytes that parties and dealers send.
        dealt: bytes that dealers send.
        error: mean total variation distance of the pairs.
    """

    wall_s: float
    seconds: dict[str, float]
    sent: int
    dealt: int
    error: float

    @property
    def all_roles(self) -> float:
        """Processor seconds of all roles."""
        return sum(self.seconds.values())


def main() -> None:
    """Prints the costs with each kind of dealers."""
    asked = _arguments()
    table = generated() if asked.folder is None else load(asked.folder)
    released(table, asked.grid, asked.epsilon, asked.seed, 0)  # Compiles what is compiled once.
    print(
        f"{'dealers':>8} {'wall s':>7} {'all s':>7} {'dealers s':>10} {'parties s':>10} {'MB':>8} "
        f"{'dealers MB':>11} {'error':>8} {'s ratio':>8} {'MB ratio':>9} {'error ratio':>12}"
    )
    reference: Cost | None = None
    for name, count in DEALERS.items():
        cost = released(table, asked.grid, asked.epsilon, asked.seed, count)
        reference = reference or cost
        print(
            f"{name:>8} {cost.wall_s:>7.2f} {cost.all_roles:>7.2f} {cost.seconds['dealers']:>10.2f} "
            f"{cost.seconds['parties']:>10.2f} {cost.sent / 1e6:>8.2f} {cost.dealt / 1e6:>11.2f} "
            f"{cost.error:>8.5f} {cost.all_roles / reference.all_roles:>8.3f} "
            f"{cost.sent / reference.sent:>9.4f} {cost.error / reference.error:>12.3f}",
            flush=True,
        )


def released(table: Table, grid: str, epsilon: float, seed: int, dealers: int, check: str = "") -> Cost:
    """The cost of one release by `mosaic`."""
    order = ReleaseOrder(
        table.domain,
        ReleaseSpec(Budget(epsilon, DELTA), check=check),
        mechanism_named("mosaic"),
        Workload.parse(table.domain, "2way"),
    )
    stream, clock = RandomStream.from_seed(seed), Clock()
    proposal, keys = order.proposal(secrets.token_hex(16)), stream.child("parties")
    policy = policy_for(MASKED.name, order.spec.unit, proposal.charged_rho, dealers=dealers)
    pieces = partition(table, Grid.parse(grid, table.domain, table.record_count))
    started = start_parties(pieces, policy, keys, dealers=dealers)
    dealing = [CountedConnection(link) for link in start_dealers(dealers, keys, started)]
    counted = [[CountedConnection(link) for link in row] for row in started]
    agreement = agree(
        table.domain,
        [[TimedConnection(link, clock, "parties") for link in row] for row in counted],
        proposal,
        dealers=[TimedConnection(link, clock, "dealers") for link in dealing],
    )
    layout = agreement.terms.plan
    since = time.perf_counter()
    with threadpool_limits(1):
        made = make_release(order, layout, agreement.measurer(), stream, seeded=True)
    wall = time.perf_counter() - since
    with clock.role("check"):
        (pairs,) = kway_errors(table, made.synthetic, ks=(2,))
    seconds = {role: spent for role, spent in clock.seconds.items() if role != "check"}
    dealt = sum(link.sent for link in dealing)
    sent = dealt + sum(link.sent for link in chain(*counted))
    return Cost(wall, seconds, sent, dealt, pairs.total_variation)


def generated() -> Table:
    """Rows of Adult's sizes in which every attribute depends on the one before it."""
    rng = np.random.default_rng(0)
    domain = Domain.coded({f"x{i:02}": size for i, size in enumerate(SIZES)})
    latent, codes = rng.random(RECORDS), {}
    for name, size in zip(domain, SIZES, strict=True):
        latent = np.where(rng.random(RECORDS) < 0.7, latent, rng.random(RECORDS))
        codes[name] = np.minimum((latent**2 * size).astype(np.int64), size - 1)
    return Table.from_codes(domain, codes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--grid", default="2x2")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
