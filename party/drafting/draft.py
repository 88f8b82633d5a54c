"""A drafted domain that a person reviews: shown as a table, edited in place, confirmed and saved."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...common.bounded import json_of
from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.unmodelled import Computed
from ...common.data.domain import Domain, read_form
from ...common.data.domain_files.reading import parts_of, read_entry
from ...common.errors import DataError
from ...common.files.writing import told_if_unwritable, whole_file
from ...common.forms.nearest import hint
from .known import Offer, offer_for
from .review_table import ReviewedColumn, as_html, as_text, review_column

NOT_PRIVATE = (
    "This draft was read from the private rows, without any privacy: show it to nobody. Replace bounds and "
    "categories by what is publicly known, and confirm each entry that is public, or take out its "
    '"reviewed": false. Releases with an entry that nobody has reviewed are marked as not private.'
)


@dataclass(eq=False, repr=False)
class Draft:
    """A drafted domain file, with marks on what was read from rows and nobody has reviewed yet.

    Attributes:
        entries: column -> entry, in the file's order.
        suggested_rules: rules that the rows keep; not applied until somebody moves them to `rules`.
        remarks: for the owner: column and sentence. No value is named in them.
        rules: rules that apply.
    """

    entries: dict[str, Any]
    suggested_rules: Sequence[Mapping[str, Any]]
    remarks: Sequence[tuple[str, str]] = ()
    rules: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def load(cls, path: str | Path) -> Draft:
        """Reads a domain file, whose entries may be reviewed or not.

        Raises:
            DataError: it cannot be read, or is no domain.
        """
        form = read_form(path)
        Domain.from_json(form)
        entries, rules, suggested = parts_of(form)
        listed = suggested if isinstance(suggested, list) else []
        return cls(dict(entries), listed, (), rules or ())

    def without(self, columns: Collection[str]) -> Draft:
        """The draft without some columns, and what it says of them."""
        return replace(
            self,
            entries={name: entry for name, entry in self.entries.items() if name not in columns},
            suggested_rules=[
                rule for rule in self.suggested_rules if not names_in(rule).intersection(columns)
            ],
            remarks=[(name, remark) for name, remark in self.remarks if name not in columns],
        )

    def with_entries(self, entries: Mapping[str, Any]) -> Draft:
        """The draft with other entries of some columns that are computed, and no rules about these."""
        held = {name: entries.get(name, one) for name, one in self.entries.items()}
        return replace(self.without(entries), entries=held)

    @property
    def domain(self) -> Domain:
        """The domain, without the suggested rules.

        Raises:
            DataError: there is no column that a release can hold.
        """
        return Domain.from_json(self.to_json())

    @property
    def is_held(self) -> bool:
        """Whether there is a column that a release can hold."""
        return bool(attributes_of(self.entries))

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """The columns whose entries were read from private rows, and that nobody has reviewed."""
        return tuple(name for name, entry in self.entries.items() if not _is_reviewed(entry))

    @property
    def offers(self) -> dict[str, Offer]:
        """What is publicly known about unreviewed columns of well-known names; see `accept_offers`."""
        found = {name: offer_for(name, self.entries[name]) for name in self.unreviewed}
        return {name: offer for name, offer in found.items() if offer is not None}

    @property
    def columns(self) -> list[ReviewedColumn]:
        """What a person reviews of each column, in words."""
        offers = self.offers
        return [review_column(name, entry, offers.get(name)) for name, entry in self.entries.items()]

    def __getitem__(self, name: str) -> Any:
        """The entry of a column, to read; assign another one, or use `set`, to change it."""
        entry = self.entries[self._known_name(name)]
        return MappingProxyType(entry) if isinstance(entry, dict) else entry

    def __setitem__(self, name: str, entry: Any) -> None:
        """States the entry of a column, which counts as reviewed unless it says otherwise.

        Raises:
            DataError: no such column, or it is no entry.
        """
        self.entries[self._known_name(name)] = _check_entry(name, entry)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def set(self, name: str, /, **keys: Any) -> None:
        """Changes some keys of a column's entry; what else was read from rows still has to be confirmed.

        Args:
            name: of the column.
            keys: as in a domain file, such as `min=0, max=120`; None takes a key out.

        Raises:
            DataError: no such column, or the entry would be none.
        """
        entry = as_object(self.entries[self._known_name(name)]) | keys
        self[name] = {key: value for key, value in entry.items() if value is not None}

    def drop(self, *names: str) -> None:
        """Leaves columns out of the domain, and so out of every release; with the rules about them.

        Raises:
            DataError: no such column, or another one that stays comes after it.
        """
        for name, entry in self.entries.items():
            other = next(iter(entry.get("after", ())), None) if isinstance(entry, Mapping) else None
            if other in names and name not in names:
                raise DataError(
                    f"attribute {name!r} comes after {other!r}: drop both, or give {name!r} min and max"
                )
        for name in map(self._known_name, names):
            del self.entries[name]
        self.suggested_rules = [rule for rule in self.suggested_rules if not names_in(rule) & {*names}]
        self.rules = [rule for rule in self.rules if not names_in(rule) & {*names}]

    def confirm(self, *names: str) -> None:
        """States that entries are public knowledge, as they stand.

        Args:
            names: of columns; all columns if none is named.

        Raises:
            DataError: no such column.
        """
        for name in map(self._known_name, names or tuple(self.entries)):
            if not _is_reviewed(self.entries[name]):
                self.entries[name] = {k: v for k, v in self.entries[name].items() if k != "reviewed"}

    def accept_offers(self, *names: str) -> None:
        """Takes over what is publicly known about columns of well-known names, and confirms their entries.

        Whether values can be missing, and how they are written, stays as it was read from the rows.

        Args:
            names: of columns; all for which something is offered if none is named.

        Raises:
            DataError: no such column, or nothing is offered for it.
        """
        offers = self.offers
        for name in map(self._known_name, names or tuple(offers)):
            if name not in offers:
                raise DataError(
                    f"attribute {name!r}: nothing is publicly known by its name; edit or confirm it"
                )
            self[name] = offers[name].entry

    def to_json(self) -> dict[str, Any]:
        """The content of a domain file."""
        lists = {"rules": list(self.rules), "suggested_rules": list(self.suggested_rules)}
        given = {key: found for key, found in lists.items() if found}
        return {"attributes": dict(self.entries), **given} if given else dict(self.entries)

    def save(self, path: str | Path) -> None:
        """Writes a domain file, which replaces another of this name as a whole.

        Raises:
            DataError: the file cannot be written.
        """
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False)
        with told_if_unwritable(Path(path)), whole_file(Path(path)) as draft:
            draft.write_text(text + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        return as_text(self.columns, self.remarks, self._notes)

    def _repr_html_(self) -> str:
        return as_html(self.columns, self.remarks, self._notes)

    @property
    def _notes(self) -> list[str]:
        """What stands below the table."""
        notes = [NOT_PRIVATE] if self.unreviewed else ["Every entry is reviewed."]
        if self.suggested_rules:
            notes.append(
                f"{len(self.suggested_rules)} rules that the rows keep are suggested, and not applied."
            )
        return notes

    def _known_name(self, name: str) -> str:
        if name not in self.entries:
            near = hint(str(name), self.entries)
            raise DataError(f"unknown attribute {name!r}{near}; the draft has {', '.join(self.entries)}")
        return name


def _is_reviewed(entry: Any) -> bool:
    return not isinstance(entry, Mapping) or entry.get("reviewed", True) is not False


def attributes_of(entries: Mapping[str, Any]) -> dict[str, Attribute]:
    """The columns of a draft that a model would hold, by name."""
    read = (read_entry(name, entry) for name, entry in entries.items())
    held = (one.attribute if isinstance(one, Computed) and one.measured else one for one in read)
    return {one.name: one for one in held if isinstance(one, Attribute)}


def unheld(entries: Mapping[str, Any]) -> set[str]:
    """Those of some columns that are computed which no model holds as well."""
    return {name for name, entry in entries.items() if "measured" not in entry}


def as_object(entry: Any) -> dict[str, Any]:
    """An entry as an object."""
    if isinstance(entry, Mapping):
        return dict(entry)
    return (
        {"type": "codes", "n": entry}
        if isinstance(entry, int)
        else {"type": "categorical", "categories": entry}
    )


def _check_entry(name: str, entry: Any) -> Any:
    """An entry as JSON holds it.

    Raises:
        DataError: it is none.
    """
    try:
        form = json_of(json.dumps(entry, default=dict))
    except (TypeError, ValueError):
        raise DataError(
            f"attribute {name!r}: expected an entry of a domain file, of texts, numbers, true, false and "
            "lists; write dates as text"
        ) from None
    read_entry(name, form)
    return form


def names_in(rule: Mapping[str, Any]) -> set[str]:
    """All texts in a rule, the names of its columns among them."""

    def texts(form: Any) -> Iterable[str]:
        if isinstance(form, Mapping):
            for key, value in form.items():
                yield from (key, *texts(value))
        elif isinstance(form, (list, tuple)):
            for one in form:
                yield from texts(one)
        elif isinstance(form, str):
            yield form

    return set(texts(rule))
