"""The ledger of one table: a private file of its owner that says what was spent, and no value."""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...common.bounded import fraction_of, json_of, read_bytes
from ...common.errors import BudgetError, DataError
from ...common.federation.private_files import check_one_name, write_private
from ...common.forms.several import Either, ListOf
from ...common.forms.tables import Key, Table
from ...common.forms.values import Choice, Null, Number, Text, Truth, whole
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ROWS_PER_PERSON, Adjacency, PrivacyUnit
from ...common.privacy.spending import Cost
from ...common.processes.locks import POSIX, turn_at
from ...simulations.tables.frames import Source, digest_of
from .spent import Spent, epsilon_left, fits

_FORMAT = 1
_ABOUT = (
    "The ledger of a table of dpmosaic, for its owner: not for release. It holds no value of the table. Who "
    "has it can test whether a table that they guess is this one as a whole."
)
_POSITIVE = Number(above=0)
_SHARE = Number(above=0, below=1)
_FRACTION_TEXT = Text("[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", "a fraction of whole numbers")
_HEX = Text("([0-9a-f]{64})?", "64 hexadecimal digits")
_RELEASE = {
    "release": Text(),
    "at": Text(),
    "out": Text(),
    "epsilon": _POSITIVE,
    "delta": _SHARE,
    "adjacency": Choice(tuple(Adjacency)),
    ROWS_PER_PERSON: whole(0),
    "zcdp_rho": _FRACTION_TEXT,
    "labels_delta": _FRACTION_TEXT,
    "alone": Truth(),
    "rows": _HEX,
    "ended": Truth(),
}
_TURN, _AFTER = "turn", "after"
"""Keys that a ledger of an earlier version lacks."""

_LIMIT = {"epsilon": _POSITIVE, "delta": _SHARE}


def _keys(forms: Any, optional: Mapping[str, Key] = MappingProxyType({})) -> Table:
    return Table({name: Key(form, required=True) for name, form in forms.items()} | dict(optional))


_FORM = _keys(
    {
        "about": Text(),
        "format": Choice((str(_FORMAT),)),
        "salt": _HEX,
        "limit": Either((_keys(_LIMIT), Null())),
        "releases": ListOf(_keys(_RELEASE, {_TURN: Key(Text()), _AFTER: Key(Text())})),
    }
)


@dataclass(frozen=True)
class Content:
    """What a ledger says.

    Attributes:
        salt: key of the digests of rows, hexadecimal.
        limit: what all releases may promise together; None for no limit.
        spent: the releases, in the order in which they began.
    """

    salt: str = field(default_factory=lambda: secrets.token_hex(32))
    limit: Budget | None = None
    spent: tuple[Spent, ...] = ()

    def going_on(self, one: Spent, turns: Collection[str]) -> Content | None:
        """The ledger when a release that it has goes on; None if it does not have it.

        Args:
            one: the release.
            turns: those of the folder from which it goes on. If the ledger has another, a copy of the folder
                went on since: both draw noise of their own, and are two releases.
        """
        for place, other in enumerate(self.spent):
            if other.release_id == one.release_id and other.turn in turns:
                spent = (*self.spent[:place], replace(other, turn=one.turn), *self.spent[place + 1 :])
                return replace(self, spent=spent)
        return None

    def with_release(self, one: Spent, path: Path) -> Content:
        """The ledger with one more release.

        Args:
            one: the release.
            path: of the ledger, for the error.

        Raises:
            BudgetError: the limit does not allow it.
        """
        after = replace(self, spent=(*self.spent, one))
        if self.limit is not None and not fits(after.spent, self.limit):
            raise BudgetError(
                f"expected at most epsilon {epsilon_left(self.spent, self.limit):g} at delta "
                f"{self.limit.delta:g}, which is left of the limit {self.limit.epsilon:g} in {path}, got "
                f"{one.budget.epsilon:g} at delta {one.budget.delta:g}; lower epsilon, or raise the limit "
                "with `dpmosaic budget TABLE --limit`. Nothing was spent"
            )
        return after


