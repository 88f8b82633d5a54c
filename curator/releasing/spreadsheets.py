"""Text that a spreadsheet would run as a formula when it opens a CSV file.

Source: OWASP, "CSV Injection": a leading apostrophe makes a cell text.
"""

from __future__ import annotations

import pandas as pd

from ...common.data.attribute import Attribute
from ...common.data.categorical import CategoricalAttribute
from ...common.data.domain import Domain

_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")


def attributes_like_formulas(domain: Domain) -> tuple[str, ...]:
    """Attributes whose name or one of whose labels begins like a formula, in domain order.

    Numbers are not formulas, nor is text that reads as a number, such as "-5".
    """
    return tuple(
        attribute.name for attribute in domain.attributes if any(map(_is_formula, _texts(attribute)))
    )


def with_apostrophes(rows: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """The rows with an apostrophe before every name and label that begins like a formula.

    Args:
        rows: decoded rows; columns are attributes of the domain.
        domain: domain of the table.
    """
    safe = {}
    for attribute in (domain[name] for name in rows):
        column = rows[attribute.name]
        for text in _labels(attribute):
            if _is_formula(text):
                column = column.mask(column == text, "'" + text)
        safe[attribute.name] = column
    names = {name: "'" + name for name in rows if _is_formula(name)}
    return pd.DataFrame(safe).rename(columns=names)


def _texts(attribute: Attribute) -> tuple[str, ...]:
    return (attribute.name, *_labels(attribute))


def _labels(attribute: Attribute) -> tuple[str, ...]:
    if not isinstance(attribute, CategoricalAttribute):
        return ()
    return tuple(category for category in attribute.categories if isinstance(category, str))


def _is_formula(text: str) -> bool:
    return text.startswith(_BEGINNINGS) and not _is_number(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
