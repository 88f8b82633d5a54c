"""Encoding of a curator's requests to a party; invalid bytes are a ProtocolError."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..data.domain import Clique
from ..data.grouping import Groups
from ..data.view import View
from ..errors import ProtocolError
from ..messages import (
    AnswerForm,
    DealRequest,
    DeliveryKind,
    MarginalQuery,
    MultiplyRequest,
    OpeningRequest,
    PushRequest,
    ScoreQuery,
)
from ..protocols.masked.plan import Chain
from . import party_pb2 as pb
from .parsing import parse_message


def encode_query(query: MarginalQuery) -> bytes:
    """Bytes of a MarginalQuery."""
    return _query_message(query).SerializeToString()


def decode_query(data: bytes) -> MarginalQuery:
    """The MarginalQuery of these bytes."""
    return _query_of(parse_message(pb.MarginalQuery, data))


def encode_answer_request(query: MarginalQuery, charges: Sequence[bytes]) -> bytes:
    """Bytes of an AnswerRequest.

    Args:
        query: query to answer.
        charges: signatures of all parties of the slice over their charges; empty if the party is alone.
    """
    return pb.AnswerRequest(query=_query_message(query), charges=charges).SerializeToString()


def decode_answer_request(data: bytes) -> tuple[MarginalQuery, tuple[bytes, ...]]:
    """The query and the charges of an AnswerRequest; the signatures are not verified here."""
    message = parse_message(pb.AnswerRequest, data)
    return _query_of(message.query), tuple(message.charges)


def encode_charged(signature: bytes) -> bytes:
    """Bytes of a Charged: a party's signature over the ledger entry of a query."""
    return pb.Charged(signature=signature).SerializeToString()


def decode_charged(data: bytes) -> bytes:
    """The signature of a Charged, which is not verified here."""
    return parse_message(pb.Charged, data).signature


def _query_message(query: MarginalQuery) -> pb.MarginalQuery:
    return pb.MarginalQuery(
        release_id=query.release_id,
        query_id=query.query_id,
        form=pb.AnswerForm.Name(query.form.value),
        clique=query.clique,
        sigma=query.sigma,
        boxes=[pb.Box(starts=[a for a, _ in box], stops=[b for _, b in box]) for box in query.view.boxes],
        interaction=query.view.interaction,
        other_sigmas=query.other_sigmas,
        groups=_encoded_groups(query.view.groups),
    )


def _query_of(message: pb.MarginalQuery) -> MarginalQuery:
    try:
        return MarginalQuery(
            release_id=message.release_id,
            query_id=message.query_id,
            form=AnswerForm(message.form),
            view=View(
                tuple(message.clique),
                groups=_decoded_groups(message.groups),
                boxes=tuple(tuple(zip(box.starts, box.stops, strict=True)) for box in message.boxes),
                interaction=message.interaction,
            ),
            sigma=message.sigma,
            other_sigmas=tuple(message.other_sigmas),
        )
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent query: {cause}; compare versions") from None


def _encoded_groups(groups: Groups) -> list[pb.Grouping]:
    return [pb.Grouping(labels=labels) for labels in groups]


def _decoded_groups(groupings: Iterable[pb.Grouping]) -> Groups:
    return tuple(tuple(grouping.labels) for grouping in groupings)


def encode_score_query(query: ScoreQuery) -> bytes:
    """Bytes of a ScoreQuery; they differ from those of any marginal query."""
    message = pb.ScoreQuery(
        release_id=query.release_id,
        query_id=query.query_id,
        cliques=encoded_chain(view.clique for view in query.views),
        sigma=query.sigma,
        references=query.references,
        largest_reference=query.largest_reference,
        largest_total=query.largest_total,
        groups=[pb.Groups(groupings=_encoded_groups(groups)) for groups in query.groups],
    )
    return message.SerializeToString()


