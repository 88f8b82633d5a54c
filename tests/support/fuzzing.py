"""Malformed messages for a party: mutations of every message of a real release, by fields and by bytes."""

import itertools
import math
import resource
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import MosaicError, PolicyError
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.promises.statement import Claim
from dpmosaic.common.protocols.alignment.plan import ALIGNMENT
from dpmosaic.common.wire import party_pb2 as pb
from dpmosaic.common.wire import streams
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.direct_streams import DirectStreams
from dpmosaic.curator.releasing.agreement import Proposal, agree
from dpmosaic.curator.releasing.aligning.over_parties import match_slices
from dpmosaic.curator.releasing.planning.alignment_order import AlignmentProposal
from dpmosaic.party.policies.direct import Direct
from dpmosaic.party.serving.servicer import PartyServicer
from dpmosaic.simulations.parties.network import policy_for, start_parties
from support.aligning import Aligning, order
from support.parties import cut, layout, random_table
from support.terms import PURPOSE, SPEC

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 2})
TABLE = random_table(DOMAIN, 12)
MESSAGES = {
    method.name: GetMessageClass(method.input_type)
    for method in pb.DESCRIPTOR.services_by_name["Party"].methods
}
"""The type of the requests of every method."""

DROPOUTS = "masked, of which a party may drop out"
"""Named as a protocol here."""

PROTOCOLS = {
    "trusted": "1x1",
    "masked": (layout(7, "ab c"), layout(5, "abc")),
    "indicator": "1x2",
    ALIGNMENT: "1x2",
    DROPOUTS: "4x1",
}
"""Protocols, and the grid of their parties; together their releases use every method."""

PUSHING, PUSHED = "party-1-1", "party-1-2"
"""With `masked`, the party that sends openings itself, and the one that takes them."""

DEALER = "party-2-1"
"""The party that deals with `masked`, for the slice of the other two."""

CLOSING = ("Certify", "Abandon")
"""Methods after which a release answers nothing."""

RARELY = (*CLOSING, "Describe", "Probe")
"""Methods that are called a quarter as often as others."""

EXTREME_NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63))
EXTREME_FLOATS = (0.0, -1.0, 1e-300, 5e-324, 1e300, math.inf, -math.inf, math.nan, 2.0**-20, 2.0**40)

EXTREME_TEXTS = ("", "a", "b", "c", "\x00", "é", "a" * 5000, "../../x", "<b>[/]", "000001", "0" * 32)


class Recorded:
    """A connection that notes every message."""

    def __init__(self, link, place, sent):
        self.link, self.place, self.sent = link, place, sent

    def call(self, method, requests):
        requests = list(requests)
        self.sent.append((self.place, method, requests))
        yield from self.link.call(method, requests)


def parties_of(protocol):
    """New parties; every call gives parties with the same keys."""
    if protocol == ALIGNMENT:
        return Aligning([[["p", "q", "r"], ["q", "r", "s", ""]]], seed=1).links
    pieces = cut(TABLE, PROTOCOLS[protocol])
    policy = policy_for(protocol.split(",")[0], PrivacyUnit(Adjacency.ZERO_OUT), 2.0)
    policy = replace(policy, dealers=frozenset({DEALER}), may_deal=True)
    links = start_parties(pieces, policy, RandomStream.from_seed(1))
    if protocol == "masked":
        one, other = (link.servicer._party for link in links[0])
        links[0][1].servicer = PartyServicer(other, direct=Direct(take=frozenset({PUSHING})))
        sending = InProcess(links[0][1].servicer, one.describe().identity)
        links[0][0].servicer = PartyServicer(one, direct=sending, side=lambda: None)
    return links


class InProcess(Direct):
    """Sends openings to another party in this process.

    Args:
        recipient: servicer of the other party.
        identity: of this one.
    """

    def __init__(self, recipient, identity):
        super().__init__(send={PUSHED: "in this process"})
        object.__setattr__(self, "recipient", recipient)
        object.__setattr__(self, "identity", identity)

    def send_to(self, own, name, delivery, frames):
        """See `Direct.send_to`."""
        if name not in self.send:
            raise PolicyError("the policy names no such party")
        header = streams.encode_delivery(delivery)
        list(self.recipient.serve_peer("Deliver", itertools.chain([header], frames), self.identity))


