"""The section [console] of a party's policy: who may see and decide over the institution's network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...common.console.visitors import OFFICER, OPERATOR, READER
from ...common.errors import DataError
from ...common.forms.several import ListOf
from ...common.forms.tables import Key, Table
from ...common.forms.values import Text, whole
from ..named_secrets import secret_of
from ..names import POLICY

_ADDRESS = Text(
    r"https://[a-z0-9.-]+(:(?!443$)[1-9][0-9]{0,4})?",
    "https://NAME or https://NAME:PORT, in lower case and without a path",
)
_ISSUER = Text(r"https://[^\s?#]+", "an https URL, as the provider states its issuer")
_PEOPLE = ListOf(
    Text(".+", "a value of the claim, or a login"), like="a list of values of the claim, or of logins"
)

CONSOLE = Table(
    {
        "address": Key(_ADDRESS, "Where browsers find it."),
        "certificate": Key(Text(), "Its certificate, and those that lead to its authority: a PEM file."),
        "key": Key(Text(), "The private key of it: a PEM file with mode 600."),
        "provider": Key(_ISSUER, "The institution's OpenID provider, by which people sign in; or:"),
        "people_authority": Key(Text(), "The authority whose certificates people show: a PEM file."),
        "client": Key(Text(".+", "the id of a client"), "With provider: id of the console there."),
        "client_secret": Key(Text(), "With provider: where its secret is, env:NAME or file:PATH."),
        "claim": Key(Text(), "With provider: the claim whose values stand in the lists below."),
        "provider_authority": Key(Text(), "With provider: the authority of its own certificate: a PEM file."),
        "readers": Key(_PEOPLE, "Who may see it."),
        "officers": Key(_PEOPLE, "Who may decide."),
        "operators": Key(_PEOPLE, "Who may see it, and what is wrong with the software."),
        "idle_minutes": Key(whole(1, 24 * 60), "Minutes without a request that end a session."),
        "session_hours": Key(whole(1, 24), "Hours that end a session in any case."),
    }
)
"""The section [console]."""

TEMPLATE = """
# [console]                      # for dpmosaic party console --https: people of the institution's network
# address = "https://desk.example.org:8443"  # as browsers name it; a host name of its own
# certificate = "desk.pem"       # of this name, with those that lead to its authority
# key = "desk.key"               # mode 600
# provider = "https://login.example.org/realms/staff"  # an OpenID provider; needs pip install 'dpmosaic[sso]'
# client = "dpmosaic"            # registered there with the redirect address + /sign-in/back
# client_secret = "file:desk-client.txt"
# claim = "groups"               # its values stand in the lists
# people_authority = "staff.pem" # in place of a provider: whose certificates people show
# readers = ["data-governance"]  # who is in no list sees nothing
# officers = ["data-protection"] # or single logins, as approvers names them
# operators = ["it-research"]
# idle_minutes = 15
# session_hours = 8
"""

_LISTS = {"readers": READER, "officers": OFFICER, "operators": OPERATOR}
_OF_PROVIDER = ("client", "client_secret", "claim", "provider_authority")


@dataclass(frozen=True)
class ConsoleSettings:
    """What the section says; for the attributes see `CONSOLE`.

    Attributes:
        folder: folder of the policy, where paths start.
        entries: the section, which holds together.
    """

    folder: Path
    entries: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path, content: Mapping[str, Any]) -> ConsoleSettings:
        """The section of a policy's file, from its sections, which are checked.

        Raises:
            DataError: the section is missing, or does not say where, how and who.
        """
        entries = content.get("console", {})
        missing = [key for key in ("address", "certificate", "key") if key not in entries]
        if ("provider" in entries) == ("people_authority" in entries):
            missing.append("either provider or people_authority")
        if "provider" in entries and "client" not in entries:
            missing.append("client")
        if not any(entries.get(key) for key in _LISTS):
            missing.append("readers, officers or operators")
        if missing:
            raise DataError(
                f"{POLICY}: a console on the network shows nothing to people who did not sign in, and "
                f"[console] does not say how they do: expected {', '.join(missing)}; add them, or leave "
                "--https out for a console on this machine"
            )
        foreign = [key for key in _OF_PROVIDER if key in entries and "provider" not in entries]
        if foreign:
            raise DataError(f"{POLICY}: {', '.join(foreign)} in [console] go with provider; take them out")
        return cls(folder, entries)

    @property
    def address(self) -> str:
        """Where browsers find it."""
        return str(self.entries["address"])

    @property
    def idle_s(self) -> float:
        """Seconds without a request that end a session."""
        return 60.0 * int(self.entries.get("idle_minutes", 15))

    @property
    def longest_s(self) -> float:
        """Seconds that end a session in any case."""
        return 3600.0 * int(self.entries.get("session_hours", 8))

    def file(self, key: str) -> Path | None:
        """A file that the section names; None if it does not."""
        return self.folder / self.entries[key] if key in self.entries else None

    def client_secret(self) -> str | None:
        """The client's secret; None for a public client.

        Raises:
            DataError: it is not where the section says.
        """
        named = self.entries.get("client_secret")
        return None if named is None else secret_of(named, "client_secret in [console]", self.folder)

    def roles_of(self, values: frozenset[str]) -> frozenset[str]:
        """The roles of somebody for whom these values may stand in a list; none for somebody in no list."""
        return frozenset(
            role for key, role in _LISTS.items() if not values.isdisjoint(self.entries.get(key, ()))
        )
