"""Who multiplies ranges of rows in `scale.py`: threads, or a Dask cluster of the first party over TLS."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scale_engines import used_by

CLUSTER = "dask"
WORKERS = ("threads", "one", CLUSTER)
"""A thread for each processor; one thread; or one, and at the first party two processes of a cluster."""

_PROCESSES = 2


@dataclass(frozen=True)
class Cluster:
    """Where the first party's products are computed.

    Attributes:
        section: of the first party's policy.
        others: section of all other policies.
        processes: numbers of the cluster's worker processes.
    """

    section: str
    others: str
    processes: tuple[int, ...] = ()

    def used(self) -> tuple[float, float]:
        """Seconds of the cluster's workers so far, and the most memory of one, MB; 0 without any."""
        return used_by(self.processes)


@contextlib.contextmanager
def workers(kind: str, folder: Path) -> Iterator[Cluster]:
    """Starts a cluster if the kind is one.

    Args:
        kind: one of `WORKERS`.
        folder: for its keys.
    """
    one = "\n[workers]\nthreads = 1\n"
    if kind != CLUSTER:
        section = one if kind == "one" else ""
        yield Cluster(section, section)
        return
    import distributed

    security = distributed.Security.temporary()
    with distributed.LocalCluster(
        n_workers=_PROCESSES,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="tls://127.0.0.1",
        security=security,
    ) as cluster:
        _configure(security, folder)
        with distributed.Client(cluster, security=security, set_as_default=False) as client:
            processes = tuple(client.run(os.getpid).values())
        yield Cluster(f'\n[workers]\nscheduler = "{cluster.scheduler_address}"\n', one, processes)


def _configure(security: object, folder: Path) -> None:
    """Names the cluster's keys in the environment, where Dask's configuration of a daemon finds them."""
    for setting, variable in (
        ("tls_ca_file", "CA_FILE"),
        ("tls_client_cert", "CLIENT__CERT"),
        ("tls_client_key", "CLIENT__KEY"),
    ):
        path = folder / f"{setting}.pem"
        path.touch(mode=0o600)
        path.write_text(getattr(security, setting))
        os.environ[f"DASK_DISTRIBUTED__COMM__TLS__{variable}"] = str(path)
