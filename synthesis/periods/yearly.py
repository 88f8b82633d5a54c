"""Releases of the same people, period after period, under one promise: each has the rows of its period alone.

The people of the release before stay as they were published, and get rows of the new period: given who they
are and what their last row holds. New people are drawn with theirs. What was measured of earlier periods is
not measured again; from the third release on, what people did in the period before is what they are expected
to do in the new one, as far as it proves right (`making`).
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...common.data.attributes.unmodelled import WHOLE_NUMBERS
from ...common.data.domain import Domain
from ...common.data.related.steps import Steps, check_order
from ...common.errors import BudgetError, DataError
from ...curator.people.certificate import Lifetime, share_promise
from ...curator.people.kin import Kin
from ...curator.people.release import PeopleRelease
from ...curator.people.shape import Family, number_name, numbers_on
from ...curator.people.tables import shown_as_real
from ...curator.results.columns.typed import typed_column
from ...curator.results.raw_frames import encode_frame
from ..related.asked import Asked
from ..related.frames import ROWS
from ..related.keyed import PEOPLE, read_keyed
from ..related.tables import Raw
from .earlier import FILE, Earlier, value_of
from .making import Known, PeriodMaking
from .period import Before, Period, domain_of_rows, domains_in, rows_after, rows_in
from .period_before import PeriodBefore

_NEEDED = 20.0
"""A period of fewer people than this, for each deviation of a count of people, is mostly noise."""


@dataclass(frozen=True)
class Sharing:
    """What `synthesize` is told of releases that share a promise.

    Attributes:
        releases: number of releases that share the promise.
        until: the last value of the order of which this one has rows.
        continues: folder of the release before; None for the first.
    """

    releases: int
    until: object
    continues: Path | None = None


@dataclass(frozen=True, eq=False)
class Yearly:
    """One of several releases that share a promise, before it is made.

    Attributes:
        tables: people and their rows in the period.
        domains: of them.
        period: the period.
        whole: the domains over all periods.
        lifetime: which one it is, without its id.
        known: what was published before the period; None in the first release.
        earlier: the release that it continues; None for the first.
    """

    tables: tuple[Raw, ...]
    domains: dict[str, Domain]
    period: Period
    whole: dict[str, Domain]
    lifetime: Lifetime
    known: Known | None
    earlier: Earlier | None

    @classmethod
    def of(
        cls,
        tables: tuple[Raw, ...],
        domains: dict[str, Domain],
        sharing: Sharing,
        asked: Asked,
    ) -> Yearly:
        """Checks and prepares a release.

        Args:
            tables: people and all their rows.
            domains: of both, over all periods.
            sharing: what the release is told.
            asked: the release.

        Raises:
            DataError: something does not fit the release that it continues, or releases of this kind.
            BudgetError: all releases were made that share the promise.
        """
        people, rows = tables
        if not rows.order or ROWS not in domains:
            raise DataError(
                "order and domain: expected both in releases that share a promise, the column of the order "
                "and one domain for all of them; name them"
            )
        order = rows.order
        if order not in domains[ROWS].names:
            raise DataError(
                f"domain: expected the order {order!r} among its attributes, found it missing; add it"
            )
        if followers := domains[ROWS].followers:
            raise DataError(
                f"domain: expected no column that is computed in releases that share a promise, got "
                f"{followers[0].name!r}; take its expression out, or compute it from the released table"
            )
        check_order(domains[ROWS][order])
        own = domain_of_rows(domains[ROWS], order)
        steps = Steps(domains[ROWS][order])
        earlier = None if sharing.continues is None else Earlier.read(sharing.continues)
        end = value_of(steps, sharing.until)
        start = -np.inf if earlier is None else value_of(steps, earlier.lifetime.until)
        if not max(start, steps.units.ends[0] - 1e-9) < end <= steps.units.ends[1]:
            raise DataError(
                f"until: expected a value of {order!r} within its domain and after the release before, got "
                f"{sharing.until!r}; name the last one of the new period"
            )
        period = Period(steps, start, end)
        named = [people.key, order, list(people.rows.columns), [*map(Domain.digest, domains.values())]]
        # Releases before there were patterns are continued too.
        named += [] if people.pattern == WHOLE_NUMBERS else [people.pattern]
        lifetime = _lifetime(earlier, sharing, asked, hashlib.sha256(json.dumps(named).encode()).hexdigest())
        if earlier is None:
            found, before, known = rows_in(tables, period), None, None
        else:
            before = Before.of(own, (people.key, order, *people.rows.columns), earlier.people()[1])
            found = rows_after(tables, period, own, before)
            known = _knowledge(earlier, people, period, domains, before)
        inside = domains_in(domains, period, before)
        return cls(found, inside, period, domains, lifetime, known, earlier)

    @property
    def settings(self) -> dict[str, str]:
        """What answers depend on beside what any release of people has, by name."""
        return {"releases, until and the release that it continues": repr(self.lifetime)}

    def notes(self, asked: Asked) -> tuple[str, ...]:
        """What its user should know before anything is spent; it follows from public facts alone.

        Args:
            asked: the release.
        """
        if self.earlier is not None:
            return (
                f"rows up to {self.earlier.lifetime.until} stay as they were published: real rows that came "
                "late or were corrected since are not released; where one is the last of its person, it says "
                "what the new rows follow",
            )
        share = float(asked.mechanism.granted(asked.budget)) / self.lifetime.releases
        needed = _NEEDED / math.sqrt(2 * share)
        needed = round(needed, -max(0, int(math.log10(needed)) - 1))
        return (
            f"{self.lifetime.releases} releases share the promise, and each needs about {needed:,.0f} people "
            "with rows in its period for single columns to be seen, and more for pairs; of fewer it is "
            "mostly noise, or empty. This is said of any table; with fewer people take longer periods and "
            "fewer releases, or a larger epsilon",
        )

    @property
    def earlier_ids(self) -> tuple[str, ...]:
        """Ids of the releases before."""
        held = () if self.earlier is None else self.earlier.kept.certificates
        return tuple(one.lifetime.release_id for one in held if one.lifetime is not None)

    def release(self, asked: Asked) -> tuple[PeopleRelease, tuple[str, ...]]:
        """The release, and what its user should know of it."""
        shared = replace(asked, releases=self.lifetime.releases)
        people, told = PeriodMaking(self.tables, shared, self.known).release()
        rows = self._with_order(people.family[ROWS], people.frames[ROWS])
        if self.earlier is not None:
            rows = self._continue_rows(rows)
        family = self._show_all(people.family)
        rows = shown_as_real(family, family[ROWS], rows)
        lifetime = replace(self.lifetime, release_id=asked.kept.release_id)
        return (
            replace(
                people,
                family=family,
                frames={ROWS: rows},
                certificate=share_promise(people.certificate, lifetime),
                continued=None if self.earlier is None else self.earlier.kept,
            ),
            told,
        )

    def _with_order(self, table: Kin, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows with the value of an order that has one in the period."""
        if self.period.order is not None:
            return rows
        when = self.period.steps.when
        values, known = np.full(len(rows), self.period.end), np.zeros(len(rows), dtype=np.bool_)
        decoded = when.of_numbers(values, known)  # type: ignore[attr-defined]
        return rows.assign(**{when.name: typed_column(Domain((when,)), when.name, decoded)})

    def _continue_rows(self, new: pd.DataFrame) -> pd.DataFrame:
        """The rows of the release before, and after them the new ones, with the keys of their people."""
        assert self.earlier is not None
        names, first = self.earlier.names, self.earlier.people()[0]
        key, held = names.name, first[names.name].to_numpy()
        places = names.numbers_in(new[key]) - 1
        known = places < len(held)
        _, ranks = np.unique(places[~known], return_inverse=True)
        last = int(names.numbers_in(held).max(initial=0))
        more = names.draw(int(ranks.max(initial=-1)) + 1, last + 1)
        keys = np.empty(len(places), dtype=held.dtype)
        keys[known] = held[places[known]]
        keys[~known] = more[ranks]
        new = new.assign(**{key: pd.Series(keys, index=new.index).astype(self.earlier.rows[key].dtype)})
        for name in self._per_person:
            cells = new[name].astype(object).to_numpy(copy=True)
            cells[known] = first[name].astype(object).to_numpy()[places[known]]
            new[name] = pd.Series(cells, index=new.index).astype(first[name].dtype)
        return pd.concat([self.earlier.rows, new[self.earlier.rows.columns]], ignore_index=True)

    @property
    def _per_person(self) -> tuple[str, ...]:
        return self.whole[PEOPLE].names if PEOPLE in self.whole else ()

    def _show_all(self, family: Family) -> Family:
        """The tables as they are shown, of all periods."""
        people, rows = family.root, family[ROWS]
        assert people.domain is not None
        number = people.domain[number_name(ROWS)]
        whole = self.whole.get(PEOPLE)
        own = domain_of_rows(self.whole[ROWS], self.period.steps.when.name)
        named = () if whole is None else whole.attributes
        return Family(
            (
                replace(people, domain=Domain((*named, number)), groups={}),
                replace(rows, domain=own, steps=self.period.steps, moves=(), groups={}),
            )
        )


