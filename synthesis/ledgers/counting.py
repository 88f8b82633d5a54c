"""A release is counted in the ledgers of its tables before it draws noise."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ...common.errors import DataError, MosaicWarning
from ...common.privacy.budget import Budget
from ...common.privacy.cost import PrivacyUnit
from ...curator.mechanisms.mechanism import Mechanism
from ...simulations.stopping import counted_spending
from ...simulations.tables.frames import Source
from ..unfinished import Forgotten, Unfinished
from .ledger import Content, Ledger, charge, settle
from .places import LedgerLike, ledgers_of
from .spent import Spent, compose


class BudgetWarning(MosaicWarning):
    """What several releases of one table promise together, or keep, or that a release is not counted."""


@dataclass(frozen=True)
class Priced:
    """What a release is allowed to cost.

    Attributes:
        budget: its promise.
        unit: what differs between neighbouring tables.
        mechanism: what it measures by.
        labels_delta: what texts may take of delta.
        releases: number of releases that share the promise.
        earlier: ids of those of them that were made before, which a ledger counts with this one.
    """

    budget: Budget
    unit: PrivacyUnit
    mechanism: Mechanism
    labels_delta: float
    releases: int = 1
    earlier: tuple[str, ...] = ()

    def entry(self, release_id: str, at: str, out: str, turn: str = "") -> Spent:
        """What one of the releases is charged for; see `Spent`."""
        charged = Spent.of(
            release_id, at, out, self.budget, self.unit, self.mechanism, self.labels_delta, self.releases
        )
        return replace(charged, turn=turn)


@contextlib.contextmanager
def counted_release(
    data: Source | Mapping[str, Source],
    ledger: LedgerLike,
    priced: Priced,
    kept: Unfinished | Forgotten,
    seeded: bool,
) -> Iterator[None]:
    """Counts a release in full before the block; in part, if the block fails and no folder keeps its answers.

    After the block it is counted in full once more if a copy of its folder went on meanwhile.

    Args:
        data: its tables.
        ledger: see `synthesize`.
        priced: what it is allowed to cost.
        kept: what keeps its answers.
        seeded: whether it is reproducible and not for release, and so not counted.

    Raises:
        BudgetError: it is beyond the limit of a ledger; nothing was spent, unless a copy went on meanwhile.
        DataError: a ledger cannot be read or changed; nothing was spent.

    Warns:
        BudgetWarning: it is not the first, or it cannot be counted.
    """
    if seeded:
        yield
        return
    one, after = _charge(data, ledger, priced, kept)
    with counted_spending() as spending:
        try:
            said = [_line(content, priced.unit) for content in after.values()]
            said += [_continued_twice(content, one) for content in after.values()]
            for line in dict.fromkeys(said):
                if line:
                    warnings.warn(line, BudgetWarning, stacklevel=4)
            yield
        except BaseException:
            # What a folder keeps goes on, and costs then what it was charged for.
            if not kept.has_answers():
                with contextlib.suppress(OSError):
                    settle(tuple(after), one, min(spending.share, 1.0))
            raise
    if kept.folder is not None:
        # Whoever goes on from a copy of the folder as it was before does not have this turn.
        turns, last = kept.take_turn()
        charge(tuple(after), replace(one, turn=last), turns, drawn=True)


def _charge(
    data: Source | Mapping[str, Source], ledger: LedgerLike, priced: Priced, kept: Unfinished | Forgotten
) -> tuple[Spent, dict[Ledger, Content]]:
    """Charges a release; its entry, and what its ledgers say then."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    folder = "" if kept.folder is None else str(kept.folder.resolve())
    turns, now = kept.take_turn()
    continued = priced.earlier[-1] if priced.earlier else ""
    one = replace(priced.entry(kept.release_id, at, folder, now), after=continued)
    earlier = tuple(priced.entry(other, "before", "") for other in priced.earlier)
    asked = ledgers_of(data, ledger)
    after = charge([each for each in asked if each is not None], one, turns, earlier)
    if len(after) < len(asked):
        missing = next((str(each.path) for each in asked if each is not None and each not in after), "")
        place = missing or "the folder of state"
        if ledger is not True:
            raise DataError(
                f"ledger: expected a file that can be written, got {place}; choose another. Nothing was spent"
            )
        warnings.warn(
            f"this release is not counted where no ledger can be written: {place}. Name one that can be "
            "with ledger= or --ledger, or leave it out with ledger=False or --no-ledger",
            BudgetWarning,
            stacklevel=5,
        )
    return one, after


def _continued_twice(content: Content, one: Spent) -> str:
    """That a release goes on from one from which another went on; empty if none did."""
    others = [
        other
        for other in content.spent
        if one.after == other.after != "" and one.release_id != other.release_id and not other.ended
    ]
    if not others:
        return ""
    return (
        f"the release before was continued already, at {others[0].at}"
        + (f" into {others[0].out}" if others[0].out else "")
        + ": what all of them share is promised if each is continued once. Publish one of the two alone, or "
        "take what this ledger says of all together for the promise"
    )


def _line(content: Content, unit: PrivacyUnit) -> str:
    """What the releases of a table promise together; empty for a first one."""
    if len(content.spent) < 2:
        return ""
    same = [one for one in content.spent if one.cost.unit == unit]
    said = []
    if len(same) > 1:
        said.append(f"{len(same)} releases together promise {compose(same)}")
    if others := len(content.spent) - len(same):
        said.append(f"{others} of another unit {'is' if others == 1 else 'are'} in no sum with this one")
    if len({one.rows for one in content.spent if one.rows}) > 1:
        said.append("its rows have changed between releases")
    return "this table was released before: " + "; ".join(
        [*said, "`dpmosaic budget TABLE` or dpmosaic.budget(data) lists them"]
    )
