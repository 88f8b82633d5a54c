"""Releases of the same people, period after period, under one promise: each has the rows of its period alone.

The people of the release before stay as they were published, and get rows of the new period: given who they
are and what their last row holds. New people are drawn with theirs. What was measured of earlier periods is
not measured again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..common.data.domain import Domain
from ..common.data.related.rows import Rows
from ..common.data.related.steps import Steps, check_order
from ..common.data.table import Table
from ..common.errors import BudgetError, DataError
from ..curator.analysis.conditions import Condition
from ..curator.analysis.drawing import Drawing
from ..curator.certificates.verify import CERTIFICATE
from ..curator.people.certificate import PeopleCertificate, share_promise
from ..curator.people.drawing.children import draw
from ..curator.people.files import earlier_certificates, file_name
from ..curator.people.lifetime import Lifetime
from ..curator.people.release import TABLES, Continued, PeopleRelease, load_people
from ..curator.people.shape import Family, Kin, number_name, numbers_on
from ..curator.people.tables import shown_as_real
from ..curator.results.frames import typed_column
from ..curator.results.raw_frames import encode_frame
from .periods import NEW, Before, Period, domain_of_rows, domains_in, rows_after, rows_in
from .related import Asked, Making
from .related_frames import ROWS
from .related_tables import PEOPLE, Raw

_FILE = f"{TABLES}/{file_name(ROWS)}.csv"


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
class Earlier:
    """The release before, as it was published.

    Attributes:
        rows: its table, those of a person in their order.
        key: column of the keys.
        certificate: of it.
        kept: what the next one keeps.
    """

    rows: pd.DataFrame
    key: str
    certificate: PeopleCertificate
    kept: Continued

    @classmethod
    def read(cls, folder: Path) -> Earlier:
        """Reads the folder of a release.

        Raises:
            DataError: it is none that can be continued, or it was changed.
        """
        release = load_people(folder)
        certificate = PeopleCertificate.load(folder / CERTIFICATE)
        path = folder / _FILE
        if certificate.lifetime is None or not path.is_file():
            raise DataError(
                "continues: expected a release of a table with a key that shares its promise with others, "
                f"got another in {folder}; make the first one with `releases` and `until`"
            )
        certificates = (*earlier_certificates(certificate, folder), certificate)
        table = path.read_bytes()
        return cls(
            release.frames[ROWS], release.family[ROWS].foreign, certificate, Continued(table, certificates)
        )

    @property
    def lifetime(self) -> Lifetime:
        """Which of the releases it is."""
        assert self.certificate.lifetime is not None
        return self.certificate.lifetime

    def people(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The first and the last row of each synthetic person, in the order of their keys."""
        keys = self.rows[self.key]
        first, last = self.rows[~keys.duplicated()], self.rows[~keys.duplicated(keep="last")]
        both = (one.sort_values(self.key, kind="stable").reset_index(drop=True) for one in (first, last))
        found = tuple(both)
        return found[0], found[1]


@dataclass(frozen=True, eq=False)
class Yearly:
    """One of several releases that share a promise, before it is made.

    Attributes:
        tables: people and their rows in the period.
        domains: of them.
        period: the period.
        whole: the domains over all periods.
        lifetime: which one it is, without its id.
        before: what is known of people before the period; None in the first release.
        earlier: the release that it continues; None for the first.
    """

    tables: tuple[Raw, ...]
    domains: dict[str, Domain]
    period: Period
    whole: dict[str, Domain]
    lifetime: Lifetime
    before: Before | None
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
        check_order(domains[ROWS][order])
        own = domain_of_rows(domains[ROWS], order)
        steps = Steps(domains[ROWS][order])
        earlier = None if sharing.continues is None else Earlier.read(sharing.continues)
        end = _value(steps, sharing.until)
        start = -np.inf if earlier is None else _value(steps, earlier.lifetime.until)
        if not max(start, steps.units.ends[0] - 1e-9) < end <= steps.units.ends[1]:
            raise DataError(
                f"until: expected a value of {order!r} within its domain and after the release before, got "
                f"{sharing.until!r}; name the last one of the new period"
            )
        period = Period(steps, start, end)
        named = (people.key, order, list(people.rows.columns), [*map(Domain.digest, domains.values())])
        lifetime = _lifetime(earlier, sharing, asked, hashlib.sha256(json.dumps(named).encode()).hexdigest())
        if earlier is None:
            found, before = rows_in(tables, period), None
        else:
            _, last = earlier.people()
            before = Before.of(own, (people.key, order, *people.rows.columns), last)
            found = rows_after(tables, period, own, before)
        inside = domains_in(domains, period, before)
        return cls(found, inside, period, domains, lifetime, before, earlier)

    @property
    def settings(self) -> dict[str, str]:
        """What answers depend on beside what any release of people has, by name."""
        return {"releases, until and the release that it continues": repr(self.lifetime)}

    @property
    def earlier_ids(self) -> tuple[str, ...]:
        """Ids of the releases before."""
        held = () if self.earlier is None else self.earlier.kept.certificates
        return tuple(one.lifetime.release_id for one in held if one.lifetime is not None)

    def release(self, asked: Asked) -> tuple[PeopleRelease, tuple[str, ...]]:
        """The release, and what its user should know of it."""
        making = _Making(self, asked)
        people, told = making.release()
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
        key, first = self.earlier.key, self.earlier.people()[0]
        held = first[key].to_numpy()
        places = new[key].to_numpy() - 1
        known = places < len(held)
        _, ranks = np.unique(places[~known], return_inverse=True)
        keys = np.empty(len(places), dtype=np.int64)
        keys[known] = held[places[known]]
        keys[~known] = held.max(initial=0) + 1 + ranks
        new = new.assign(**{key: keys})
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
                replace(rows, domain=own, steps=self.period.steps, quantiles=(), groups={}),
            )
        )


