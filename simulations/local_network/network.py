"""A federation of real daemons on this machine: a partitioned table, keys, cards and processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from ...common.data.domain import Domain
from ...common.errors import DataError, PartyUnavailable
from ...common.federation.card import DEALER, PARTY, as_text
from ...curator.parties.home import ATTACHED, CuratorHome
from ...curator.releasing.planning.drafting import draft
from ...curator.releasing.planning.plan import ReleasePlan
from ...party.dealing.home import DealerHome
from ...party.home.home import PartyHome
from ...party.sources.source import FileSource
from ..parties.network import dealer_names, party_names
from ..parties.partition import Grid
from ..parties.people import ROW_NUMBER, Held, Overlap, read_people
from . import party as local_party
from .ports import free_port

_PARTIES, _DEALERS = "parties", "dealers"

_ALONE = {"OPENBLAS_NUM_THREADS": "1"}
"""Threads of linear algebra at each process: with more, the processes of a network wait for each other."""
_DEALER_POLICY = """\
# For trials on one machine only: it deals whatever is asked for.
[policy]
max_records = 1000000000
max_cells = 268435456
"""
_START_S = 60.0
_STOP_S = 30.0


@dataclass(frozen=True)
class LocalNetwork:
    """The folders of a curator, parties and dealers under one folder.

    Attributes:
        folder: folder that holds all of them.
        names: names of the parties, slice by slice.
        dealers: names of the dealers.
    """

    folder: Path
    names: tuple[tuple[str, ...], ...]
    dealers: tuple[str, ...] = ()

    @classmethod
    def create(
        cls,
        folder: Path,
        data: Path,
        domain: Domain,
        grid: str,
        *,
        attach: bool = False,
        overlap: Overlap | None = None,
        key: str | None = None,
        all_rows: bool = False,
        dealers: int = 0,
    ) -> LocalNetwork:
        """Partitions a table, makes keys for all roles, and lets each trust the others.

        Args:
            folder: an empty or new folder.
            data: path of the table.
            domain: domain of the table.
            grid: see `Grid.parse`.
            attach: parties dial the curator and do not listen.
            overlap: which people of a slice each party holds, and in which order; the plan then aligns their
                rows. None for the same people in the same order.
            key: column of the table that identifies people; None numbers its rows.
            all_rows: whether the promise is for the people that the key names, with all their rows.
            dealers: number of dealers that deal the randomness; without any, the curator deals.

        Raises:
            DataError: the folder is not empty, or domain, grid or key do not fit the table.
        """
        source = FileSource(data)
        _, identifiers = read_people(source, domain, key)
        person, people = np.arange(len(identifiers)), identifiers
        if all_rows:
            person, named = pd.factorize(np.array(identifiers, dtype=object))
            people = named.tolist()
        cut = Grid.parse(grid, domain, len(people))
        column = None if overlap is None and not all_rows else key or ROW_NUMBER
        names = party_names([len(layout.groups) for layout in cut.slices])
        held: dict[str, tuple[Domain, Held]] = {}
        rng, start = np.random.default_rng(), 0
        for row, layout in zip(names, cut.slices, strict=True):
            found = (overlap or Overlap()).hold(people[start : start + layout.rows], len(row), rng)
            for name, group, own in zip(row, layout.groups, found, strict=True):
                held[name] = domain.project(group), replace(own, rows=start + own.rows).with_all_rows(person)
            start += layout.rows

        def write(party: Path, rules: local_party.Rules) -> None:
            local_party.write(party, source, *held[party.name], rules, column)

        rules = local_party.Rules(aligned=overlap is not None, all_rows=all_rows)
        network = cls.set_up(folder, names, write, rules, attach=attach, dealers=dealers)
        curator = CuratorHome.open(folder / "curator")
        text, whole = draft(list(curator.cards().values()), names, "domain.json")
        whole = replace(whole, unmodelled=domain.unmodelled)
        (curator.folder / "domain.json").write_text(as_text(whole.to_json()), encoding="utf-8")
        if attach:
            text = text.replace('# listen = "0.0.0.0:7444" ', f'listen = "127.0.0.1:{free_port()}"')
        if overlap is not None:
            text = text.replace("# [alignment]", "[alignment]")
        if all_rows:
            text = text.replace('# rows_per_person = "all"  ', 'rows_per_person = "all"')
        network.plan.write_text(text, encoding="utf-8")
        return network

    @classmethod
    def set_up(
        cls,
        folder: Path,
        names: Sequence[Sequence[str]],
        write: Callable[[Path, local_party.Rules], None],
        rules: local_party.Rules,
        *,
        attach: bool = False,
        dealers: int = 0,
    ) -> LocalNetwork:
        """Makes keys for all roles, and lets each trust the others; the plan is still to be written.

        Args:
            folder: an empty or new folder.
            names: names of the parties, slice by slice.
            write: called with the folder of each party, of its name, and what its policy says; writes its
                rows and its policy.
            rules: what the policies say; of each party with the others of its slice.
            attach: see `create`.
            dealers: see `create`.

        Raises:
            DataError: the folder is not empty.
        """
        if folder.exists() and any(folder.iterdir()):
            raise DataError(
                f"{folder} is not empty; choose another, or leave out --data to start its network again"
            )
        network = cls(folder, tuple(map(tuple, names)), tuple(dealer_names(dealers)))
        curator = CuratorHome.create(folder / "curator", "curator")
        for row in network.names:
            for name in row:
                home = PartyHome.create(network.party(name), name)
                others = tuple(other for other in row if other != name)
                write(home.folder, replace(rules, same_as=others, dealers=network.dealers))
                curator.enroll(home.card(), _address(attach))
        for name in network.dealers:
            dealer = DealerHome.create(network.dealer(name), name)
            (dealer.folder / dealer.policy_name).write_text(_DEALER_POLICY, encoding="utf-8")
            curator.enroll(dealer.card(), _address(attach))
        for name in network.all_names:
            PartyHome.open(network.party(name)).trust(curator.federation())
        for name in network.dealers:
            DealerHome.open(network.dealer(name)).trust(curator.federation())
        return network

    @classmethod
    def open(cls, folder: Path) -> LocalNetwork:
        """Opens the network that `create` made.

        Raises:
            DataError: the folder holds no network.
        """
        names = sorted(path.name for path in (folder / _PARTIES).glob("party-*"))
        if not names:
            raise DataError(f"expected a local network in {folder}, found none; give --data and --domain")
        rows = sorted({int(name.split("-")[1]) for name in names})
        slices = tuple(tuple(n for n in names if int(n.split("-")[1]) == row) for row in rows)
        return cls(folder, slices, tuple(sorted(path.name for path in (folder / _DEALERS).glob("dealer-*"))))

    @property
    def all_names(self) -> tuple[str, ...]:
        """The parties of all slices."""
        return tuple(name for row in self.names for name in row)

    @property
    def plan(self) -> Path:
        """Path of the drafted plan."""
        return self.folder / "curator" / "plan.toml"

    def start(self, name: str, attach: str | None = None) -> Daemon:
        """Starts a party or dealer.

        Args:
            name: its name.
            attach: host and port that those who dial the curator dial; by default those of the plan.
        """
        curator = CuratorHome.open(self.folder / "curator")
        dealing = name in self.dealers
        role, home = (DEALER, self.dealer(name)) if dealing else (PARTY, self.party(name))
        if curator.addresses()[name] == ATTACHED:
            dialled = attach or ReleasePlan.load(self.plan).listen
            return Daemon.start(home, "--attach", str(dialled), role=role)
        return Daemon.start(home, "--listen", curator.addresses()[name], role=role)

    def party(self, name: str) -> Path:
        """The folder of a party."""
        return self.folder / _PARTIES / name

    def dealer(self, name: str) -> Path:
        """The folder of a dealer."""
        return self.folder / _DEALERS / name

    @contextlib.contextmanager
    def running(self, start_s: float = _START_S) -> Iterator[dict[str, Daemon]]:
        """Starts each party and dealer as a process; stops all at the end.

        Args:
            start_s: seconds after which one that has not read its rows did not start.

        Yields:
            The daemons by name.

        Raises:
            PartyUnavailable: one did not start; names its log.
        """
        daemons: dict[str, Daemon] = {}
        try:
            for name in (*self.all_names, *self.dealers):
                daemons[name] = self.start(name)
            for name, daemon in daemons.items():
                self.enroll(name, daemon, start_s)
            yield daemons
        finally:
            for daemon in daemons.values():
                daemon.process.terminate()
            for daemon in daemons.values():
                daemon.stop()

    def enroll(self, name: str, daemon: Daemon, start_s: float = _START_S) -> None:
        """Enrolls a daemon's address at the curator; for `start_s` see `running`."""
        curator = CuratorHome.open(self.folder / "curator")
        if (address := daemon.address(start_s)) != ATTACHED:
            curator.enroll(curator.cards()[name], address)