def release_of(protocol):
    """All messages of a release, in order: (place of the party, method, encoded requests)."""
    links, sent = parties_of(protocol), []
    places = itertools.count()
    recorded = [[Recorded(link, next(places), sent) for link in row] for row in links]
    if protocol == ALIGNMENT:
        return alignment_of(recorded, sent)
    check = "one-hot" if protocol == "masked" else ""
    spec = replace(SPEC, protocol=protocol.split(",")[0], check=check, may_drop_out=protocol == DROPOUTS)
    proposal = Proposal("0" * 32, spec, Fraction(2), PURPOSE)
    dealers = [DEALER] if protocol == "masked" else []
    agreement = agree(DOMAIN, recorded, proposal, dealers=dealers, direct=DirectStreams.ALLOWED)
    measurer = agreement.measurer()
    rho = Fraction(1, 20)
    boxes = (((0, 2), (0, 1)), ((2, 3), (0, 2)))
    measurer.measure([Query(View(("a",)), rho, "s"), Query(View(("a", "b"), boxes=boxes), rho, "s")])
    measurer.measure(
        [Query(View(("a", "c"), interaction=True), rho, "s"), Query(View(("a", "b", "c")), rho, "s")]
    )
    groups = ((0, 1, 0), ())
    measurer.measure([Query(View(("a", "c"), groups=groups), rho, "s")])
    if measurer.scores_exactly:
        measurer.score([View(("a", "c"))], [np.arange(6)], rho, "s")
        measurer.score([View(("a", "c"), groups)], [np.arange(4)], rho, "s")
    for member in agreement.federation.members:
        member.client.probe(0)
        member.client.certify(Claim(proposal.release_id, bytes(32), 2.0))
        member.client.abandon(proposal.release_id)
    return sent


def alignment_of(links, sent):
    """All messages of an alignment, in order."""
    proposal = AlignmentProposal("0" * 32, order(), SPEC)
    agreement = agree(Domain.coded({"a0": 2, "a1": 2}), links, proposal, counted=False)
    match_slices(agreement, RandomStream.from_seed(1))
    for member in agreement.federation.members:
        member.client.probe(0)
        member.client.certify(Claim(proposal.release_id, bytes(32), 2.0))
        member.client.abandon(proposal.release_id)
    return sent


