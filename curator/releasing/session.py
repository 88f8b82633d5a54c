"""A release as the curator's commands make it: a folder with a journal, daemons, results."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...common.crypto.randomness import RandomStream
from ...common.errors import DataError
from ..home import CuratorHome
from ..mechanisms.parts.fitted import Report, ignore
from ..parties import journal as journals
from ..parties.activity import Activity
from ..parties.connection import Patience
from ..parties.journal import Journal
from . import outputs as files
from .over_parties import release_over_parties
from .plan import ReleasePlan
from .release import Released
from .table_format import TableFormat

_DONE, _FORMAT = "done", "table_format"
AWAY_S = 60.0
"""How long a release waits for a party that went away."""


@dataclass(frozen=True)
class Session:
    """One release in one folder.

    Attributes:
        folder: of the results.
        home: of the curator.
        plan: of the release.
        journal: of the release.
        table_format: of the synthetic table.
    """

    folder: Path
    home: CuratorHome
    plan: ReleasePlan
    journal: Journal
    table_format: TableFormat

    @classmethod
    def begin(
        cls, folder: Path, plan_file: Path, home: CuratorHome, table_format: TableFormat = TableFormat.CSV
    ) -> Session:
        """A new release.

        Raises:
            DataError: the plan does not hold together, or the folder holds an earlier release.
        """
        plan = ReleasePlan.load(plan_file)
        files.check_folder(folder, [journals.NAME])
        kept = Journal.create(folder / journals.NAME, plan.text)
        kept.note_once("plan_file", str(plan_file.resolve()).encode())
        kept.note_once("home", str(home.folder.resolve()).encode())
        kept.note_once("domain", plan.domain.digest().encode())
        kept.note_once(_FORMAT, table_format.value.encode())
        return cls(folder, home, plan, kept, table_format)

    @classmethod
    def resume(cls, folder: Path, table_format: TableFormat | None = None) -> Session:
        """A release that stopped.

        Args:
            folder: of its results.
            table_format: of the synthetic table; None for the one that the release began with.

        Raises:
            DataError: there is none, it is finished, or its plan changed.
        """
        kept = Journal(folder / journals.NAME)
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(kept))
            if kept.note(_DONE) is not None:
                raise DataError(f"the release in {folder} is finished; there is nothing to resume")
            if table_format is None:
                table_format = TableFormat((kept.note(_FORMAT) or TableFormat.CSV.encode()).decode())
            session = cls(folder, *_kept(kept), kept, table_format)
            stack.pop_all()
        return session

    def run(self, report: Report = ignore, activity: Activity | None = None) -> Released:
        """Makes the release, or goes on with it, and writes the results.

        Args:
            report: called after every step.
            activity: watches the parties, if given.

        Raises:
            MosaicError: it stopped; it can be resumed.
        """
        patience = Patience(call_s=self.plan.call_s, tries=self.plan.tries)
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(self.journal))
            stack.enter_context(self._claimed())
            named = [name for names in self.plan.slices for name in names]
            links = stack.enter_context(self.home.links(named, self.plan.listen, patience))
            watched = activity or Activity()
            slices = [[watched.watched(name, links[name]) for name in names] for names in self.plan.slices]
            released = release_over_parties(
                self.plan,
                slices,
                self.journal,
                signer=self.home.keyring.identity,
                identities={name: card.identity for name, card in self.home.cards().items()},
                away_s=AWAY_S,
                report=report,
            )
            values = RandomStream(self.journal.key).child("values").generator()
            files.write(
                self.folder,
                released.synthetic,
                released.synthetic.domain.names,
                values,
                released.certificate,
                released.fitted.model,
                self.table_format,
            )
            self.journal.note_once(_DONE, b"done")
        return released

    @contextlib.contextmanager
    def _claimed(self) -> Iterator[None]:
        """Keeps a second curator out of the folder."""
        with (self.folder / journals.NAME).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise DataError(f"the release in {self.folder} is under way already; wait for it") from None
            yield


def _kept(kept: Journal) -> tuple[CuratorHome, ReleasePlan]:
    """The curator and the plan of a journal, if they are what they were."""
    plan_file, home = (Path((kept.note(name) or b"").decode()) for name in ("plan_file", "home"))
    plan = ReleasePlan.load(plan_file)
    if plan.text != kept.plan or plan.domain.digest().encode() != kept.note("domain"):
        raise DataError(f"{plan_file} or its domain changed since the release began; put them back")
    return CuratorHome.open(home), plan
