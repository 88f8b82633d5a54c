"""Names of columns in a query, and the refusal of what is not supported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from ....common.data.attributes.dates import GapAttribute
from ....common.errors import DataError
from ....common.forms.nearest import hint, nearest
from .language import SUPPORTED

_KNOWN_NAMED = 12

_FUNCTIONS = tuple(re.findall(r"([A-Z_]{3,})\(", SUPPORTED))


class Names:
    """The columns of a release.

    Args:
        names: of all columns.
        gaps: those that come after others, by name; `died - admitted` asks for such a gap.
    """

    def __init__(self, names: Sequence[str], gaps: Mapping[str, GapAttribute]) -> None:
        self.names, self.gaps = names, gaps

    def column(self, asked: exp.Expr) -> str:
        """A column of which values are asked; of one that comes after another, the gap."""
        name = self.column_name(asked)
        if isinstance(asked.unnest(), exp.Column) and (gap := self.gaps.get(name)):
            raise DataError(
                f"the column {name!r} comes after {gap.other!r}, and a release holds how many "
                f"{gap.unit_name} after: ask for {gap.difference} or COUNT({name}), or draw rows and compute "
                "with their dates"
            )
        return name

    def column_name(self, named: exp.Expr) -> str:
        """The name of a column, as the release has it."""
        named = named.unnest()
        if (gap := self._gap(named)) is not None:
            return gap.name
        if not isinstance(named, exp.Column) or isinstance(named.this, exp.Star):
            raise self.refusal_of(named)
        if named.args.get("table") is not None and (named.table.lower() != "release" or named.db):
            raise DataError(f"unknown table {named.table!r}; a release has one table; name the column alone")
        if named.name in self.names:
            return named.name
        alike = [name for name in self.names if name.casefold() == named.name.casefold()]
        if len(alike) == 1:
            return alike[0]
        raise DataError(f"unknown column {named.name!r}; {suggested(named.name, self.names)}")

    def is_column(self, asked: exp.Expr) -> bool:
        """Whether a column, or a difference of two that is known as one, is asked."""
        return isinstance(asked, exp.Column) or self._gap(asked) is not None

    def may_be_text(self, column: exp.Expr) -> bool:
        """Whether somebody wrote text in double quotes, which are those of names."""
        alike = {name.casefold() for name in self.names}
        return isinstance(column, exp.Column) and column.this.quoted and column.name.casefold() not in alike

    def refusal_of(self, node: exp.Expr) -> DataError:
        """The error of a node that is not supported, or that is the name of a column without quotes."""
        text = node.sql(dialect="duckdb")
        for name in self.names:
            if not name.isidentifier() and "".join(name.split()) in "".join(text.split()):
                return DataError(f'the name of the column {name!r} needs double quotes: write "{name}"')
        meant = hint(node.name.upper(), _FUNCTIONS) if isinstance(node, exp.Anonymous) else ""
        return unsupported_error(f"{text}{meant}")

    def _gap(self, asked: exp.Expr) -> GapAttribute | None:
        """The column that comes after another, if their difference is asked."""
        if not isinstance(asked, exp.Sub):
            return None
        sides = [side.unnest().name.casefold() for side in (asked.this, asked.expression)]
        found = (gap for gap in self.gaps.values() if sides == [gap.name.casefold(), gap.other.casefold()])
        return next(found, None)


def suggested(text: str, known: Sequence[str]) -> str:
    """What there is instead, and what of it is most like the text."""
    near = nearest(text, known)
    listed = ", ".join(map(repr, known[:_KNOWN_NAMED])) + (
        f" and {len(known) - _KNOWN_NAMED} more" * (len(known) > _KNOWN_NAMED)
    )
    return ("" if near is None else f"did you mean {near!r}? ") + f"The release has {listed}"


def check_parts(node: exp.Expr, *known: str) -> None:
    """Refuses a node with more parts than these."""
    more = [key for key, part in node.args.items() if part and key not in known]
    if more:
        raise unsupported_error(more[0].strip("_").replace("_", " ").upper())


def unsupported_error(what: str) -> DataError:
    """The error of a query with something that is not supported."""
    return DataError(f"the query has {what}, which is not supported; ask {SUPPORTED}")
