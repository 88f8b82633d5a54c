"""How the new keys of a synthetic table look: as the identifier says that its domain states for them.

Nothing of it is read from keys, whose form a single one of them could change.
"""

from __future__ import annotations

from dataclasses import replace

from ...errors import DataError
from ..attributes.unmodelled import WHOLE_NUMBERS, Identifier
from ..domain import Domain


def without_keys(domain: Domain, key: str, foreign: str = "") -> tuple[Domain, str]:
    """A domain without the identifiers that are keys, and the pattern of the table's own.

    Args:
        domain: of the table.
        key: column that names its rows; empty if it has none.
        foreign: its column that holds the key of its parent; empty if it has none.

    Returns:
        The domain of the columns but keys, and the pattern of new keys: whole numbers if it states none.

    Raises:
        DataError: it states those of the parent.
    """
    stated = {one.name: one.pattern for one in domain.identifiers}
    if foreign and foreign in stated:
        raise DataError(
            f"column {foreign!r}: expected its form in the domain of the table whose key it holds, found it "
            "here too; take it out of this one"
        )
    kept = tuple(one for one in domain.unmodelled if not isinstance(one, Identifier) or one.name != key)
    pattern = stated.get(key, WHOLE_NUMBERS)
    return (domain if len(kept) == len(domain.unmodelled) else replace(domain, unmodelled=kept)), pattern
