"""A release by the curator's commands: a folder with a journal, daemons and results."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...common.bounded import json_of
from ...common.crypto.randomness import RandomStream
from ...common.errors import DataError
from ..certificates.verify import BINS
from ..mechanisms.parts.fitted import Report, ignore
from ..parties.activity import Activity
from ..parties.alignments import Aligned
from ..parties.client import Connection
from ..parties.home import CuratorHome
from ..parties.journal import Journal
from ..parties.private_folder import JOURNAL, journal_of, private_folder
from ..results import outputs as files
from ..results.table_format import TableFile, TableFormat
from .aligning.session import AlignmentSession
from .bins.session import BinsSession
from .daemons import Daemons, begin_journal
from .over_parties import order_of
from .planning.changes import changes_text, differences, plan_changes
from .planning.plan import ReleasePlan
from .release import Released

_FORMAT, _SAFE, _ALIGNMENT = "table_format", "spreadsheet_safe", "alignment"
_DOMAIN, _DOMAIN_FILE, _WORKLOAD, _SETTINGS = "domain", "domain_file", "workload", "settings"


@dataclass(frozen=True)
class Session:
    """One release in one folder.

    Attributes:
        folder: folder of the results; its secret files are beside it (`private_folder`).
        home: folder of the curator.
        plan: plan of the release.
        journal: journal of the release.
        table_file: how the synthetic table is written.
    """

    folder: Path
    home: CuratorHome
    plan: ReleasePlan
    journal: Journal
    table_file: TableFile

    @classmethod
    def begin(
        cls,
        folder: Path,
        plan_file: Path,
        home: CuratorHome,
        table_file: TableFile,
        settings: Mapping[str, str] | None = None,
    ) -> Session:
        """Starts a new release.

        Args:
            folder: folder of the results.
            plan_file: the plan, a TOML file.
            home: folder of the curator.
            table_file: how the synthetic table is written.
            settings: parameters of the mechanism that replace those of the plan, as text.

        Raises:
            DataError: the plan is invalid, the mechanism has no such parameter, or the folder holds an
                earlier release.
        """
        plan = ReleasePlan.load(plan_file).with_settings(settings or {})
        digest = _digest(plan)
        files.check_folder(folder, [JOURNAL, BINS])
        path = journal_of(folder)
        try:
            kept = begin_journal(path, plan, home)
        except FileExistsError:
            raise DataError(
                f"{path.parent} holds the journal of a release into {folder}; resume it, or choose another "
                "folder"
            ) from None
        kept.note_once("plan_file", str(plan_file.resolve()).encode())
        kept.note_once(_DOMAIN, plan.domain.digest().encode())
        kept.note_once(_DOMAIN_FILE, json.dumps(plan.domain.to_json()).encode())
        kept.note_once(_WORKLOAD, digest)
        kept.note_once(_SETTINGS, json.dumps(dict(settings or {})).encode())
        kept.note_once(_FORMAT, table_file.table_format.value.encode())
        kept.note_once(_SAFE, bytes([table_file.spreadsheet_safe]))
        return cls(folder, home, plan, kept, table_file)

    @classmethod
    def resume(
        cls, folder: Path, table_format: TableFormat | None = None, spreadsheet_safe: bool | None = None
    ) -> Session:
        """Opens a release that stopped.

        Args:
            folder: folder of the results.
            table_format: format of the synthetic table; None for the one that the release began with.
            spreadsheet_safe: as of `TableFile`; None for what the release began with.

        Raises:
            DataError: there is no release, it is finished, its plan changed, or format and spreadsheet_safe
                do not fit.
        """
        kept = Journal(journal_of(folder))
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(kept))
            if table_format is None:
                table_format = TableFormat((kept.note(_FORMAT) or TableFormat.CSV.encode()).decode())
            if spreadsheet_safe is None:
                spreadsheet_safe = kept.note(_SAFE) == bytes([True])
            table_file = TableFile(table_format, spreadsheet_safe)
            session = cls(folder, *_begun_with(kept), kept, table_file)
            stack.pop_all()
        return session

    def run(self, report: Report = ignore, activity: Activity | None = None) -> Released:
        """Makes or resumes the release, and writes the results.

        Args:
            report: called after every step.
            activity: records the activity of parties and dealers, if given.

        Raises:
            MosaicError: the release stopped; it can be resumed.
        """
        with self.connected(report, activity) as daemons:
            values = RandomStream(self.journal.key).child("values").generator()
            aligned, order = self.alignment(daemons.slices), order_of(self.plan)
            if self.plan.bins_share is not None:
                secret = private_folder(self.folder) / BINS
                choice = BinsSession(self.folder / BINS, secret, self.journal).choose(daemons, aligned)
                order = replace(order_of(self.plan, choice.chosen), before=choice.before)

            def publish(made: Released) -> dict[str, str]:
                return files.write(
                    self.folder,
                    made.synthetic,
                    values,
                    made.synthetic.domain.columns,
                    made.certificate,
                    made.fitted,
                    self.table_file,
                )

            released = daemons.release(self.journal, order, aligned, publish)
            files.write_certificate(self.folder, released.certificate)
            self.finish()
        return released

    @contextlib.contextmanager
    def connected(self, report: Report = ignore, activity: Activity | None = None) -> Iterator[Daemons]:
        """Connects to all parties and dealers; nobody else goes on with the release meanwhile.

        Args:
            report: see `run`.
            activity: see `run`.

        Raises:
            DataError: another process makes the release, or a clock is wrong.
        """
        plan, watched = self.plan, activity or Activity()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(self.journal))
            stack.enter_context(self.journal.locked())
            links = stack.enter_context(
                self.home.links(plan.participants, plan.listen, plan.retry_policy, self.journal.release_id)
            )
            self.home.check_times(links)
            watching = {name: watched.watch(name, links[name]) for name in plan.participants}
            yield Daemons(self.home, plan, watching, report)

    def finish(self) -> None:
        """Notes that the release is finished, and erases its key and what was carried by files."""
        self.journal.finish()
        self.home.clear_files(self.journal.release_id)

    def alignment(self, links: Sequence[Sequence[Connection]]) -> Aligned | None:
        """The alignment that the release began with, one that all parties hold, or a new one."""
        if self.plan.alignment is None:
            return None
        alignments = AlignmentSession.of(self.home, self.plan)
        noted = self.journal.note(_ALIGNMENT)
        if noted is not None:
            made = alignments.load(noted.decode())
        else:
            made = alignments.find(links, self.plan.retry_policy.away_s) or alignments.make(
                links, self.plan.retry_policy.away_s
            )
            self.journal.note_once(_ALIGNMENT, made.alignment_id.encode())
        return made.for_population(self.plan.alignment.population)


def _begun_with(kept: Journal) -> tuple[CuratorHome, ReleasePlan]:
    """The curator and the plan that a journal began with, if plan, domain and workload are unchanged."""
    plan_file, home = (Path((kept.note(name) or b"").decode()) for name in ("plan_file", "home"))
    plan = ReleasePlan.load(plan_file)
    changes = plan_changes(kept.plan, plan.text)
    if plan.domain.digest().encode() != kept.note(_DOMAIN):
        noted = json_of(kept.note(_DOMAIN_FILE) or b"{}")
        found = differences({"domain": noted}, {"domain": plan.domain.to_json()}) if noted else []
        changes += found or ["the domain file has other entries"]
    if kept.note(_WORKLOAD) not in (None, _digest(plan)):
        changes.append("the workload file has other content")
    if changes:
        raise DataError(
            f"{plan_file} or a file that it names changed since the release began: {changes_text(changes)}. "
            "Restore it and resume, or abandon the release and start a new one; nothing was charged now"
        )
    return CuratorHome.open(home), plan.with_settings(json_of(kept.note(_SETTINGS) or b"{}"))


def _digest(plan: ReleasePlan) -> bytes:
    """SHA-256 (hex) of the workload's file; of nothing where the workload is a name."""
    path = Path(plan.workload or "")
    try:
        content = path.read_bytes() if path.suffix == ".json" else b""
    except OSError as cause:
        raise DataError(f"cannot read the workload {path}: {cause.strerror}; fix the plan") from cause
    return hashlib.sha256(content).hexdigest().encode()