def _knowledge(
    earlier: Earlier, people: Raw, period: Period, domains: dict[str, Domain], before: Before
) -> Known:
    """What was published before a period.

    Args:
        earlier: the release before.
        people: real people, of whom the names of columns are used.
        period: the period.
        domains: over all periods.
        before: what is known of people.
    """
    first, last = earlier.people()
    order = period.steps.when.name
    own = domain_of_rows(domains[ROWS], order)
    values = numbers_on(period.steps, last[order], period.start)
    codes = before.codes(own, last, np.arange(len(last)), period.long_before(values))
    if PEOPLE in domains:
        held = encode_frame(domains[PEOPLE], first)
        codes |= {name: held.column(name).astype(np.int64) for name in held.domain}
    found = Known(codes, before.attributes[0].name, None)
    start = earlier.start(period.steps)
    one_before = None if start is None else Period(period.steps, start, period.start)
    # Rows with an order within their period and rows without say little of each other.
    alike = one_before is not None and (one_before.order is None) == (period.order is None)
    if one_before is None or not alike or earlier.rows.empty:
        return found
    named = tuple(map(str, people.rows.columns))
    # They are in order, so that nothing is drawn.
    published = read_keyed(earlier.rows, earlier.names.name, named, order, np.random.default_rng(0))
    return replace(found, last=PeriodBefore.of(published, one_before, period, own, before))


