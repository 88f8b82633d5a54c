"""Pairs of columns that the release of a table's records is asked for, as a workload names them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...errors import DataError
from ...forms.nearest import hint


def checked_pairs(
    name: str,
    stated: Sequence[Sequence[str]],
    own: Sequence[str],
    ordered: bool,
    above: Collection[str],
) -> tuple[tuple[str, str], ...]:
    """The pairs that a workload names of a table.

    A column is named `value`; that of the row before `previous value`; one of a table above `patients.sex`.

    Args:
        name: the table, which belongs to another.
        stated: the pairs.
        own: its columns but keys.
        ordered: whether its rows have an order.
        above: the columns of tables above, as workloads name them.

    Raises:
        DataError: there is no pair, an entry is none, or a column is none of these.
    """
    held = {*own, *above, *(f"previous {column}" for column in own if ordered)}
    if isinstance(stated, str) or not stated:
        raise DataError(
            f"workload of {name!r}: expected pairs of columns, got none; name some, or no workload"
        )
    for pair in stated:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise DataError(
                f"workload of {name!r}: expected pairs of two columns, got another; such as "
                f"[{own[0]!r}, {max(held - {own[0]}, default='sex')!r}]"
            )
        for column in pair:
            if column not in held:
                raise DataError(
                    f"workload of {name!r}: expected a column of it, 'previous COLUMN' if it has an "
                    f"order, or 'TABLE.COLUMN' of one above, got {column!r}{hint(column, held)}; fix it"
                )
        if not {*pair} & {*own}:
            raise DataError(
                f"workload of {name!r}: expected a column of its rows in each pair, got {pair[0]!r} and "
                f"{pair[1]!r}; leave it out"
            )
    return tuple((str(one), str(other)) for one, other in stated)
