"""The release that chooses bins before another one: in a folder of its own in the other's results."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....common.bounded import json_of
from ....common.crypto.digests import sha256_of
from ....common.data.coding import Coding
from ....common.data.view import View
from ....common.errors import DataError
from ....common.files.writing import write_text
from ....common.measurement import Measurement
from ....common.protocols.chosen import Chosen
from ...parties.alignments import Aligned
from ...parties.journal import Journal
from ...parties.private_folder import JOURNAL
from ...results import outputs as files
from ..daemons import Daemons
from ..over_parties import order_of
from ..release import Released
from .choosing import Choice, choice_of, chosen_by
from .order import bins_order

_CHOSEN = "chosen"


@dataclass(frozen=True)
class BinsSession:
    """The choice of bins of one release.

    Attributes:
        folder: folder of its results.
        private: folder of its secret files.
        journal: journal of the release that uses the bins, which notes the choice.
    """

    folder: Path
    private: Path
    journal: Journal

    @property
    def noted_choice(self) -> Choice | None:
        """The choice that was noted, if it was made."""
        noted = self.journal.note(_CHOSEN)
        if noted is None:
            return None
        form = json_of(noted)
        runs = {name: tuple(firsts) for name, firsts in form["runs"].items()}
        labels = {name: tuple(texts) for name, texts in form["labels"].items()}
        coding = Coding(runs, labels)
        release = (form["release_id"], form["certificate"], form["zcdp_rho"])
        before = tuple(
            Measurement(View((name,)), np.array(values), sigma, rho, sigmas=np.array(sigmas))
            for name, values, sigma, rho, sigmas in form["before"]
        )
        return Choice(Chosen(*release, coding, form["labels_delta"]), before)

    def choose(self, daemons: Daemons, aligned: Aligned | None) -> Choice:
        """Makes or resumes the choice, once; the parties charge it once.

        Args:
            daemons: those of the plan of the release that uses the bins.
            aligned: alignment of the parties' rows; None if the parties of a slice hold the same records.

        Raises:
            MosaicError: it stopped; the same call resumes it, unless a party refused it for good.
        """
        known, path, plan = self.noted_choice, self.private / JOURNAL, daemons.plan
        if known is not None:
            with contextlib.suppress(DataError), contextlib.closing(daemons.journal_at(path)) as own:
                # The curator died before it noted that the choice is finished.
                own.finish()
            return known
        assert plan.bins_share is not None, "only the bins of open attributes are chosen"
        order = order_of(plan)
        choosing = bins_order(order, plan.bins_share)
        with daemons.needed_by(self.journal, path) as own:

            def publish(made: Released) -> dict[str, str]:
                domain = chosen_by(made, choosing, order, plan.domain).domain(plan.domain)
                write_text(self.folder / files.DOMAIN, files.json_text(domain.to_json()))
                return {files.DOMAIN: sha256_of(self.folder / files.DOMAIN)}

            made = daemons.release(own, choosing, aligned, publish)
            files.write_certificate(self.folder, made.certificate)
            choice = choice_of(made, own.release_id, choosing, order, plan.domain)
            self.journal.note_once(_CHOSEN, _encode_choice(choice))
            own.finish()
        return choice


def _encode_choice(choice: Choice) -> bytes:
    chosen = choice.chosen
    form = {
        "release_id": chosen.release_id,
        "certificate": chosen.certificate,
        "zcdp_rho": chosen.zcdp_rho,
        "runs": chosen.coding.runs,
        "labels": chosen.coding.labels,
        "labels_delta": chosen.labels_delta,
        "before": [_measurement_form(one) for one in choice.before],
    }
    return json.dumps(form).encode()


def _measurement_form(one: Measurement) -> list[Any]:
    sigmas = np.asarray(one.sigmas, dtype=np.float64).tolist()
    return [*one.clique, one.values.tolist(), one.sigma, one.zcdp_rho, sigmas]
