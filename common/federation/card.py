"""Signed cards that institutions exchange to form a federation, and the list of all cards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bounded import json_of, read_bytes
from ..crypto.certificates import Certificate, check_name
from ..crypto.identity import Identity, verify
from ..errors import DataError, ProtocolError
from ..showing.printable import printable_lines
from .handover import Handover, path, read_handovers

if TYPE_CHECKING:
    from ..data.domain import Domain

_CARD, _FEDERATION = "dpmosaic card 1", "dpmosaic federation 1"
PARTY, DEALER, CURATOR = "party", "dealer", "curator"
"""Roles; the name "curator" is kept for the curator, since plans use it for a curator that deals."""


@dataclass(frozen=True)
class Card:
    """Public facts about a party, a dealer or the curator, signed by it.

    Attributes:
        role: `PARTY`, `DEALER` or `CURATOR`.
        name: name in the federation.
        identity: long-term Ed25519 public key, 32 bytes; compared out of band before a card is trusted.
        certificate: TLS certificate.
        domain: attributes that a party holds; None for a dealer or a curator.
        signature: signature by the identity over all of the above.
        handovers: how its identity followed from earlier ones; each is signed by the identity before it.
    """

    role: str
    name: str
    identity: bytes
    certificate: Certificate
    domain: Domain | None
    signature: bytes = b""
    handovers: tuple[Handover, ...] = ()

    def __post_init__(self) -> None:
        if self.role not in (PARTY, DEALER, CURATOR) or (self.domain is not None) != (self.role == PARTY):
            raise DataError(
                "expected the card of a party with a domain, or of a dealer or curator without one"
            )
        check_name_of_role(self.name, self.role)
        if self.signature:
            try:
                verify(self.identity, "card", _signed_bytes(self._body()), self.signature)
            except ProtocolError as cause:
                raise DataError(f"the card of {self.name!r} is not signed by the identity on it") from cause

    @classmethod
    def issue(
        cls,
        role: str,
        name: str,
        identity: Identity,
        certificate: Certificate,
        domain: Domain | None = None,
        handovers: tuple[Handover, ...] = (),
    ) -> Card:
        """Creates and signs a card."""
        draft = cls(role, name, identity.public, certificate, domain)
        signature = identity.sign("card", _signed_bytes(draft._body()))
        return replace(draft, signature=signature, handovers=handovers)

    @classmethod
    def from_json(cls, form: object) -> Card:
        """Reads a card and verifies its owner's signature.

        Raises:
            DataError: it is not a card, or was altered.
        """
        try:
            if not isinstance(form, dict) or form["format"] != _CARD:
                raise KeyError("format")
            domain = _domain(form["domain"])
            return cls(
                str(form["role"]),
                str(form["name"]),
                bytes.fromhex(form["identity"]),
                Certificate(str(form["certificate"]).encode()),
                domain,
                bytes.fromhex(form["signature"]) or b"none",
                read_handovers(form.get("handovers", [])),
            )
        except (KeyError, ValueError, TypeError, AttributeError):
            raise DataError(f"expected a card of the form {_CARD!r}; ask its owner for a new one") from None

    def to_json(self) -> dict[str, Any]:
        """The card as JSON values."""
        handovers = [handover.to_json() for handover in self.handovers]
        signed = self._body() | {"signature": self.signature.hex()}
        return signed | ({"handovers": handovers} if handovers else {})

    def follows(self, identity: bytes) -> bool:
        """Whether this is the same member as the one that had this identity: by it, or by its hand-overs."""
        return self.path_from(identity) is not None

    def path_from(self, identity: bytes) -> tuple[Handover, ...] | None:
        """The hand-overs from an identity to that of the card; None if none lead there."""
        return path(self.handovers, self.role, self.name, identity, self.identity)

    def _body(self) -> dict[str, Any]:
        return {
            "format": _CARD,
            "role": self.role,
            "name": self.name,
            "identity": self.identity.hex(),
            "certificate": self.certificate.pem.decode(),
            "certificate_fingerprint": self.certificate.fingerprint,
            "domain": None if self.domain is None else self.domain.to_json(),
            "domain_digest": None if self.domain is None else self.domain.digest(),
        }


@dataclass(frozen=True)
class FederationList:
    """All cards of a federation; the curator gives the list to every party.

    Attributes:
        curator: card of the curator.
        parties: cards of all parties.
        dealers: cards of all dealers, which hold no rows.
    """

    curator: Card
    parties: tuple[Card, ...]
    dealers: tuple[Card, ...] = ()

    def __post_init__(self) -> None:
        roles = [card.role for card in self.members]
        if roles != [CURATOR, *(PARTY for _ in self.parties), *(DEALER for _ in self.dealers)]:
            raise DataError("expected the card of one curator, and the cards of parties and of dealers")
        names = [card.name for card in self.members]
        if len(set(names)) < len(names):
            raise DataError("two members of the federation have the same name; give each a unique name")

    @classmethod
    def from_json(cls, form: object) -> FederationList:
        """Reads the list of a federation and verifies every card.

        Raises:
            DataError: it is not such a list, or a card was altered.
        """
        listed = _check_listing(form)
        parties, dealers = (_cards(listed.get(key)) for key in ("parties", "dealers"))
        return cls(Card.from_json(listed.get("curator")), parties, dealers)

    @staticmethod
    def curator_of(form: object) -> Card:
        """Reads and verifies the curator's card alone; quick, since it has no domain.

        Raises:
            DataError: it is no such list, or the card was altered.
        """
        return Card.from_json(_check_listing(form).get("curator"))

    @property
    def members(self) -> tuple[Card, ...]:
        """All cards: of the curator, the parties and the dealers."""
        return (self.curator, *self.parties, *self.dealers)

    def to_json(self) -> dict[str, Any]:
        """The list as JSON values."""
        parties, dealers = ([card.to_json() for card in cards] for cards in (self.parties, self.dealers))
        form = {"format": _FEDERATION, "curator": self.curator.to_json(), "parties": parties}
        return form | ({"dealers": dealers} if dealers else {})


def check_name_of_role(name: str, role: str) -> str:
    """Returns the name, if a member with this role may have it.

    Raises:
        DataError: it is not a valid name, or is kept for the curator.
    """
    if role != CURATOR and name == CURATOR:
        raise DataError(f"the name {CURATOR!r} is kept for the curator; choose another name")
    return check_name(name)


def read_json(path: Path) -> object:
    """The content of a JSON file.

    Raises:
        DataError: it cannot be read, or is not JSON.
    """
    try:
        return json_of(read_bytes(path))
    except OSError as cause:
        raise DataError(f"cannot read {path}: {cause.strerror}; fix the path") from cause
    except ValueError:
        raise DataError(f"{path} is not JSON in UTF-8; ask for the file again") from None


def as_text(form: dict[str, Any]) -> str:
    """JSON text of a file, which can be shown too: characters that are not printable are escaped."""
    text = json.dumps(form, indent=2, ensure_ascii=False) + "\n"
    return text if text == printable_lines(text) else json.dumps(form, indent=2) + "\n"


def _cards(form: object) -> tuple[Card, ...]:
    """The cards of a list; none if there is no list."""
    if not isinstance(form, Sequence | None):
        raise DataError(
            f"expected lists of cards in a file of the form {_FEDERATION!r}; ask the curator for it"
        )
    return tuple(Card.from_json(card) for card in form or ())


def _check_listing(form: object) -> dict[str, Any]:
    if not isinstance(form, dict) or form.get("format") != _FEDERATION:
        raise DataError(f"expected a file of the form {_FEDERATION!r}; ask the curator for it")
    return form


def _domain(form: object) -> Domain | None:
    if form is None:
        return None
    from ..data.domain import Domain

    return Domain.from_json(form)


def _signed_bytes(body: dict[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode("ascii")
