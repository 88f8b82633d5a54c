"""Concepts rolled up to few categories by what is public: the hierarchy of the vocabulary.

The categories of a domain are its concepts with the most descendants, as many as are wanted; every concept
belongs to the nearest category above it. No record has a say in it.
"""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from ...common.errors import DataError
from .database import Connection
from .model import NO_CONCEPT

_PAIRS = """
    members AS (
        SELECT concept_id AS id FROM concept WHERE domain_id = $domain AND standard_concept IN ('S', 'C')
    ),
    pairs AS (
        SELECT ancestor_concept_id AS above, descendant_concept_id AS below,
            min_levels_of_separation AS levels
        FROM concept_ancestor
        SEMI JOIN members AS a ON a.id = ancestor_concept_id
        SEMI JOIN members AS d ON d.id = descendant_concept_id
        WHERE ancestor_concept_id <> descendant_concept_id
        UNION ALL SELECT id, id, 0 FROM members
    )
"""

_SIZES = (
    f"WITH {_PAIRS} SELECT above AS id, count(DISTINCT below) AS size FROM pairs GROUP BY above ORDER BY id"
)

_NEAREST = f"""
    WITH {_PAIRS}
    SELECT below AS concept_id, first(above ORDER BY levels, above) AS category
    FROM pairs WHERE list_contains($listed, above) GROUP BY below ORDER BY below
"""


def categories(
    connection: Connection, domain: str, most: int, always: Collection[int] = ()
) -> tuple[int, ...]:
    """The concepts of a domain that have the most descendants.

    Args:
        connection: a CDM.
        domain: name of the domain, such as "Condition".
        most: largest number of categories; of concepts with equally many descendants all or none are among
            them.
        always: concepts that are among them if the vocabulary has them.

    Returns:
        The concepts, in increasing order.

    Raises:
        DataError: the vocabulary has no concept of the domain, or no hierarchy of so few.
    """
    sizes = connection.execute(_SIZES, {"domain": domain}).df().set_index("id")["size"]
    kept = [concept for concept in always if concept in sizes.index]
    if sizes.empty:
        raise DataError(
            f"concept: expected standard concepts of the domain {domain}, found none; add the vocabularies "
            "that the records use"
        )
    others = sizes.drop(kept)
    ranked = others.value_counts().sort_index(ascending=False).cumsum()
    fitting = ranked[ranked <= most - len(kept)]
    found = [] if fitting.empty else others.index[others >= fitting.index[-1]].tolist()
    if (not kept and not found) or len(kept) > most:
        raise DataError(
            f"concept_ancestor: expected at most {most} concepts that stand for those of {domain}, "
            "found more that are alike; allow more categories, or add the hierarchy"
        )
    return tuple(sorted({*kept, *found}))


def nearest(connection: Connection, domain: str, listed: Collection[int]) -> pd.DataFrame:
    """The category of each concept of a domain: the nearest above it, of equally near ones the first.

    Args:
        connection: a CDM.
        domain: name of the domain.
        listed: the categories.

    Returns:
        The columns `concept_id` and `category`, without concepts that are below none.
    """
    found: pd.DataFrame = connection.execute(_NEAREST, {"domain": domain, "listed": sorted(listed)}).df()
    return found


def names_of(concepts: Collection[int]) -> list[str]:
    """Categories of a domain file for concepts: their numbers as texts, with that of no concept."""
    return [str(concept) for concept in (*concepts, NO_CONCEPT)]