def _lifetime(earlier: Earlier | None, sharing: Sharing, asked: Asked, settings: str) -> Lifetime:
    """Which one of the releases one is.

    Raises:
        DataError: it does not fit the release that it continues.
        BudgetError: all were made.
    """
    until = str(sharing.until)
    if earlier is None:
        if sharing.releases < 2:
            raise BudgetError(f"releases: expected at least 2, which share a promise, got {sharing.releases}")
        return Lifetime(sharing.releases, 1, "", until, settings, FILE)
    before = earlier.lifetime
    if before.settings != settings:
        raise DataError(
            "continues: expected the key, order, per_person and domain of the release before, got others; "
            "give the same"
        )
    if (before.releases, earlier.certificate.budget) != (sharing.releases, asked.budget):
        raise DataError(
            "continues: expected releases, epsilon and delta of the release before, which state the promise "
            "of all, got others; give the same"
        )
    if before.number == before.releases:
        raise BudgetError(
            f"expected at most {before.releases} releases, which share the promise, got one more; that is "
            "spent. Nothing was charged"
        )
    if earlier.certificate.labels and asked.seed is None:
        raise DataError(
            "continues: expected a private release, got one with a seed or another label; make a first one "
            "without"
        )
    return Lifetime(
        before.releases,
        before.number + 1,
        "",
        until,
        settings,
        FILE,
        earlier.certificate.digest().hex(),
        earlier.certificate.zcdp_rho_spent,
        len(earlier.kept.table),
    )