class _Making(Making):
    """The release of a period in the making."""

    def __init__(self, yearly: Yearly, asked: Asked) -> None:
        self._yearly = yearly
        super().__init__(yearly.tables, replace(asked, releases=yearly.lifetime.releases))

    def _people(self) -> Table:
        earlier, before = self._yearly.earlier, self._yearly.before
        whole = super()._people()
        if earlier is None or before is None:
            return whole
        stream = self._stream.child("people of before")
        given = _with_new(self._yearly, earlier, before, self._new_people(whole, before))
        root, rows = self._family.root, self._family[ROWS]
        assert root.domain is not None
        drawn = tuple(one for one in whole.domain.attributes if one.name not in given)
        known = tuple(one for one in root.domain.attributes if one.name in given)
        size = len(next(iter(given.values())))
        # What a period says of a person is drawn as a row is that belongs to them, one of each.
        as_rows = Family(
            (
                Kin(PEOPLE, Domain(known)),
                Kin(rows.name + "_", Domain(drawn), parent=PEOPLE, alone=True),
            )
        )
        people = {PEOPLE: Rows(given, np.arange(size), size)}
        model = self._releases[root.name].model
        ones = np.ones(size, dtype=np.int64)
        found = draw(as_rows, rows.name + "_", people, model, ones, stream.generator())
        return Table.from_codes(whole.domain, {**given, **found.codes})

    def _new_people(self, whole: Table, before: Before) -> Table | None:
        """New people; only the columns are of use that the release has of people themselves."""
        known = before.attributes[0].name
        number = int((whole.column(known) == 0).sum())
        if not number:
            return None
        published = self._releases[self._family.root.name].published
        drawing = Drawing.of(
            published, number, Condition.of(published.domain, {known: NEW}), self._asked.seed
        )
        return Table.concatenate([block.table for block in drawing.blocks()])


def _with_new(
    yearly: Yearly, earlier: Earlier, before: Before, new: Table | None
) -> dict[str, NDArray[np.int64]]:
    """The codes of the synthetic people of before, by what was published of them, and then of new ones."""
    first, last = earlier.people()
    order = yearly.period.steps.when.name
    own = domain_of_rows(yearly.whole[ROWS], order)
    values = numbers_on(yearly.period.steps, last[order], yearly.period.start)
    places = np.arange(len(last))
    codes = before.codes(own, last, places, yearly.period.long_before(values))
    if PEOPLE in yearly.whole:
        held = encode_frame(yearly.whole[PEOPLE], first)
        codes |= {name: held.column(name).astype(np.int64) for name in held.domain}
    if new is None:
        return codes
    return {name: np.append(held, new.column(name).astype(np.int64)) for name, held in codes.items()}


def _value(steps: Steps, until: object) -> float:
    """A value of the order on its scale; NaN if it is none."""
    try:
        return float(numbers_on(steps, pd.Series([until], name=steps.when.name), np.nan)[0])
    except (DataError, ValueError, TypeError):
        return np.nan


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
        return Lifetime(sharing.releases, 1, "", until, settings, _FILE)
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
        _FILE,
        earlier.certificate.digest().hex(),
        earlier.certificate.zcdp_rho_spent,
        len(earlier.kept.table),
    )