@dataclass(frozen=True, eq=False)
class Ledger:
    """The ledger of one table, or of several that are released together.

    Attributes:
        path: its file; that of a link is where the file is.
        tables: the tables; rows of a ledger whose name follows from the rows are not compared.
    """

    path: Path
    tables: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        # A charge replaces the file, so that through a link it would be at the link alone.
        object.__setattr__(self, "path", Path(os.path.realpath(self.path)))

    def read(self) -> Content:
        """What it says; nothing if there is no file.

        Raises:
            DataError: it cannot be read, or is no ledger.
        """
        try:
            text = read_bytes(self.path)
        except FileNotFoundError:
            return Content()
        except (OSError, ValueError) as cause:
            raise DataError(
                f"cannot read {self.path}: {cause}; restore it, or give another ledger"
            ) from cause
        # Whoever made it ended before there was anything in it.
        return _content(text, self.path) if text else Content()

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Others wait until the end of the block.

        Raises:
            OSError: there is no ledger, and none can be made.
            DataError: there is one that cannot be changed.
        """
        existed = self._may_exist()
        with contextlib.ExitStack() as turn:
            try:
                turn.enter_context(turn_at(self.path))
                check_one_name(self.path)
            except OSError as cause:
                if existed:
                    raise DataError(
                        f"expected a ledger that can be changed at {self.path}, got: {cause.strerror}; make "
                        "it writable, or give another ledger. Nothing was spent"
                    ) from cause
                raise
            try:
                yield
            finally:
                # What is left of it is an empty file, which says nothing.
                with contextlib.suppress(OSError):
                    if not self.path.stat().st_size:
                        self.path.unlink()

    def _may_exist(self) -> bool:
        """Whether there is a file, or the system does not tell."""
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            pass
        return True

    def write(self, content: Content) -> None:
        """Replaces the file, whole or not at all, and waits for the disk; within `changing`.

        Raises:
            DataError: it cannot be written.
        """
        try:
            write_private(self.path, (json.dumps(_json(content), indent=1) + "\n").encode())
            if POSIX:
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as cause:
            raise DataError(
                f"cannot write {self.path}: {cause}; make room for it, or give another"
            ) from cause

    def put_back(self, content: Content) -> None:
        """Writes what it said before a change that failed, if it can be written; within `changing`."""
        with contextlib.suppress(DataError):
            self.write(content)

    def rows(self, salt: str) -> str:
        """A digest of the rows, which says something only to whoever has the salt; empty for no tables."""
        if not self.tables:
            return ""
        key = bytes.fromhex(salt)
        digest = hmac.new(key, digestmod="sha256")
        for table in self.tables:
            digest.update(digest_of(table, key))
        return digest.hexdigest()


def charge(
    ledgers: Sequence[Ledger],
    one: Spent,
    turns: Collection[str] = (),
    earlier: Sequence[Spent] = (),
    *,
    drawn: bool = False,
) -> dict[Ledger, Content]:
    """Writes a release into all of its ledgers before it begins; or into none, if a limit does not allow it.

    Args:
        ledgers: those of its tables.
        one: the release.
        turns: see `Content.going_on`.
        earlier: releases that it continues, which may be of a file or a data frame with another ledger.
        drawn: whether it has drawn noise, so that it stays counted wherever it could be written.

    Returns:
        What each ledger says after it, of those that can be made.

    Raises:
        BudgetError: a limit does not allow it; nothing was charged.
        DataError: a ledger cannot be read or changed; nothing was charged.
    """
    # In one order for all, so that two releases do not wait for each other.
    each = sorted(ledgers, key=lambda ledger: ledger.path)
    with contextlib.ExitStack() as waiting:
        after: dict[Ledger, Content] = {}
        for ledger in each:
            with contextlib.suppress(OSError):
                waiting.enter_context(ledger.changing())
                after[ledger] = ledger.read()
        before = dict(after)
        for ledger, content in after.items():
            known = {spent.release_id for spent in content.spent}
            for other in earlier:
                if other.release_id not in known:
                    content = content.with_release(other, ledger.path)
            after[ledger] = content.going_on(one, turns) or content.with_release(
                replace(one, rows=ledger.rows(content.salt)), ledger.path
            )
        with contextlib.ExitStack() as undoing:
            for ledger, content in after.items():
                if not drawn:
                    undoing.callback(ledger.put_back, before[ledger])
                ledger.write(content)
            undoing.pop_all()
    return after


def settle(ledgers: Sequence[Ledger], ended: Spent, share: float) -> None:
    """Writes what a release cost that ended early: this share of its rho, and nothing if it is zero."""

    def is_it(one: Spent) -> bool:
        return (one.release_id, one.turn) == (ended.release_id, ended.turn)

    for ledger in ledgers:
        with ledger.changing():
            content = ledger.read()
            spent = (
                one.only(share) if is_it(one) else one for one in content.spent if share or not is_it(one)
            )
            ledger.write(replace(content, spent=tuple(spent)))


def limit_values(limit: Budget | None) -> dict[str, Any] | None:
    """A limit, as JSON values."""
    return None if limit is None else {"epsilon": limit.epsilon, "delta": limit.delta}


def release_values(one: Spent) -> dict[str, Any]:
    """A release, as JSON values."""
    return {
        "release": one.release_id,
        "at": one.at,
        "out": one.out,
        "epsilon": one.budget.epsilon,
        "delta": one.budget.delta,
        **one.cost.unit.values(),
        "zcdp_rho": str(one.cost.zcdp_rho),
        "labels_delta": str(one.cost.delta),
        "alone": one.alone,
        "rows": one.rows,
        "ended": one.ended,
        _TURN: one.turn,
        **({_AFTER: one.after} if one.after else {}),
    }


def _json(content: Content) -> dict[str, Any]:
    return {
        "about": _ABOUT,
        "format": str(_FORMAT),
        "salt": content.salt,
        "limit": limit_values(content.limit),
        "releases": [release_values(one) for one in content.spent],
    }


def _content(text: bytes, path: Path) -> Content:
    try:
        found = json_of(text)
    except ValueError as cause:
        raise DataError(f"{path}: {cause}; restore the ledger, or give another") from cause
    for fault in _FORM.faults(found):
        place = " ".join(fault.path) or "the whole"
        raise DataError(f"{path}: {place}: {fault.reason}; restore the ledger, or give another")
    limit = found["limit"]
    return Content(
        found["salt"],
        None if limit is None else Budget(limit["epsilon"], limit["delta"]),
        tuple(_release_of(one) for one in found["releases"]),
    )


def _release_of(one: dict[str, Any]) -> Spent:
    cost = Cost(PrivacyUnit.of(one), fraction_of(one["zcdp_rho"]), fraction_of(one["labels_delta"]))
    budget = Budget(one["epsilon"], one["delta"])
    charged = Spent(one["release"], one["at"], one["out"], budget, cost)
    charged = replace(charged, alone=one["alone"], rows=one["rows"], ended=one["ended"])
    return replace(charged, turn=one.get(_TURN, ""), after=one.get(_AFTER, ""))