@dataclass(frozen=True)
class Daemon:
    """The process of one party or dealer.

    Attributes:
        process: process of `dpmosaic party serve` or `dpmosaic dealer serve`.
        log: log file of this start.
    """

    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(cls, folder: Path, *options: str, role: str = PARTY) -> Daemon:
        """Starts the party or dealer of this folder, by default on a free port.

        It stops when this process ends, even if killed, since its standard input then ends.
        """
        log = folder / "log.jsonl"
        with log.open("wb") as stderr:
            where = options or ("--listen", "127.0.0.1:0")
            return cls(begin([role, "serve", str(folder), "--until-input-ends", *where], stderr), log)

    def address(self, start_s: float = _START_S) -> str:
        """The address of the daemon, or `ATTACHED`; waits until it listens, so many seconds at most.

        Raises:
            PartyUnavailable: the daemon ended, or took too long.
        """
        until = time.monotonic() + start_s
        while time.monotonic() < until and self.process.poll() is None:
            for event in self.events():
                if event.get("event") == "started":
                    return str(event.get("address", ATTACHED))
            time.sleep(0.05)
        raise PartyUnavailable(f"a daemon did not start; read its log {self.log}")

    def events(self) -> list[dict[str, object]]:
        """The events that it has logged so far."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def stop(self) -> int:
        """Ends it with SIGTERM; kills it if it does not end."""
        self.process.terminate()
        try:
            return self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            assert self.process.stdin is not None
            self.process.stdin.close()


def begin(arguments: Sequence[str], stderr: BinaryIO) -> subprocess.Popen[bytes]:
    """A process of the command `dpmosaic`, of one thread of linear algebra, whose input is a pipe.

    Args:
        arguments: of the command.
        stderr: receives its error stream.
    """
    command = [*program(), *arguments]
    return subprocess.Popen(command, stderr=stderr, stdin=subprocess.PIPE, env=os.environ | _ALONE)


def program() -> list[str]:
    """The command `dpmosaic` of this installation."""
    return [sys.executable, "-c", "from dpmosaic.command import main; main()"]


def _address(attach: bool) -> str:
    """Where a daemon will listen: at one address for good, so that it can be started again."""
    return ATTACHED if attach else f"127.0.0.1:{free_port()}"
