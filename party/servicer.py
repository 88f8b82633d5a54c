"""A party behind encoded messages: the same bytes in and out, whatever carries them."""

from __future__ import annotations

import itertools
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

    def serve(self, method: str, requests: Iterator[bytes]) -> Iterator[bytes]:
        """The encoded replies to an encoded request, one or a stream of either.

        Args:
            method: name of a method of the service Party.
            requests: its encoded request, or the stream of them.

        Raises:
            MosaicError: typed, with a text that holds no private data.
        """
        match method:
            case "Describe":
                yield codec.encode_description(self._party.describe())
            case "Accept":
                terms = codec.decode_terms(_only(requests))
                yield codec.encode_acceptance(self._party.accept(terms))
            case "Introduce":
                self._party.introduce(codec.decode_introduction(_only(requests)))
                yield codec.encode_acknowledgement()
            case "Open":
                request = codec.decode_opening_request(_only(requests))
                yield from codec.encode_payload(self._party.open(request))
            case "Deliver":
                self._party.deliver(*codec.decode_delivery(requests))
                yield codec.encode_acknowledgement()
            case "Multiply":
                self._party.multiply(codec.decode_multiply_request(_only(requests)))
                yield codec.encode_acknowledgement()
            case "PrepareScores":
                self._party.prepare_scores(codec.decode_score_query(_only(requests)))
                yield codec.encode_acknowledgement()
            case "AnswerScores":
                yield from self._party.answer_scores(codec.decode_score_query(_only(requests)))
            case "Answer":
                yield from self._party.answer(codec.decode_query(_only(requests)))
            case _:
                raise ProtocolError(f"a party has no method {method!r}; compare versions")


def _only(requests: Iterator[bytes]) -> bytes:
    """The request of a method that takes one."""
    taken = list(itertools.islice(requests, 2))
    if len(taken) != 1:
        raise ProtocolError("expected one request, got none or several; compare versions")
    return taken[0]
