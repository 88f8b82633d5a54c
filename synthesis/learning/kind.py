"""What a column holds."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.data.attributes.durations import DURATIONS


@dataclass(frozen=True)
class Numbers:
    """A column of numbers.

    Attributes:
        notation: how they are written.
        decimals: digits after the point, at most; None for any.
        padded: whether all have as many, such as 1.50.
        bare: whether whole ones have no point, such as 74 beside 79.5.
        signed: whether negative ones are seen, beside `codes`.
        codes: negative ones that stand for answers that there are not, if these are all.
    """

    notation: str
    decimals: int | None
    padded: bool = False
    bare: bool = False
    signed: bool = False
    codes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Times:
    """A column of dates or timestamps.

    Attributes:
        format: as of `strptime`; a and b are a day and a month, in an order that the values show, and %N and
            %K are names of a month and of a day of the week, of names that the values show.
        detail: which parts may have one digit; see `date_forms`.
        months: the names that stand for %b; empty for those in English.
        days: those that stand for %a.
        also: other formats in which some are written; see `date_formats.written_together`.
    """

    format: str
    detail: int = 0
    months: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def timed(self) -> bool:
        """Whether it holds timestamps."""
        return "%H" in self.format or "%I" in self.format or self.format in DURATIONS


@dataclass(frozen=True)
class Words:
    """A column of well-known words.

    Attributes:
        words: those that were seen.
    """

    words: tuple[str, ...]


@dataclass(frozen=True)
class Texts:
    """A column of other texts.

    Attributes:
        words: well-known words that were seen among them.
        sentences: whether most are long.
        coded: whether most are codes, whose beginnings have a meaning of their own.
        pairs: whether most are two or three small numbers, such as 120/80.
    """

    words: tuple[str, ...]
    sentences: bool = False
    coded: bool = False
    pairs: bool = False


Kind = Numbers | Times | Words | Texts
