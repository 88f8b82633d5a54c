"""Who asks a console for a page, and what people of an institution are to it."""

from __future__ import annotations

from dataclasses import dataclass

READER, OFFICER, OPERATOR = "reader", "officer", "operator"
ROLES = (READER, OFFICER, OPERATOR)

BY_PROVIDER, BY_CERTIFICATE = "login ", "certificate "
"""How the text begins that stands for a person who signed in."""


@dataclass(frozen=True)
class Person:
    """Somebody who signed in.

    Attributes:
        login: issuer and subject, or the subject of a certificate, after `BY_PROVIDER` or `BY_CERTIFICATE`.
        name: a name for pages; nothing is decided by it.
        values: what may stand for the person in a list of roles: the login, and values of a claim.
    """

    login: str
    name: str
    values: frozenset[str]


@dataclass(frozen=True)
class Visitor:
    """Who asks for a page.

    Attributes:
        form_token: what the forms of the page send back.
        roles: what the visitor is to the console; whoever opened it on its own machine is all.
        login: see `Person`; empty for whoever opened it on its own machine.
        name: see `Person`.
    """

    form_token: str
    roles: frozenset[str] = frozenset(ROLES)
    login: str = ""
    name: str = ""

    @property
    def decides(self) -> bool:
        """Whether the visitor may decide on releases."""
        return OFFICER in self.roles

    @property
    def repairs(self) -> bool:
        """Whether the visitor may see what is wrong with the software and its machine."""
        return not self.roles.isdisjoint((OFFICER, OPERATOR))
