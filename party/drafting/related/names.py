"""What names of tables and columns say: whose rows they are, and which column holds whose keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PEOPLE = frozenset(
    "person people patient customer client user member student pupil employee staff subject participant "
    "respondent citizen resident household family passenger guest driver player subscriber policyholder "
    "insured applicant borrower donor voter worker teacher human individual kunde patientin schueler schüler "
    "mitarbeiter versicherte teilnehmer haushalt benutzer student studierende persona paciente cliente "
    "usuario alumno empleado hogar personne élève ménage".split()
)
"""Words that name people, or those who live together."""

_OF_TABLES = frozenset("data dataset table tbl dim master info list details record records csv file".split())
"""Words that say of what a name is that it is a table."""

_OTHERS_OF_ITS_KIND = frozenset(
    "parent manager supervisor boss chief head leader mentor mother father partner spouse reports reportsto "
    "referrer referred previous prior predecessor original replaces reply vorgesetzte vorgesetzter".split()
)
"""Words that name a row by another of the same table."""

_NAMED_KEY = re.compile(r"(?i)(id|no|nr|key|code|number)$")


def is_of_people(name: str) -> bool:
    """Whether the last word of a table's name names people: in person_wave they are what the rows are of."""
    words = [word.casefold() for word in _words_of(name)]
    last = next((one for one in reversed(words) if not (one in _OF_TABLES or one.isdigit())), "")
    return bool(_PEOPLE & {*_singular(last)})


def is_key_by_name(column: str) -> bool:
    """Whether a column is named as one of keys."""
    return _NAMED_KEY.search(column) is not None


def names_another_row(column: str) -> bool:
    """Whether a column is named after what another row of the same table is to this one, as managers are."""
    return bool(_OTHERS_OF_ITS_KIND & _words(column))


def alike(parent: str, key: str, column: str) -> int:
    """How surely a column is named as a table's key: 3 as both together, 2 with more before, 1 as the key."""
    whole, held = _plain(key), _plain(column)
    names = {_plain(one) for name in (parent, *_words_of(parent)[-1:]) for one in _singular(name)} - {""}
    short = _plain(next(iter(_words_of(key)), ""))
    owns = whole.startswith(tuple(names)) or (len(short) > 2 and _plain(parent).startswith(short))
    if held in names | {name + whole for name in names} or (held == whole and owns):
        return 3
    endings = {name + whole for name in names} | ({whole} if owns and whole not in names else set())
    return 2 if held != whole and held.endswith(tuple(endings)) else int(held == whole)


def _singular(name: str) -> Iterator[str]:
    endings = (("", ""), ("s", ""), ("es", ""), ("ies", "y"))
    return (name.removesuffix(many) + one for many, one in endings if name.casefold().endswith(many))


def _words_of(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub(r"([^\W_A-Z])([A-Z])", r"\1 \2", name))


def _words(name: str) -> set[str]:
    """The words of a name in the singular, without capitals, and all of them joined."""
    words = [*_words_of(name), _plain(name)]
    return {one.casefold() for word in words for one in _singular(word)}


def _plain(name: str) -> str:
    """A name without what is written between words, and without capitals: customer_id is CustomerID."""
    return re.sub(r"[\W_]", "", name).casefold()
