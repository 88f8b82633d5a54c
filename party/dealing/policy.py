"""Policy of a dealer, and the file `dealer.toml` that states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...common.card import DEALER
from ...common.errors import PolicyError
from ...common.messages import PROTOCOL_VERSION, ReleaseTerms
from ...common.protocols.masked.plan import MaskedPlan
from ...common.workers import NONE, Workers
from ..toml_file import LISTEN, SERVE, Keys, check_least, read_toml
from ..working import TEMPLATE as WORKERS_TEMPLATE
from ..working import WORKERS, workers_of

NAME = "dealer.toml"

_SERVE_TEMPLATE = """\
# What this dealer deals. It deals nothing until somebody sets the limits here.
# The dealer reads this file when it starts. Whom it deals for: the members pinned by `dpmosaic dealer trust`.

[serve]
listen = "127.0.0.1:7443"        # host:port; the curator's machine must reach it
# metrics = "127.0.0.1:9464"     # for Prometheus; needs pip install 'dpmosaic[metrics]'

"""
_LIMITS_TEMPLATE = """
[policy]
max_records = 0                  # upper limit of the records of one slice, such as 1000000
max_cells = 0                    # upper limit of the cells of one marginal, such as 1000000
max_memory_mb = 2048             # of one release: products; a call needs up to 100 more
max_cpu_seconds = 36000          # of one release: time to compute
max_active_releases = 8          # so many releases that are neither certified nor abandoned
"""
TEMPLATE = _SERVE_TEMPLATE + WORKERS_TEMPLATE + _LIMITS_TEMPLATE

_CLOSED = ("max_records", "max_cells")
_RESOURCES = ("max_memory_mb", "max_cpu_seconds", "max_active_releases")

_KEYS: Keys = {
    "serve": SERVE,
    "workers": WORKERS,
    "policy": dict.fromkeys((*_CLOSED, *_RESOURCES), int),
}


@dataclass(frozen=True)
class DealerPolicy:
    """A dealer's limits. The defaults allow nothing.

    Attributes:
        max_records: largest number of records of a slice.
        max_cells: upper limit of the cells of one dealt product.
        max_memory_mb: memory that one release may reserve, MiB.
        max_cpu_seconds: seconds that the dealer computes for one release.
        max_active_releases: number of releases that are open at the same time.
    """

    max_records: int = 0
    max_cells: int = 0
    max_memory_mb: int = 2048
    max_cpu_seconds: int = 36_000
    max_active_releases: int = 8

    def check_terms(self, terms: ReleaseTerms, active: int) -> MaskedPlan:
        """Refuses a release that the policy does not allow.

        Args:
            terms: terms of the release.
            active: number of other releases that are open.

        Returns:
            The plan of the release.

        Raises:
            PolicyError: it is not a masked release, or a limit is exceeded; the message names it.
        """
        if terms.protocol_version != PROTOCOL_VERSION:
            raise PolicyError(
                f"this dealer uses protocol version {PROTOCOL_VERSION}, the curator version "
                f"{terms.protocol_version}; install the same version of the software on both sides"
            )
        if terms.masked is None:
            raise PolicyError(
                f"a dealer takes part only in masked releases, got the protocol {terms.protocol!r}; plan the "
                "release without dealers"
            )
        plan = terms.masked
        if max(map(plan.records, range(plan.slice_count))) > self.max_records:
            raise PolicyError(
                "a slice has more records than max_records of the dealer's policy; its operator can raise it"
            )
        if active >= self.max_active_releases:
            raise PolicyError(
                "the dealer has max_active_releases of its policy open; finish or abandon one of them, or "
                "its operator raises the limit"
            )
        return plan

    def check_cells(self, cells: int) -> None:
        """Refuses a product that is too large."""
        if cells > self.max_cells:
            raise PolicyError(
                "a product has more cells than max_cells of the dealer's policy; query a smaller marginal, "
                "or its operator raises the limit"
            )


@dataclass(frozen=True)
class DealerSettings:
    """What `dealer.toml` says.

    Attributes:
        policy: the limits.
        listen: host and port.
        metrics: host and port for Prometheus; None for no metrics.
        workers: compute beside the threads of its calls.
    """

    policy: DealerPolicy
    listen: str
    metrics: str | None
    workers: Workers = field(default=NONE, compare=False)

    @classmethod
    def load(cls, folder: Path) -> DealerSettings:
        """Reads the file in a dealer's folder; what it leaves out stays closed.

        Raises:
            DataError: it is missing or does not hold together; names the key.
        """
        form = read_toml(folder / NAME, _KEYS, DEALER)
        limits: Mapping[str, int] = form.get("policy", {})
        check_least(NAME, limits, _CLOSED, 0)
        check_least(NAME, limits, _RESOURCES, 1)
        serve = form.get("serve", {})
        workers = workers_of(NAME, form.get("workers", {}))
        return cls(DealerPolicy(**limits), serve.get("listen", LISTEN), serve.get("metrics"), workers)
