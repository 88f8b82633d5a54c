"""The daemons of a plan's parties and dealers, while releases are made over them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.errors import MosaicError
from ..measurers.size import Supposed
from ..mechanisms.parts.fitted import Report
from ..parties.alignments import Aligned
from ..parties.client import Connection
from ..parties.federation import PartOfTables
from ..parties.home import CuratorHome
from ..parties.journal import Journal
from ..parties.private_folder import make_private
from .over_parties import release_over_parties
from .planning.plan import ReleasePlan
from .release import Released, ReleaseOrder


def begin_journal(path: Path, plan: ReleasePlan, home: CuratorHome) -> Journal:
    """The journal of a new release, which notes the curator's folder; makes its private folder.

    Args:
        path: of the journal.
        plan: plan of the release.
        home: folder of the curator.

    Raises:
        DataError: the folder cannot be made.
        FileExistsError: there is a journal, perhaps for a moment.
    """
    make_private(path.parent)
    journal = Journal.create(path, plan.text)
    journal.note_once("home", str(home.folder.resolve()).encode())
    return journal


@dataclass(frozen=True)
class Daemons:
    """All that the curator is connected to.

    Attributes:
        home: folder of the curator.
        plan: the plan, which names the parties and dealers.
        links: connections to them, by name.
        report: called after every step of a release.
    """

    home: CuratorHome
    plan: ReleasePlan
    links: Mapping[str, Connection]
    report: Report

    @property
    def slices(self) -> Sequence[Sequence[Connection]]:
        """Connections to the parties, slice by slice."""
        return self.plan.by_slices(self.links)

    def release(
        self,
        journal: Journal,
        order: ReleaseOrder,
        aligned: Aligned | None,
        publish: Callable[[Released], Mapping[str, str]],
        *,
        part: PartOfTables | None = None,
        supposed: Supposed | None = None,
    ) -> Released:
        """Makes or resumes a release; see `release_over_parties`."""
        return release_over_parties(
            self.plan,
            self.slices,
            journal,
            signer=self.home.keyring.identity,
            identities=self.home.identities(),
            dealers=self.links,
            aligned=aligned,
            order=order,
            part=part,
            supposed=supposed,
            marks=self.home.marks(),
            publish=publish,
            away_s=self.plan.retry_policy.away_s,
            report=self.report,
        )

    def journal_at(self, path: Path) -> Journal:
        """The journal of a release that another one needs, from which that is resumed."""
        return Journal(path) if path.exists() else begin_journal(path, self.plan, self.home)

    @contextlib.contextmanager
    def needed_by(self, whole: Journal, path: Path) -> Iterator[Journal]:
        """The journal of a release that another one needs: who gives up the one gives up the other.

        Args:
            whole: journal of the other one.
            path: of its own.
        """
        with contextlib.closing(self.journal_at(path)) as own, own.locked():
            try:
                yield own
            except MosaicError:
                if own.abandoned:
                    whole.abandon()
                raise
