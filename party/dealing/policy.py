"""Policy of a dealer, and the file `dealer.toml` that states it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...common.errors import PolicyError
from ...common.federation.card import DEALER
from ...common.federation.protocol_versions import refusals_of_version
from ...common.forms.tables import Key, Table
from ...common.forms.toml_file import read_by_form
from ...common.forms.values import whole
from ...common.processes.workers import NONE, Workers
from ..policies.serve import SERVE, Serve
from ..policies.workers import TEMPLATE as WORKERS_TEMPLATE
from ..policies.workers import WORKERS, workers_of

if TYPE_CHECKING:
    from ...common.terms import ReleaseTerms

NAME = "dealer.toml"

_SERVE_TEMPLATE = """\
# What this dealer deals. It deals nothing until somebody sets the limits here.
# The dealer reads this file when it starts. Whom it deals for: the members pinned by `dpmosaic dealer trust`.

[serve]
listen = "127.0.0.1:7443"        # host:port; the curator's machine must reach it
# metrics = "127.0.0.1:9464"     # for Prometheus; needs pip install 'dpmosaic[metrics]'
# proxy = "http://proxy:3128"    # with --attach: dials the curator by CONNECT through this HTTP proxy
# proxy_login = "file:proxy.txt" # its USER:PASSWORD: in a file with mode 600, or in a variable, env:NAME

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

FORM = Table(
    {
        "serve": Key(SERVE, "How the daemon is reached."),
        "workers": Key(WORKERS, "What computes beside its calls."),
        "policy": Key(
            Table(
                {
                    "max_records": Key(whole(0), "Upper limit of the records of one slice."),
                    "max_cells": Key(whole(0), "Upper limit of the cells of one marginal."),
                    "max_memory_mb": Key(whole(1), "Memory of one release, MiB."),
                    "max_cpu_seconds": Key(whole(1), "Seconds of computing for one release."),
                    "max_active_releases": Key(whole(1), "Releases that are open at the same time."),
                }
            ),
            "What the dealer allows.",
        ),
    }
)
"""The form of the file."""


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

    def refusals(self, terms: ReleaseTerms, active: int) -> Iterator[PolicyError]:
        """Every reason for which the policy does not allow a release; none if it does.

        Args:
            terms: terms of the release.
            active: number of other releases that are open.
        """
        yield from refusals_of_version("dealer", terms.protocol_version)
        plan = terms.masked_plan
        if plan is None:
            yield PolicyError(
                f"a dealer takes part only in masked releases, got {terms.spec.protocol!r}; plan "
                "the release without dealers"
            )
        elif max(map(plan.records, range(plan.slice_count))) > self.max_records:
            yield PolicyError(
                "a slice has more records than max_records of the dealer's policy; its operator can raise it"
            )
        if terms.purpose.max_cells is not None and terms.purpose.max_cells > self.max_cells:
            yield PolicyError(
                "the release may measure marginals with more cells than max_cells of the dealer's policy; "
                "start a new one, which asks for the limit"
            )
        if active >= self.max_active_releases:
            yield PolicyError(
                "the dealer has max_active_releases of its policy open; finish or abandon one of them, or "
                "its operator raises the limit"
            )

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
        serve: how the daemon is reached.
        workers: compute beside the threads of its calls.
    """

    policy: DealerPolicy
    serve: Serve
    workers: Workers = field(default=NONE, compare=False)

    @classmethod
    def load(cls, folder: Path) -> DealerSettings:
        """Reads the file in a dealer's folder; what it leaves out stays closed.

        Raises:
            DataError: it is missing or does not hold together; names the key.
        """
        content = read_by_form(folder / NAME, FORM, f"run dpmosaic {DEALER} init")
        limits: Mapping[str, int] = content.get("policy", {})
        return cls(DealerPolicy(**limits), Serve.of(content), workers_of(NAME, content.get("workers", {})))