class Fuzzer:
    """Sends malformed messages to parties in random states of a release.

    Args:
        protocol: protocol of the release.
        seed: of all choices.
    """

    def __init__(self, protocol, seed):
        self.protocol, self.rng = protocol, np.random.default_rng(seed)
        self.sent = release_of(protocol)
        self.by_method = {}
        for place, method, requests in self.sent:
            self.by_method.setdefault(method, []).append((place, requests))
        self.methods = [m for m in self.by_method for _ in range(1 if m in RARELY else 4)]
        self.renew()

    def renew(self):
        """New parties, brought to a random step of the release."""
        self.links = [link for row in parties_of(self.protocol) for link in row]
        opened = [message for message in self.sent if message[1] not in CLOSING]
        for place, method, requests in opened[: self.rng.integers(1, len(opened) + 1)]:
            list(self.links[place].servicer.serve(method, iter(requests), b""))

    def step(self):
        """One malformed message, a refusal or an answer; any other error is raised with the message.

        Returns:
            The method, and whether it was refused.
        """
        method = str(self.rng.choice(self.methods))
        kept = self.by_method[method]
        place, requests = kept[int(self.rng.integers(len(kept)))]
        requests = self._mutated(method, requests)
        try:
            for _ in self.links[place].servicer.serve(method, iter(requests), b""):
                pass
        except MosaicError:
            return method, True
        except Exception as error:
            shown = [request[:2000].hex() for request in requests[:4]]
            raise AssertionError(f"{self.protocol} {method} raised {error!r} for {shown}") from error
        if method in CLOSING:
            self.renew()
        return method, False

    def _mutated(self, method, requests):
        rng = self.rng
        requests = list(requests)
        kind = rng.integers(10)
        if kind == 0:
            return [rng.bytes(int(rng.integers(0, 200))) for _ in range(int(rng.integers(0, 3)))]
        if kind == 1:
            return [requests[i] for i in rng.integers(0, len(requests), int(rng.integers(0, 4)))]
        at = int(rng.integers(len(requests)))
        for _ in range(int(rng.integers(1, 4))):
            change = self._other_field if kind < 7 else self._other_bytes
            requests[at] = change(method, requests[at])
        return requests

    def _other_bytes(self, _method, data):
        """Flipped, cut, inserted or repeated bytes, or a huge length."""
        rng, data = self.rng, bytearray(data)
        at = int(rng.integers(len(data) + 1))
        match rng.integers(6):
            case 0 if data:
                data[at % len(data)] ^= 1 << int(rng.integers(8))
            case 1:
                del data[at:]
            case 2:
                data[at:at] = rng.bytes(int(rng.integers(1, 9)))
            case 3:
                data[at:at] = data[: int(rng.integers(1, 99))]
            case 4:
                data[at:at] = b"\xff\xff\xff\xff\x07"
            case 5:
                data[at : at + 4] = int(rng.integers(2**32)).to_bytes(4, "big")
        return bytes(data)

    def _other_field(self, method, data):
        """Another value of one field, at any depth."""
        try:
            message = MESSAGES[method].FromString(data)
        except DecodeError:
            return data
        inner = message
        while True:
            fields = inner.DESCRIPTOR.fields
            if not fields:
                return data
            field = fields[int(self.rng.integers(len(fields)))]
            value = getattr(inner, field.name)
            if field.type != FieldDescriptor.TYPE_MESSAGE:
                break
            if field.is_repeated:
                if not value or self.rng.random() < 0.3:
                    self._other_count(value)
                    return message.SerializeToString()
                inner = value[int(self.rng.integers(len(value)))]
            else:
                value.SetInParent()
                inner = value
        self._set(inner, field)
        return message.SerializeToString()

    def _other_count(self, values):
        """Fewer, more or very many elements."""
        if values and self.rng.random() < 0.4:
            del values[int(self.rng.integers(len(values)))]
            return
        for _ in range(int(self.rng.choice([1, 2, 300]))):
            values.add().CopyFrom(values[0]) if values else values.add()

    def _set(self, inner, field):
        found = self._value(field)
        if field.type == FieldDescriptor.TYPE_BYTES and not field.is_repeated and self.rng.random() < 0.7:
            found = self._other_bytes(None, getattr(inner, field.name))
        if found is None:
            return
        if not field.is_repeated:
            setattr(inner, field.name, found)
            return
        values = getattr(inner, field.name)
        if values and self.rng.random() < 0.5:
            values[int(self.rng.integers(len(values)))] = found
        else:
            values.extend([found] * int(self.rng.choice([1, 2, 300])))

    def _value(self, field):
        rng = self.rng
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
                return rng.bytes(int(rng.choice([0, 1, 31, 32, 33, 64, 4000])))
            case FieldDescriptor.CPPTYPE_STRING:
                return EXTREME_TEXTS[int(rng.integers(len(EXTREME_TEXTS)))]
            case FieldDescriptor.CPPTYPE_BOOL:
                return bool(rng.integers(2))
            case FieldDescriptor.CPPTYPE_DOUBLE:
                return EXTREME_FLOATS[int(rng.integers(len(EXTREME_FLOATS)))]
            case FieldDescriptor.CPPTYPE_ENUM:
                return int(rng.integers(0, 18))
        number = EXTREME_NUMBERS[int(rng.integers(len(EXTREME_NUMBERS)))]
        low, high = _RANGES[field.cpp_type]
        return number if low <= number <= high else None


_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def resident_mib():
    """Memory of this process that is in use now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
