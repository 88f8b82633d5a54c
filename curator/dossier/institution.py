"""What only the institution knows of a release: the file `dossier.toml`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...common.forms.tables import Key, MapOf, Table
from ...common.forms.toml_file import read_by_form
from ...common.forms.values import Text, whole

NAME = "dossier.toml"
"""Name of the file; a draft of it is written beside a dossier that was made without one."""

_LINK = Text(r"https?://\S+", "a link that begins with https:// or http://")
_DAY = Text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a day as YYYY-MM-DD")

_DATASET = Table(
    {
        "title": Key(Text(), "Title of the synthetic table."),
        "description": Key(Text(), "What the real table holds, in a few sentences."),
        "url": Key(_LINK, "Where the release is published."),
        "publisher": Key(Text(), "Who publishes it."),
        "publisher_url": Key(_LINK, "The publisher's page."),
        "publisher_kind": Key(Text(), "Academia, Government, Industry or Nonprofit."),
        "license": Key(_LINK, "Under which it may be used."),
        "published": Key(_DAY, "Day of publication."),
        "region": Key(Text(), "Where the people of the real table live."),
        "sector": Key(Text(), "Such as Health, Government, Finance."),
        "use": Key(Text(), "What the synthetic table is to be used for."),
        "not_for": Key(Text(), "What it must not be used for."),
        "collected": Key(Text(), "How, and when, the real rows were collected."),
        "biases": Key(Text(), "Whom the real table lacks or counts wrongly."),
        "upkeep": Key(Text(), "Who maintains the release, and for how long."),
    }
)
_CONTROLLER = Table(
    {
        "institution": Key(Text(), "Its full name and address."),
        "contact": Key(Text(), "Whom to ask."),
        "officer": Key(Text(), "Its data protection officer."),
        "role": Key(Text(), "What it is responsible for, if controllers are joint (Art. 26 GDPR)."),
    }
)
_PROCESSING = Table(
    {
        "legal_basis": Key(Text(), "Art. 6 GDPR, and Art. 9 for special categories."),
        "subjects": Key(Text(), "Whose records they are, such as patients of two hospitals since 2015."),
        "special": Key(Text(), "Special categories among the columns, such as health or origin."),
        "recipients": Key(Text(), "Who gets the synthetic table."),
        "transfers": Key(Text(), "Third countries that it goes to, and the safeguards."),
        "retention": Key(Text(), "When the real rows and the synthetic ones are erased."),
        "necessity": Key(Text(), "Why less data, or aggregates alone, would not do."),
        "views": Key(Text(), "What people concerned, or their representatives, said (Art. 35 (9))."),
        "advice": Key(Text(), "What the data protection officer advised (Art. 35 (2))."),
    }
)
_HEALTH = Table(
    {
        "category": Key(_LINK, "Health category of the EU vocabulary (Art. 51 EHDS), as a link."),
        "body": Key(Text(), "The health data access body."),
        "body_url": Key(_LINK, "Its page."),
        "population": Key(Text(), "Whom the table covers."),
        "least_age": Key(whole(0), "Smallest usual age of its people."),
        "largest_age": Key(whole(0), "Largest usual age of its people."),
    }
)
FORM = Table(
    {
        "dataset": Key(_DATASET, "The synthetic table and its publication."),
        "controllers": Key(MapOf(_CONTROLLER), "For each party by its name: the institution behind it."),
        "processing": Key(_PROCESSING, "The processing of the real rows, in the terms of the GDPR."),
        "health": Key(_HEALTH, "Only of health data: the record for HealthDCAT-AP is written with it."),
    }
)


@dataclass(frozen=True)
class Institution:
    """What an institution says of a release.

    Attributes:
        content: of the file, by section; empty if there is no file.
    """

    content: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Institution:
        """Reads the file.

        Raises:
            DataError: it is missing, or does not fit the form; names the key.
        """
        return cls(read_by_form(path, FORM))

    def says(self, section: str, key: str) -> str:
        """What it says of a key; empty if it says nothing."""
        return str(self.content.get(section, {}).get(key, "")).strip()

    def of_controller(self, party: str, key: str) -> str:
        """What it says of the institution behind a party; empty if it says nothing."""
        return str(self.content.get("controllers", {}).get(party, {}).get(key, "")).strip()

    @property
    def has_health_data(self) -> bool:
        """Whether it describes health data."""
        return "health" in self.content


def draft(parties: tuple[str, ...]) -> str:
    """A file to fill in, with a line for each key.

    Args:
        parties: names of the parties of the release.
    """
    return "\n".join(_draft_lines(parties)) + "\n"


def _draft_lines(parties: tuple[str, ...]) -> Iterator[str]:
    yield "# What only the institution knows. Take out the # of lines, fill them in, and write it again:"
    yield f"# dpmosaic dossier RELEASE --out FOLDER --institution {NAME}"
    for section, key in FORM.keys.items():
        yield ""
        yield f"# {key.about}"
        if isinstance(key.form, MapOf):
            for party in parties or ("name-of-the-institution",):
                yield f"# [{section}.{json.dumps(party)}]"
                yield from _lines(_CONTROLLER)
        elif isinstance(key.form, Table):
            yield f"# [{section}]"
            yield from _lines(key.form)


def _lines(table: Table) -> Iterator[str]:
    for name, key in table.keys.items():
        yield f'# {name} = ""  # {key.about}'
