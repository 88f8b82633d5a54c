"""A simulated day: two curators release over eight parties, while processes are killed and started again.

All are processes of this machine. Every 40 simulated minutes each curator makes a masked release, and one of
four parties is killed while both run; then the clock jumps to the next ones. Every fifth time the second
curator is killed too. The other four parties and the first curator run all day: their memory, descriptors and
files are what is looked at. In the end every ledger is compared with all certificates.

Run: python benchmarks/soak.py [--hours 24] [--out soak.json] [--figure soak.svg]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, MosaicError
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.curator.parties.private_folder import private_folder
from dpmosaic.curator.releasing.session import Session
from dpmosaic.curator.results.table_format import TableFile
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.home.folder import LEDGER
from dpmosaic.party.home.home import REQUESTS, PartyHome
from dpmosaic.simulations.local_network.network import Daemon, LocalNetwork

DOMAIN = {"sex": 2, "ward": 5, "age": 6, "drug": 3}
RECORDS = 400
STEP_MINUTES = 40
CURATORS = ("curator", "curator-2")
KILLED_CURATOR_EVERY = 5
"""In steps; a party is killed in each."""
FIRST_PORT = 21_000
"""Below the ports of outgoing connections, which could take that of a killed party."""
START_S = 600.0
TRIES = 30
_LEDGERS = (LEDGER, REQUESTS)


def curate(home: Path) -> None:
    """Runs as a process: makes or resumes the release of each folder that it reads, and prints its cost."""
    opened = CuratorHome.open(home)
    for line in sys.stdin:
        out = Path(line.strip())
        try:
            kept = out.with_name(out.name + ".id")
            if not private_folder(out).exists():
                session = Session.begin(out, home / "plan.toml", opened, TableFile())
                kept.write_text(session.journal.release_id)
                session.run()
            elif not (out / "certificate.json").exists():
                Session.resume(out).run()
            promise = Certificate.load(out / "certificate.json").promise
            told = {"release": kept.read_text(), "spent": float(promise.zcdp_rho_spent)}
        except MosaicError as stopped:
            told = {"stopped": str(stopped)}
        print(json.dumps(told), flush=True)


class Curator:
    """The process of a curator, which is started again after it was killed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.out = Path()
        self.start()

    def start(self) -> None:
        """Starts the process."""
        command = [sys.executable, __file__, "--curate", str(self.home)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def ask(self, out: Path) -> None:
        """Has it make the release of this folder, or resume it."""
        self.out = out
        assert self.process.stdin is not None
        self.process.stdin.write(f"{out}\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Waits for the release; asks again while it stops."""
        for _ in range(TRIES):
            assert self.process.stdout is not None
            told: dict[str, Any] = json.loads(self.process.stdout.readline())
            if "stopped" not in told:
                return told
            self.ask(self.out)
        raise DataError(
            f"a release of {self.home.name} did not end: {told['stopped']}; see the parties' logs"
        )

    def kill(self) -> None:
        """Ends the process without notice, starts another, and has it go on."""
        self.process.kill()
        self.process.communicate()
        self.start()
        self.ask(self.out)

    def stop(self) -> None:
        """Lets the process end."""
        self.process.communicate()


@dataclass
class Soak:
    """A network of eight parties and two curators, and what was seen of it.

    Attributes:
        folder: folder of the network.
        rng: draws when processes are killed.
        samples: what was measured, each with the simulated hour and the name of the process.
        spent: release -> zCDP of its certificate.
    """

    folder: Path
    rng: np.random.Generator
    samples: list[dict[str, Any]] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=lambda: {"party": 0, "curator": 0})

    def __post_init__(self) -> None:
        self.network = network(self.folder)
        names = self.network.all_names
        self.steady, self.killed = names[::2], itertools.cycle(names[1::2])
        self.daemons: dict[str, Daemon] = {}
        for name in names:
            self.start(name)
        self.curators = [Curator(self.network.folder / name) for name in CURATORS]

    def start(self, name: str) -> None:
        """Starts a party, and waits until it serves."""
        self.daemons[name] = self.network.start(name)
        self.daemons[name].address(START_S)

    def run(self, steps: int) -> Iterator[int]:
        """Runs so many steps of the clock; yields after each."""
        for step in range(steps):
            for curator in self.curators:
                curator.ask(self.folder / "out" / f"{curator.home.name}-{step}")
            self.wait()
            name = next(self.killed)
            self.daemons[name].process.kill()
            self.daemons[name].stop()
            self.start(name)
            self.kills["party"] += 1
            if step % KILLED_CURATOR_EVERY == KILLED_CURATOR_EVERY - 1:
                self.wait()
                self.curators[1].kill()
                self.kills["curator"] += 1
            for curator in self.curators:
                told = curator.answer()
                self.spent[told["release"]] = told["spent"]
                shutil.rmtree(curator.out)
                shutil.rmtree(private_folder(curator.out))
            self.sample((step + 1) * STEP_MINUTES / 60)
            yield step

    def wait(self) -> None:
        """Lets the releases come to some moment or other."""
        time.sleep(float(self.rng.uniform(0, 2)))

    def sample(self, hour: float) -> None:
        """Measures all processes that have run since the start."""
        running = {name: (self.daemons[name].process.pid, self.network.party(name)) for name in self.steady}
        running["curator"] = (self.curators[0].process.pid, self.curators[0].home)
        for name, (process, home) in running.items():
            (memory,) = (
                int(line.split()[1])
                for line in Path(f"/proc/{process}/status").read_text().splitlines()
                if line.startswith("VmRSS")
            )
            ledger = sum(size(home / (file + end)) for file in _LEDGERS for end in ("", "-wal"))
            logs = sum(size(path) for path in home.glob("*log*"))
            self.samples.append(
                {
                    "hour": hour,
                    "releases": len(self.spent),
                    "process": name,
                    "memory_mb": memory / 1024,
                    "descriptors": len(os.listdir(f"/proc/{process}/fd")),
                    "ledger_kb": ledger / 1024,
                    "logs_kb": logs / 1024,
                    "other_kb": (held(home) - ledger - logs) / 1024,
                    "temporary_kb": held(self.folder / "tmp") / 1024,
                }
            )

    def stop(self) -> None:
        """Ends all processes."""
        for curator in self.curators:
            curator.stop()
        for daemon in self.daemons.values():
            daemon.stop()

    def differences(self) -> int:
        """Number of entries of ledgers that differ from the certificates: 0 if none is lost or double."""
        wrong = 0
        for name in self.network.all_names:
            ledger = Ledger(self.network.party(name) / LEDGER)
            entries = {e.release_id: (e.state, float(e.spent)) for e in ledger.summaries()}
            ledger.close()
            expected = {release: ("certified", spent) for release, spent in self.spent.items()}
            wrong += len(entries.items() ^ expected.items())
        return wrong


def network(folder: Path) -> LocalNetwork:
    """Eight parties in four slices, who trust two curators."""
    rng = np.random.default_rng(1)
    table = folder / "people.csv"
    lines = [",".join(str(rng.integers(size)) for size in DOMAIN.values()) for _ in range(RECORDS)]
    table.write_text("\n".join([",".join(DOMAIN), *lines]) + "\n")
    net = folder / "net"
    made = LocalNetwork.create(net, table, Domain.from_json(DOMAIN), "4x2")
    text = made.plan.read_text().replace('mechanism = "mosaic"', 'mechanism = "independent"')
    first = CuratorHome.open(net / CURATORS[0])
    second = CuratorHome.create(net / CURATORS[1], CURATORS[1])
    for port, card in enumerate(first.cards().values(), start=FIRST_PORT):
        for home in (first, second):
            home.enroll(card, f"127.0.0.1:{port}")
    for home in (first, second):
        (home.folder / "plan.toml").write_text(text)
    shutil.copy(first.folder / "domain.json", second.folder)
    for name in made.all_names:
        PartyHome.open(made.party(name)).trust(second.federation())
    return made


def size(path: Path) -> int:
    """Bytes of a file; 0 if there is none."""
    return path.stat().st_size if path.exists() else 0


def held(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(size(path) for path in folder.rglob("*") if path.is_file())


def growth(samples: list[dict[str, Any]], process: str, what: str) -> float:
    """Growth for each simulated hour after the first quarter, by least squares."""
    points = [(s["hour"], s[what]) for s in samples if s["process"] == process]
    later = np.array(points[len(points) // 4 :], dtype=float)
    return float(np.polyfit(later[:, 0], later[:, 1], 1)[0])


def draw(report: dict[str, Any], path: Path) -> None:
    """Draws the samples as an SVG file."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "soak"
    import matplotlib.pyplot as plt

    panels = {
        "memory_mb": "memory, MiB",
        "descriptors": "open file descriptors",
        "ledger_kb": "ledger and requests, KiB",
        "other_kb": "other files except logs, KiB",
    }
    figure, axes = plt.subplots(2, 2, figsize=(9, 5.5), sharex=True, layout="constrained")
    for axis, (what, title) in zip(axes.flat, panels.items(), strict=True):
        for process in dict.fromkeys(sample["process"] for sample in report["samples"]):
            points = [(s["hour"], s[what]) for s in report["samples"] if s["process"] == process]
            style = {"color": "black", "linestyle": "--"} if process == "curator" else {}
            axis.plot(*zip(*points, strict=True), label=process, linewidth=1.2, **style)
        axis.set_title(title, fontsize=10)
        axis.set_ylim(bottom=0)
    axes[0, 1].legend(fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("simulated hours")
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Prints the growth of each process, and returns 1 if a ledger differs from the certificates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--figure", type=Path, default=None)
    parser.add_argument("--seconds", type=float, default=7_200, help="real time after which no step begins")
    parser.add_argument("--curate", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.curate is not None:
        curate(options.curate)
        return 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for made in ("out", "tmp"):
            (folder / made).mkdir()
        os.environ["TMPDIR"] = str(folder / "tmp")
        soak = Soak(folder, np.random.default_rng())
        steps = 0
        try:
            for step in soak.run(round(options.hours * 60 / STEP_MINUTES)):
                steps = step + 1
                if time.monotonic() - started > options.seconds:
                    break
        finally:
            soak.stop()
        wrong = soak.differences()
    report: dict[str, Any] = {
        "hours": steps * STEP_MINUTES / 60,
        "releases": len(soak.spent),
        "kills": soak.kills,
        "seconds": round(time.monotonic() - started),
        "ledgers_that_differ": wrong,
        "samples": soak.samples,
    }
    for process in dict.fromkeys(sample["process"] for sample in soak.samples):
        found = {
            what: growth(soak.samples, process, what)
            for what in ("memory_mb", "descriptors", "ledger_kb", "logs_kb", "other_kb")
        }
        report.setdefault("growth_per_hour", {})[process] = found
        print(process, ", ".join(f"{what} {value:+.3g}/h" for what, value in found.items()))
    print({key: value for key, value in report.items() if key not in ("samples", "growth_per_hour")})
    if options.out is not None:
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    if options.figure is not None:
        draw(report, options.figure)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
