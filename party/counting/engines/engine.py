"""An engine that counts a party's rows: what is asked of every one, and how a statement is run."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray
from sqlglot import exp

from ....common.data.attributes.attribute import Attribute
from ....common.data.domain import Domain
from ....common.errors import DataError, PolicyError
from .kinds import Kind

Check = Callable[[], None]
"""Raises if nobody waits for the answer any more, such as after a release was abandoned."""

_LOOK_S = 0.2
"""Seconds between two looks whether a statement is still wanted."""


class Lost(DataError):
    """The connection to an engine is gone, or cannot be made; a new one may work."""


class Engine(ABC):
    """A connection to where the rows live. One statement at a time.

    Errors of the engine are raised as DataError, `Lost` where another connection may work; their messages
    contain nothing that the engine says, since that may be a cell or a secret.
    """

    dialect: ClassVar[str]
    """Name of its SQL in sqlglot."""

    name: str
    """What messages call it."""

    counts_copies: ClassVar[bool] = False
    """Whether many marginals are counted in a copy of the codes at the party, if the rows have an order."""

    @abstractmethod
    def kinds(self) -> Mapping[str, Kind]:
        """The names of the source's columns in order, and what they hold."""

    @abstractmethod
    def column(self, name: str) -> exp.Expr:
        """A column of the source."""

    @abstractmethod
    def source(self) -> exp.Expr:
        """The source, to select from."""

    composes: ClassVar[bool] = True
    """Whether its texts come composed (`compose`)."""

    @abstractmethod
    def text(self, value: exp.Expr) -> exp.Expr:
        """A value as text that is compared byte by byte, composed if the engine `composes`."""

    @abstractmethod
    def keep(self, name: str, rows: exp.Select) -> exp.Expr | None:
        """Computes rows once, into a temporary table of this connection; returns it, to select from.

        None if the party has no right to create one: then they are computed for every query.
        """

    @abstractmethod
    def drop(self, table: exp.Expr) -> None:
        """Deletes a kept table."""

    def order(self) -> exp.Expr | None:
        """What orders the rows of the source, to number those that are kept; None if nothing has to."""
        return None

    @abstractmethod
    def check_order(self, used: Collection[str]) -> None:
        """Returns if the rows have one order every time, or none.

        Args:
            used: the columns that are read.

        Raises:
            DataError: some of them have the same place in it.
        """

    @abstractmethod
    def place(self) -> exp.Expr | None:
        """What numbers the rows of a kept table in the source's order; None if the source has none."""

    @abstractmethod
    def fetch(self, query: exp.Select) -> list[NDArray[Any]]:
        """The columns of a query's answer."""

    @abstractmethod
    def batches(self, rows: exp.Select) -> Iterator[list[NDArray[Any]]]:
        """Columns of a kept table in the order of `place`, some rows after the other."""

    def encode(
        self,
        codes: exp.Expr,
        domain: Domain,
        attributes: Mapping[str, Attribute],
        reasons: Mapping[str, str],
    ) -> exp.Expr:
        """Kept codes with some columns replaced by what Python's encoders give; refuses by default.

        Args:
            codes: the kept table.
            domain: of all columns.
            attributes: by the names of the columns that are replaced.
            reasons: why SQL does not give their codes, by the same names.

        Raises:
            DataError: a cell has no code; or the engine would have to send the cells, and does not.
        """
        found = "; ".join(f"column {one.name!r}: {reasons[key]}" for key, one in attributes.items())
        raise DataError(
            f"{self.name}: expected columns that {self.dialect} encodes as the domain says, found {found}; "
            "write query in place of table in [source] of policy.toml, and cast the column in it, or export "
            "the table to Parquet; the domain file stays as the other parties have it"
        )

    def let_go(self) -> None:
        """Called after the codes are kept, which is all that is asked for from then on."""
        return None

    def check_alive(self) -> None:
        """Returns if the connection is there.

        Raises:
            Lost: it is gone.
        """
        self.fetch(exp.select("1"))

    @abstractmethod
    def interrupt(self) -> None:
        """Ends the statement that another thread runs, which then raises; thread-safe."""

    @abstractmethod
    def close(self) -> None:
        """Ends the connection."""

    @abstractmethod
    def hash_of(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """A whole number of 64 bits for each row, of the values of its columns."""


class Interruptible(Protocol):
    """What runs statements, and can end one."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def interrupt(self) -> None:
        """Ends the statement that another thread runs, which then raises; thread-safe."""


def run(engine: Interruptible, statement: Callable[[], Any], check: Check, timeout_s: float) -> Any:
    """Runs a statement in another thread while this one looks whether it is still wanted.

    Args:
        engine: engine of the statement.
        statement: calls the engine.
        check: called several times a second.
        timeout_s: after so many seconds the statement is ended.

    Raises:
        PolicyError: it took longer.
        DataError: the engine refused it.
        MosaicError: what `check` raised; the statement was ended.
    """
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["result"] = statement()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, name="engine", daemon=True)
    end = time.monotonic() + timeout_s
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_S)
        try:
            if not thread.is_alive():
                break
            check()
            if time.monotonic() > end:
                raise PolicyError(
                    f"{engine.name}: a statement took longer than timeout_s in [source] of the policy; its "
                    "owner raises the limit, or gives the engine more of the machine"
                )
        except BaseException:
            while thread.is_alive():
                engine.interrupt()
                thread.join(_LOOK_S)
            raise
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]
