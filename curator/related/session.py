"""A release of related tables by the curator's commands: a journal for each part, in that of the whole."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...common.crypto.randomness import RandomStream
from ...common.errors import DataError, MosaicError
from ...common.protocols.related import RelatedPart
from ..analysis.release import load
from ..measurers.size import NoisySize
from ..mechanisms.bins import Bins
from ..mechanisms.parts.fitted import Report, ignore
from ..parties.activity import Activity
from ..parties.alignments import Aligned
from ..parties.client import Connection
from ..parties.federation import PartOfTables
from ..parties.journal import Journal
from ..parties.private_folder import JOURNAL, PARTS, make_private, private_folder
from ..people.files import file_name
from ..people.release import PeopleRelease
from ..releasing.over_parties import release_over_parties
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
        session, plan = self.session, self.session.plan
        if session.table_file.spreadsheet_safe:
            raise DataError("--spreadsheet-safe: is for a single table; leave it out")
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(session.journal))
            stack.enter_context(session.journal.locked())
            links = stack.enter_context(
                session.home.links(
                    plan.participants, plan.listen, plan.retry_policy, session.journal.release_id
                )
            )
            watched = activity or Activity()
            watching = {name: watched.watch(name, links[name]) for name in plan.participants}
            slices = [[watching[name] for name in names] for names in plan.slices]
            order = related_order(plan, session.journal.release_id)
            connected(plan, slices)
            aligned = session.alignment(slices)
            if aligned is not None:
                # What parties charged for the alignment, as they signed it.
                order = replace(order, alignment_rho=aligned.alignment.zcdp_rho)
            parts = _Parts(session, slices, watching, aligned, report)
            stream = RandomStream(session.journal.key).child("people")
            made = Making(order, parts, stream).release()
            releases = {name: load(parts.folder(f"records {name}") / _RESULTS) for name in made.releases}
            made = replace(made, releases=releases)
            made.write(session.folder, session.table_file.table_format)
            session.journal.note_once(_MADE, b"")
            parts.finish()
            session.journal.finish()
            session.home.clear_files(session.journal.release_id)
        return made


@dataclass(frozen=True)
class _Parts:
    """The parts of a release over daemons; see `Parts`.

    A part that is made is recalled from its journal: its answers are not asked for again.
    """

    session: Session
    links: Sequence[Sequence[Connection]]
    dealers: Mapping[str, Connection]
    aligned: Aligned | None
    report: Report

    def make(self, name: str, order: ReleaseOrder, part: RelatedPart, supposed: NoisySize | None) -> Released:
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

        with contextlib.closing(self._journal(name)) as own, own.locked():
            try:
                made = release_over_parties(
                    session.plan,
                    self.links,
                    own,
                    signer=session.home.keyring.identity,
                    identities={one: card.identity for one, card in session.home.cards().items()},
                    dealers=self.dealers,
                    aligned=self.aligned,
                    order=order,
                    part=PartOfTables(part, tables_of(session.plan).holds),
                    supposed=supposed,
                    marks=session.home.marks(),
                    publish=publish,
                    away_s=session.plan.retry_policy.away_s,
                    report=self.report,
                )
            except MosaicError:
                if own.abandoned:
                    session.journal.abandon()
                raise
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

    def _journal(self, name: str) -> Journal:
        path = self.folder(name) / JOURNAL
        if path.exists():
            return Journal(path)
        make_private(path.parent)
        created = Journal.create(path, self.session.plan.text)
        created.note_once("home", str(self.session.home.folder.resolve()).encode())
        return created
