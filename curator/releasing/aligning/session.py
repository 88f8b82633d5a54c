"""Alignments in the curator's folder: made once, used again while all parties still hold them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ....common.errors import DataError
from ....common.federation.card import as_text
from ....common.federation.private_files import write_private
from ....common.protocols.alignment.plan import AlignmentPlan
from ...certificates.alignment import AlignmentCertificate
from ...parties.alignments import Aligned
from ...parties.asking import Asking
from ...parties.client import Connection
from ...parties.federation import Federation, connect
from ...parties.home import CuratorHome
from ...parties.journal import Journal
from ...parties.private_folder import JOURNAL, journal_of, results_beside
from ..agreement import nothing_delivered
from ..daemons import begin_journal
from ..planning.alignment_order import AlignmentOrder, AlignmentProposal
from ..planning.plan import ReleasePlan
from .over_parties import align_over_parties

_FOLDER, _ORDER = "alignments", "order"


@dataclass(frozen=True)
class AlignmentSession:
    """The alignments of one curator for one plan.

    A journal of an unfinished one is in a folder of its own, as that of a release is, so that `dpmosaic
    curator abandon` finds it; a finished one is a file.

    Attributes:
        home: folder of the curator.
        plan: a plan with an alignment.
        order: how the plan aligns rows.
    """

    home: CuratorHome
    plan: ReleasePlan
    order: AlignmentOrder

    @classmethod
    def of(cls, home: CuratorHome, plan: ReleasePlan) -> AlignmentSession:
        """The alignments for a plan.

        Raises:
            DataError: the plan aligns nothing.
        """
        if plan.alignment is None:
            raise DataError("plan: expected the section [alignment], found none; add it")
        return cls(home, plan, plan.alignment)

    def find(self, links: Sequence[Sequence[Connection]], away_s: float = 0.0) -> AlignmentCertificate | None:
        """The latest finished alignment by these match keys of these parties, if all still hold it; free.

        Args:
            links: connections to the plan's parties, slice by slice.
            away_s: seconds to wait for an unavailable party.

        Raises:
            DataError: a party is reached by files.
        """
        federation = Asking(away_s=away_s).persist(
            lambda: connect(self.plan.domain, links, self.plan.left_out, counted=False), nothing_delivered
        )
        if federation.by_files:
            raise DataError(
                "expected parties with a network to align rows, got one that is reached by files; put it "
                "into a slice of its own, and leave [alignment] out"
            )
        held = [set(member.description.alignments) for member in federation.members]
        known = set.intersection(*held)
        finished = [AlignmentCertificate.load(p) for p in self._folder.glob("*.json") if p.stem in known]
        fitting = [one for one in finished if self._fits(one, federation)]
        return max(fitting, key=lambda one: (one.created, one.alignment_id), default=None)

    def held(self, links: Sequence[Sequence[Connection]]) -> Aligned | None:
        """What all parties hold of the alignment, for the population of the plan; None if they hold none."""
        found = self.find(links)
        return None if found is None else found.for_population(self.order.population)

    def load(self, alignment_id: str) -> AlignmentCertificate:
        """A finished alignment.

        Raises:
            DataError: this curator has none of this id, or its file is damaged.
        """
        return AlignmentCertificate.load(self._file(alignment_id))

    def make(self, links: Sequence[Sequence[Connection]], away_s: float = 0.0) -> AlignmentCertificate:
        """Makes an alignment, or resumes an unfinished one of the same plan; charged once.

        Args:
            links: connections to the plan's parties, slice by slice.
            away_s: seconds to wait for an unavailable party.

        Raises:
            MosaicError: it stopped; the same call resumes it.
        """
        with contextlib.closing(self._journal()) as journal, journal.locked():
            made = align_over_parties(
                self.proposal(journal.release_id),
                self.plan.domain,
                links,
                journal,
                signer=self.home.keyring.identity,
                identities=self.home.identities(),
                left_out=self.plan.left_out,
                marks=self.home.marks(),
                away_s=away_s,
            )
            write_private(self._file(made.alignment_id), as_text(made.to_json()).encode())
            journal.finish()
        return made

    def proposal(self, release_id: str) -> AlignmentProposal:
        """The alignment as it is proposed today.

        Args:
            release_id: id of the release that makes it.
        """
        spec = self.plan.spec
        about = replace(spec.about, asked=datetime.now(UTC).date().isoformat())
        return AlignmentProposal(release_id, self.order, replace(spec, about=about))

    @property
    def unfinished_path(self) -> Path | None:
        """The name of an unfinished alignment of the same plan for `dpmosaic curator abandon`, if any."""
        for path in sorted(self._folder.glob(f"*/{JOURNAL}")):
            with contextlib.suppress(DataError), contextlib.closing(Journal(path)) as journal:
                if self._file(journal.release_id).exists():
                    # The curator died before it noted that this one is finished.
                    journal.finish()
                elif journal.note(_ORDER) == self._digest():
                    return results_beside(path.parent)
        return None

    @property
    def _folder(self) -> Path:
        return self.home.folder / _FOLDER

    def _file(self, alignment_id: str) -> Path:
        return self._folder / f"{alignment_id}.json"

    def _journal(self) -> Journal:
        folder = self.unfinished_path
        if folder is not None:
            return Journal(journal_of(folder))
        journal = begin_journal(journal_of(self._folder / secrets.token_hex(8)), self.plan, self.home)
        journal.note_once(_ORDER, self._digest())
        return journal

    def _fits(self, made: AlignmentCertificate, federation: Federation) -> bool:
        terms, plan = made.terms, self.order.plan(federation)
        if terms.aligning is None or terms.spec.adjacency is not self.plan.spec.adjacency:
            return False
        return _matching_terms(plan) == _matching_terms(terms.aligning)

    def _digest(self) -> bytes:
        """SHA-256 of all by which the terms of two alignments of the same parties can differ."""
        order, plan = self.order, self.plan
        how = (order.rho, order.match, order.keying, order.duplicates, order.across_slices)
        out = sorted(plan.left_out.items())
        form = [*how, plan.spec.adjacency.value, plan.slices, plan.domain.digest(), out]
        return hashlib.sha256(json.dumps(form).encode()).digest()


def _matching_terms(plan: AlignmentPlan) -> tuple[object, ...]:
    """Whose rows are aligned, and how."""
    parties = tuple((entry.name, entry.identity, entry.slice) for entry in plan.roster)
    return parties, plan.match, plan.keying, plan.duplicates, plan.across_slices
