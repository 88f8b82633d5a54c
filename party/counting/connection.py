"""A connection to the engine that holds a party's codes, and the codes that it put on disk."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from ...common.data.domain import Domain
from .codes import Codes, keep_codes, rows_changed_error
from .engines.engine import Check, Engine, Lost, run
from .people import NOBODY, People, order_of, texts_of, used_rows
from .placed import PlacedSpool, Positions
from .spool import Spool

Result = TypeVar("Result")


def allow_always() -> None:
    """The check of a statement that is always wanted."""


class Connection:
    """Codes in an engine, made anew when the connection is lost; thread-safe, one statement at a time.

    Args:
        connect: connects to the engine.
        domain: the columns, and meaning of the codes.
        timeout_s: seconds that a statement may take.
        folder: where codes of single rows are written; see `Spool`.
        people: which rows of one person are used, and what names them.

    Raises:
        DataError: see `keep_codes` and `used_rows`; or the engine cannot be reached.
    """

    def __init__(
        self,
        connect: Callable[[], Engine],
        domain: Domain,
        timeout_s: float,
        folder: Path | None = None,
        people: People = NOBODY,
    ) -> None:
        self._connect = connect
        self.domain = domain
        """The columns, and meaning of the codes."""
        self.timeout_s = timeout_s
        """Seconds that a statement may take."""
        self._folder = folder
        self._people = people
        self._lock = threading.Lock()
        self._codes: Codes | None = None
        self._spooling = threading.Lock()
        self._spool: Callable[[], Spool | None] = lambda: None
        self._placed: weakref.WeakValueDictionary[str, PlacedSpool] = weakref.WeakValueDictionary()
        self.digest = ""
        """Of the codes, as of the party's start; see `Codes`."""
        first = self._codes_or_computed(allow_always)
        self.counts_copies = first.engine.counts_copies and first.engine.place() is not None
        """Whether releases that ask for many marginals count them in a copy of the codes on disk."""
        self.record_count, self.digest = first.record_count, first.digest

    def ask(self, question: Callable[[Codes], Result], check: Check) -> Result:
        """The answer to a question about the codes.

        Args:
            question: asks the engine.
            check: see `run`.

        Raises:
            DataError: the engine cannot be reached, or the rows changed since the party was started.
            PolicyError: it took too long.
        """
        with self._lock:
            try:
                return self._answer(question, check)
            except Lost:
                self.close()
            return self._answer(question, check)

    def order(self) -> bytes:
        """The digest of the keys in row order; see `order_digest`."""
        return self.ask(order_of, allow_always)

    def texts(self, column: str) -> Iterable[str]:
        """The text of each row in a column that names people, in order; read anew each time."""
        return _Texts(self, column)

    def shared_spool(self, check: Check) -> Spool:
        """The codes of all rows on disk, which releases share while any of them reads rows."""
        with self._spooling:
            spool = self._spool()
            if spool is None:
                spool = self.ask(lambda codes: codes.spool(self._folder), check)
                self._spool = weakref.ref(spool)
            return spool

    def copies(self, marginals: int) -> bool:
        """Whether a release that asks for so many marginals counts them in a copy of the codes on disk.

        To copy a column costs about as much as to count a marginal, so that at most twice the least is spent,
        whatever is asked. Codes leave an engine only if its rows have an order, as for releases over columns.
        """
        there = self._spool() is not None
        return self.counts_copies and (there or marginals >= len(self.domain))

    def placed_spool(self, alignment_id: str, positions: Positions, size: int, check: Check) -> PlacedSpool:
        """The codes of aligned rows on disk, which releases by one alignment share; see `PlacedSpool`."""
        with self._spooling:
            spool = self._placed.get(alignment_id)
            if spool is None:

                def make_spool(codes: Codes) -> PlacedSpool:
                    ranges = codes.batches(codes.coded_names)
                    return PlacedSpool(self._folder, self.domain, ranges, positions, size)

                spool = self._placed[alignment_id] = self.ask(make_spool, check)
            return spool

    def _answer(self, question: Callable[[Codes], Result], check: Check) -> Result:
        codes = self._codes_or_computed(check)

        def answer_and_check() -> Result:
            result = question(codes)
            codes.check_unchanged()
            return result

        return self._run(codes.engine, answer_and_check, check)

    def _codes_or_computed(self, check: Check) -> Codes:
        """The codes; computed if this connection has none."""
        if self._codes is None:
            engine = self._connect()
            try:
                codes: Codes = self._run(engine, lambda: self._encode(engine), check)
                if self.digest not in ("", codes.digest):
                    raise rows_changed_error(engine)
            except BaseException:
                engine.close()
                raise
            self._codes = codes
        return self._codes

    def _encode(self, engine: Engine) -> Codes:
        return used_rows(keep_codes(engine, self.domain, self._people.columns), self._people)

    def _run(self, engine: Engine, statement: Callable[[], Result], check: Check) -> Result:
        result: Result = run(engine, statement, check, self.timeout_s)
        return result

    def close(self) -> None:
        """Ends the connection; its codes are gone."""
        if self._codes is not None:
            self._codes.engine.close()
        self._codes = None


class _Texts(Iterable[str]):
    """Texts of a column, asked for some rows at a time."""

    def __init__(self, connection: Connection, column: str) -> None:
        self._connection = connection
        self._column = column

    def __iter__(self) -> Iterator[str]:
        batches: Iterator[list[str]] | None = None

        def following(codes: Codes) -> list[str] | None:
            nonlocal batches
            if batches is None:
                batches = texts_of(codes, self._column)
            return next(batches, None)

        while (texts := self._connection.ask(following, allow_always)) is not None:
            yield from texts
