"""Attacks on a release by the owner of the real rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ...common.data.table import Table
from ...common.errors import DataError
from ...common.forms.values import whole
from ...common.privacy.budget import AnswerKind
from ...common.privacy.conversion import gaussian_epsilon
from ...common.privacy.cost import Adjacency, PrivacyUnit
from ...curator.analysis.published import Published, named_choice
from ...curator.analysis.release import Release
from ...curator.certificates.certificate import Certificate
from ...curator.certificates.verify import BINS, CERTIFICATE
from ...curator.report.promise import promise_of
from ...simulations.tables.frames import Source, raw_table
from .disclosure import copies, rare_groups
from .findings import Ceiling, Finding, Membership
from .inference import inferences
from .membership import RowGuesses, guesses_by_rows
from .page import Attacks
from .reading import RealRows, Rows, real_rows
from .residuals import Residuals, least_mu
from .statements import Suspicion, ends_and_bins, rare_labels, uncharged

FALSE_ALARMS = 0.05
"""Probability with which a release that keeps its promise raises any alarm, at most."""

_TESTS = 5
_ALPHA = FALSE_ALARMS / _TESTS

_ASKED = 2000
"""Real rows whose membership and columns are guessed."""

_OTHER_ROWS = 1e-9
"""Probability with which the right rows are refused as others, at most."""

_FEWEST_REAL_ROWS = 10
"""An attack on fewer rows says nothing."""

_TABLES_DRAWN = 8
"""Tables that are drawn anew from the model."""


def attack(
    real: Source,
    release: Release,
    holdout: Source | None = None,
    *,
    header: bool | None = None,
    seed: int = 0,
) -> Attacks:
    """Attacks a release as its owner can: not for publication, since it reads the real rows.

    Args:
        real: the table that was released: a data frame, or the path of a file.
        release: the release of it.
        holdout: other real rows, which chance left out of `real` and the release has not used.
        header: whether the first line of a CSV names the columns; by default it does, unless it reads as a
            record.
        seed: of the rows that are guessed, and of the tables that are drawn anew.

    Raises:
        DataError: the rows are not those of the release's columns, or it is of a kind that is not attacked:
            of people with several rows, of aligned parties, of a sample, or with other than Gaussian noise.
    """
    _check(release.certificate)
    if not whole(0).fits(seed):
        raise DataError("seed: expected a whole number of at least 0, got another; give one")
    rows = _encode(release, real, header)
    apart = None if holdout is None else _encode(release, holdout, header).rows
    return _Attack(release, rows, apart, np.random.default_rng(seed), seed).run()


@dataclass(frozen=True, eq=False)
class _Attack:
    """One attack; see `attack`."""

    release: Release
    real: RealRows
    held_out: Rows | None
    rng: np.random.Generator
    seed: int

    def run(self) -> Attacks:
        """All attacks, one after the other."""
        real, released = self.real.rows, Rows.of_release(self.release.published)
        residuals = self._residuals()
        ceiling = _ceiling(self.release.certificate)
        members = self._some(real.table)
        others = None if self.held_out is None else self._some(self.held_out.table)
        by_rows = self._by_rows(released, ceiling)
        membership = self._membership(residuals, ceiling, members, by_rows)
        drawn = [Rows.from_model(self.release.published, self.seed + place) for place in range(_TABLES_DRAWN)]
        equal = copies(real, released, drawn, self.held_out)
        findings = [
            *_noise_findings(residuals, membership, ceiling),
            *_row_findings(by_rows, ceiling),
            _copies_finding(equal.chance, equal.chance_of_members),
            self._stated_finding(ceiling),
            self._cost_finding(residuals),
        ]
        return Attacks(
            len(real.keys),
            None if self.held_out is None else len(self.held_out.keys),
            FALSE_ALARMS,
            ceiling,
            membership,
            tuple(inferences(released.table, self._some(released.table), residuals, members, others)),
            equal,
            tuple(rare_groups(real.table, released.table, drawn[0].table, self.rng)),
            tuple(findings),
        )

    def _residuals(self) -> Residuals | None:
        evidence = self.release.published.evidence
        if evidence is None or not evidence.views:
            return None
        found = Residuals.of(evidence, self.real.rows.table)
        if found.more_noise() < _OTHER_ROWS:
            raise DataError(
                "expected the rows that were released, got others: they are further from the published "
                "measurements than noise explains; give the table that was released, whole"
            )
        return found

    def _some(self, table: Table) -> Table:
        count = min(_ASKED, table.record_count)
        return table.take(np.sort(self.rng.choice(table.record_count, count, replace=False)))

    def _by_rows(self, released: Rows, ceiling: Ceiling) -> RowGuesses | None:
        if self.held_out is None:
            return None
        return guesses_by_rows(self.real.rows, self.held_out, released, ceiling.delta, _ALPHA, self.rng)

    def _membership(
        self,
        residuals: Residuals | None,
        ceiling: Ceiling,
        members: Table,
        by_rows: RowGuesses | None,
    ) -> Membership | None:
        if residuals is None:
            return None
        alone, _ = residuals.mu(Adjacency.ADD_REMOVE)
        worst, agree = residuals.mu(ceiling.adjacency)
        # Of the release with the record the ratio is this plus half of mu^2, without it this minus half.
        scores = residuals.scores(members.columns)
        right_of_real = (1 + float((np.abs(scores) < alone**2 / 2).mean())) / 2
        bound = least_mu(residuals, worst, _ALPHA)
        return Membership(
            residuals.freedom,
            alone,
            worst,
            agree,
            bound,
            gaussian_epsilon(bound, ceiling.delta),
            NormalDist().cdf(alone / residuals.scale / 2),
            right_of_real,
            by_rows,
            tuple(self._gaps(worst, ceiling)),
        )

    def _gaps(self, published: float, ceiling: Ceiling) -> Iterator[tuple[str, float]]:
        """What the budget went into that the published measurements do not show: shares of mu^2."""
        certificate, whole = self.release.certificate, ceiling.mu**2
        first = 0.0 if certificate.plan.bins is None else certificate.plan.bins.zcdp_rho
        scores = sum(one.zcdp_rho for one in certificate.charges if one.kind == AnswerKind.SCORES)
        named = {
            "the published measurements": published**2,
            "the first step, whose counts are not published": 2 * first,
            "scores, which are not published": 2 * scores,
        }
        yield from ((name, part / whole) for name, part in named.items())
        yield (
            "the rest: totals and boxes of marginals, other records' directions, and what was not spent",
            1 - sum(named.values()) / whole,
        )

    def _stated_finding(self, ceiling: Ceiling) -> Finding:
        """Labels, ends and bins."""
        certificate, domain = self.release.certificate, self.release.domain
        delta = 0.0 if certificate.plan.bins is None else certificate.plan.bins.labels_delta
        found: list[Suspicion] = [
            *rare_labels(self.real, _first(self.release.published), delta),
            *ends_and_bins(domain, self.real.numbers, ceiling.epsilon),
        ]
        worst = min(found, key=lambda one: one.chance, default=Suspicion("", 1.0))
        chance = min(1.0, float(worst.chance) * max(1, len(found)))
        alarm = chance < _ALPHA
        return Finding(
            "Values from the rows",
            "Whether labels, ends of ranges and bins are those of single real rows or their exact quantiles.",
            worst.what if alarm else f"nothing in {len(found)} comparisons",
            chance,
            alarm,
        )

    def _cost_finding(self, residuals: Residuals | None) -> Finding:
        published = 0.0 if residuals is None else residuals.mu(Adjacency.ADD_REMOVE)[0] ** 2 / 2
        certificate = self.release.certificate
        found = uncharged(certificate, _first(self.release.published), self.release.domain, published)
        return Finding(
            "Costs as charged",
            "All costs computed anew from the noise that the certificate states.",
            "; ".join(found) or "all are charged",
            0.0 if found else 1.0,
            bool(found),
        )


def _check(certificate: Certificate) -> None:
    """Refuses releases whose measurements are not those of the rows of one table."""
    plan = certificate.plan
    reasons = {
        "of people with several rows; attack a release of one table": plan.spec.unit
        != PrivacyUnit(plan.spec.adjacency),
        "of aligned parties, who count only some rows": plan.alignment is not None,
        "of a sample of the rows": plan.spec.sample is not None,
        "with other than Gaussian noise": certificate.promise.composition is not None,
    }
    if refused := [reason for reason, holds in reasons.items() if holds]:
        raise DataError(
            f"expected a release that counts each row of one table with Gaussian noise, got one {refused[0]}"
        )


def _encode(release: Release, rows: Source, header: bool | None) -> RealRows:
    unseen = {one.name: one for one in release.certificate.plan.unseen}
    found = real_rows(release.domain, unseen, raw_table(rows, header=header))
    if found.read.record_count < _FEWEST_REAL_ROWS:
        raise DataError(f"expected at least {_FEWEST_REAL_ROWS} rows, got fewer; give the whole table")
    return found


def _ceiling(certificate: Certificate) -> Ceiling:
    promise, stated = certificate.promise, promise_of(certificate)
    rho = promise.zcdp_rho_spent if promise.zcdp_rho_with_bins is None else promise.zcdp_rho_with_bins
    adjacency = Adjacency.named(certificate.plan.spec.adjacency)
    return Ceiling(stated.epsilon, stated.delta, math.sqrt(2 * rho), adjacency)


def _first(published: Published) -> Certificate | None:
    """The certificate of the release that chose codes, if it is at hand."""
    if published.drawn is not None:
        return published.drawn.bins
    if published.folder is None or not named_choice(published.folder, published.certificate):
        return None
    return Certificate.load(published.folder / BINS / CERTIFICATE)


def _noise_findings(
    residuals: Residuals | None, membership: Membership | None, ceiling: Ceiling
) -> Iterator[Finding]:
    if residuals is None or membership is None:
        return
    chance, worst = residuals.less_noise()
    alarm = chance < _ALPHA
    yield Finding(
        "Noise as stated",
        "The published measurements minus the true answers, which only the owner knows, have at least the "
        "noise that the certificate states.",
        f"{residuals.scale:.3f} times the stated noise over {residuals.freedom:,} independent numbers"
        + (f"; too little in {' x '.join(worst)}" if alarm else ""),
        chance,
        alarm,
    )
    above = membership.mu_bound > ceiling.mu
    yield Finding(
        "Membership, by one who knows all other rows",
        "The likelihood of the published measurements with and without a record.",
        f"mu is at least {membership.mu_bound:.3f}, that is epsilon {membership.epsilon_bound:.3g}; the "
        f"promise allows {ceiling.mu:.3f} and {ceiling.epsilon:.3g}",
        _ALPHA if above else 1.0,
        above,
    )


def _row_findings(by_rows: RowGuesses | None, ceiling: Ceiling) -> Iterator[Finding]:
    if by_rows is None:
        return
    most = ceiling.epsilon_of_replacing
    above = by_rows.epsilon > most
    yield Finding(
        "Membership, by the released rows alone",
        "Which of two people, one of the table and one held out, was in the table.",
        f"{by_rows.right:.1%} of {by_rows.pairs:,} pairs are right; epsilon of replacing a record is at "
        f"least {by_rows.epsilon:.3g}, and the promise allows {most:.3g}",
        _ALPHA if above else 1.0,
        above,
    )


def _copies_finding(drawn: float, members: float | None) -> Finding:
    chances = [drawn] if members is None else [drawn, members]
    chance = min(1.0, len(chances) * min(chances))
    alarm = chance < _ALPHA
    return Finding(
        "Copied rows",
        "Released rows that equal the only real row of their kind, against the number that chance explains.",
        "more than chance explains" if alarm else "as many as chance explains",
        chance,
        alarm,
    )
