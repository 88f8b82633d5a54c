"""A release of related tables by the curator's commands: a journal for each part, in that of the whole."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path

from ...common.crypto.randomness import RandomStream
from ...common.errors import DataError
from ...common.protocols.related import RelatedPart
from ..analysis.release import load
from ..measurers.size import Supposed
from ..mechanisms.bins import Bins
from ..mechanisms.parts.fitted import Report, ignore
from ..parties.activity import Activity
from ..parties.alignments import Aligned
from ..parties.federation import PartOfTables
from ..parties.journal import Journal
from ..parties.private_folder import JOURNAL, PARTS, make_private, private_folder
from ..people.files import file_name
from ..people.release import PeopleRelease
from ..releasing.daemons import Daemons
from ..releasing.release import Released, ReleaseOrder
from ..releasing.session import Session
from ..results import outputs as files
from .making import Making
from .planned import connected, related_order, tables_of

_MADE, _RESULTS = "all parts are made", "made"


@dataclass(frozen=True)
class RelatedSession:
    """A release of related tables in one folder.

    Attributes:
        session: folder, home, plan and journal; the journal's id is that of the whole release.
    """

    session: Session

    def run(self, report: Report = ignore, activity: Activity | None = None) -> PeopleRelease:
        """Makes or resumes the release, and writes the results.

        Args:
            report: called after every step.
            activity: records the activity of parties and dealers, if given.

        Raises:
            MosaicError: the release stopped; it can be resumed.
        """
        session = self.session
        with session.connected(report, activity) as daemons:
            order = related_order(session.plan, session.journal.release_id)
            connected(session.plan, daemons.slices)
            aligned = session.alignment(daemons.slices)
            if aligned is not None:
                # What parties charged for the alignment, as they signed it.
                order = replace(order, alignment_rho=aligned.alignment.zcdp_rho)
            parts = _Parts(session, daemons, aligned)
            stream = RandomStream(session.journal.key).child("people")
            made = Making(order, parts, stream).release()
            releases = {name: load(parts.folder(f"records {name}") / _RESULTS) for name in made.releases}
            made = replace(made, releases=releases)
            made.write(session.folder, session.table_file)
            session.journal.note_once(_MADE, b"")
            parts.finish()
            session.finish()
        return made


@dataclass(frozen=True)
class _Parts:
    """The parts of a release over daemons; see `Parts`.

    A part that is made is recalled from its journal: its answers are not asked for again.
    """

    session: Session
    daemons: Daemons
    aligned: Aligned | None

    def make(self, name: str, order: ReleaseOrder, part: RelatedPart, supposed: Supposed | None) -> Released:
        """See `Parts.make`."""
        session, folder = self.session, self.folder(name) / _RESULTS
        make_private(folder)

        def publish(made: Released) -> dict[str, str]:
            if isinstance(order.mechanism, Bins):
                return {}
            names = made.synthetic.domain.names
            records = float(made.fitted.model.marginal(names[:1]).sum())
            values = RandomStream(own.key).child("values").generator()
            return files.write(
                folder,
                made.synthetic,
                values,
                names,
                made.certificate,
                made.fitted,
                session.table_file,
                records=records,
            )

        with self.daemons.needed_by(session.journal, self.folder(name) / JOURNAL) as own:
            of_tables = PartOfTables(part, tables_of(session.plan).holds)
            made = self.daemons.release(own, order, self.aligned, publish, part=of_tables, supposed=supposed)
            files.write_certificate(folder, made.certificate)
        return made

    def folder(self, name: str) -> Path:
        """The folder of a part: nothing in it is published as it lies there."""
        return private_folder(self.session.folder) / PARTS / file_name(name)

    def finish(self) -> None:
        """Notes that all parts are finished, and erases their keys."""
        for path in sorted((private_folder(self.session.folder) / PARTS).glob(f"*/{JOURNAL}")):
            # One that the curator finished before it died is none to be opened.
            with contextlib.suppress(DataError), contextlib.closing(Journal(path)) as own:
                own.finish()