def decode_score_query(data: bytes) -> ScoreQuery:
    """The ScoreQuery of these bytes."""
    message = parse_message(pb.ScoreQuery, data)
    cliques = decoded_chain(message.cliques)
    groups = tuple(_decoded_groups(each.groupings) for each in message.groups)
    none: tuple[Groups, ...] = ((),) * len(cliques)
    try:
        if groups and len(groups) != len(cliques):
            raise ValueError("it must have groups for each of its cliques, or for none")
        return ScoreQuery(
            message.release_id,
            message.query_id,
            tuple(View(clique, groups) for clique, groups in zip(cliques, groups or none, strict=True)),
            message.sigma,
            message.references,
            message.largest_reference,
            message.largest_total,
        )
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent score query: {cause}; compare versions") from None


def encode_opening_request(request: OpeningRequest) -> bytes:
    """Bytes of an OpeningRequest."""
    message = pb.OpeningRequest(
        release_id=request.release_id,
        chain=encoded_chain(request.chain),
        recipient=request.recipient,
        query_id=request.query_id,
        step=request.step,
        kind=pb.DeliveryKind.Name(request.kind.value),
    )
    return message.SerializeToString()


def decode_opening_request(data: bytes) -> OpeningRequest:
    """The OpeningRequest of these bytes."""
    message = parse_message(pb.OpeningRequest, data)
    try:
        return OpeningRequest(
            message.release_id,
            decoded_chain(message.chain),
            message.recipient,
            DeliveryKind(message.kind),
            message.query_id,
            message.step,
        )
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent request: {cause}; compare versions") from None


def encode_push_request(request: PushRequest) -> bytes:
    """Bytes of a PushRequest."""
    opening = pb.OpeningRequest()
    opening.ParseFromString(encode_opening_request(request.opening))
    message = pb.PushRequest(opening=opening, recipient=request.recipient, sender=request.sender)
    return message.SerializeToString()


def decode_push_request(data: bytes) -> PushRequest:
    """The PushRequest of these bytes."""
    message = parse_message(pb.PushRequest, data)
    opening = decode_opening_request(message.opening.SerializeToString())
    return PushRequest(opening, message.recipient, message.sender)


def encode_deal_request(request: DealRequest) -> bytes:
    """Bytes of a DealRequest."""
    message = pb.DealRequest(
        release_id=request.release_id,
        kind=pb.DeliveryKind.Name(request.kind.value),
        recipient=request.recipient,
        chains=encoded_chains(request.chains),
        owner=request.owner,
    )
    return message.SerializeToString()


def decode_deal_request(data: bytes) -> DealRequest:
    """The DealRequest of these bytes."""
    message = parse_message(pb.DealRequest, data)
    try:
        return DealRequest(
            message.release_id,
            DeliveryKind(message.kind),
            message.recipient,
            decoded_chains(message.chains),
            message.owner,
        )
    except ValueError as cause:
        raise ProtocolError(f"expected a consistent request: {cause}; compare versions") from None


def encode_multiply_request(request: MultiplyRequest) -> bytes:
    """Bytes of a MultiplyRequest."""
    message = pb.MultiplyRequest(
        release_id=request.release_id,
        chains=encoded_chains(request.chains),
    )
    return message.SerializeToString()


def decode_multiply_request(data: bytes) -> MultiplyRequest:
    """The MultiplyRequest of these bytes."""
    message = parse_message(pb.MultiplyRequest, data)
    return MultiplyRequest(message.release_id, decoded_chains(message.chains))


def encoded_chain(chain: Iterable[Clique]) -> list[pb.Part]:
    """A chain or a list of cliques as a field of a message."""
    return [pb.Part(attributes=part) for part in chain]


def decoded_chain(parts: Iterable[pb.Part]) -> Chain:
    """The chain or list of cliques in such a field."""
    return tuple(tuple(part.attributes) for part in parts)


def encoded_chains(chains: Iterable[Chain]) -> list[pb.Chain]:
    """Several chains as a field of a message."""
    return [pb.Chain(parts=encoded_chain(chain)) for chain in chains]


def decoded_chains(chains: Iterable[pb.Chain]) -> tuple[Chain, ...]:
    """The chains in such a field."""
    return tuple(decoded_chain(chain.parts) for chain in chains)
