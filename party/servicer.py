"""A party behind encoded messages: the same bytes in and out, whatever carries them."""

from __future__ import annotations

from collections.abc import Iterator

from ..common.errors import ProtocolError
from ..common.wire import codec
from .party import Party


class PartyServicer:
    """Decodes requests, asks the party, encodes what it says.

    Args:
        party: the institution.
    """

    def __init__(self, party: Party) -> None:
        self._party = party

    def serve(self, method: str, request: bytes) -> Iterator[bytes]:
        """The encoded replies to one encoded request, one or a stream of them.

        Args:
            method: name of a method of the service Party.
            request: its encoded request.

        Raises:
            MosaicError: typed, with a text that holds no private data.
        """
        match method:
            case "Describe":
                yield codec.encode_description(self._party.describe())
            case "Accept":
                self._party.accept(codec.decode_terms(request))
                yield codec.encode_acceptance()
            case "Answer":
                yield from self._party.answer(codec.decode_query(request))
            case _:
                raise ProtocolError(f"a party has no method {method!r}; compare versions")
