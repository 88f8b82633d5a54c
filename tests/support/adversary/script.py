"""An honest release as a list of steps that can be taken again, changed and in any order.

A message from one role to another is one step: it is asked for anew and delivered, so that whoever takes it
again carries what the sender says now. Methods and messages come from the description of the service.
"""

from dataclasses import dataclass, replace

from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor

from dpmosaic.common.wire import party_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["Party"]
METHODS = {method.name: method for method in SERVICE.methods}
MESSAGES = {name: message_factory.GetMessageClass(method.input_type) for name, method in METHODS.items()}
"""The type of the requests of every method."""

FRAMES = pb.DeliveryFrame.DESCRIPTOR
SENDING = frozenset(name for name, method in METHODS.items() if method.output_type is FRAMES)
"""Methods whose replies are delivered to another role."""

DELIVERING = frozenset(name for name, method in METHODS.items() if method.input_type is FRAMES)


def release_of(message):
    """The id of the release that a request belongs to; empty if it names none."""
    for field in message.DESCRIPTOR.fields:
        if field.name == "release_id":
            return message.release_id
        if (
            field.type == FieldDescriptor.TYPE_MESSAGE
            and not field.is_repeated
            and message.HasField(field.name)
        ):
            return release_of(getattr(message, field.name))
    return ""


@dataclass(frozen=True)
class Ask:
    """A request of the curator, and perhaps the delivery of its replies.

    Attributes:
        place: who is asked.
        method: the method.
        requests: encoded requests.
        recipient: to whom the replies are delivered; None if they are the curator's.
        header: encoded header of the delivery.
    """

    place: int
    method: str
    requests: tuple[bytes, ...]
    recipient: int | None = None
    header: bytes = b""

    @property
    def kinds(self):
        """The method, and of a delivery its kind."""
        frame = self.header or (self.requests[0] if self.method in DELIVERING else b"")
        return {self.method} | ({pb.DeliveryFrame.FromString(frame).header.kind} if frame else set())

    def take(self, world, most=None, relayed=list):
        """Asks, and delivers.

        Args:
            world: all roles.
            most: number of replies that are taken; None for all.
            relayed: what is delivered in place of the replies.

        Returns:
            The replies.
        """
        replies = world.seats[self.place].call(self.method, list(self.requests), most)
        if self.recipient is not None:
            world.seats[self.recipient].call("Deliver", [self.header, *relayed(replies)])
        return replies

    def changed(self, change, number=0):
        """The same step with another request, and a header that says the same.

        Args:
            change: changes a message, and returns the names of the fields that are concerned.
            number: which of the requests is changed.
        """
        requests = list(self.requests)
        message = MESSAGES[self.method].FromString(requests[number])
        fields = change(message)
        requests[number] = message.SerializeToString()
        if self.recipient is None:
            return replace(self, requests=tuple(requests))
        frame = pb.DeliveryFrame.FromString(self.header)
        for name in fields & {one.name for one in frame.header.DESCRIPTOR.fields}:
            copied(message, frame.header, name)
        return replace(self, requests=tuple(requests), header=frame.SerializeToString())


def copied(source, target, name):
    """One field of a message, as another message has it."""
    theirs, own = (message.DESCRIPTOR.fields_by_name[name] for message in (source, target))
    if theirs.type != own.type or theirs.is_repeated != own.is_repeated:
        return
    target.ClearField(name)
    if own.is_repeated:
        getattr(target, name).extend(getattr(source, name))
    elif own.type == FieldDescriptor.TYPE_MESSAGE:
        getattr(target, name).CopyFrom(getattr(source, name))
    else:
        setattr(target, name, getattr(source, name))


def script_of(noted):
    """The steps of a release from all its messages.

    Args:
        noted: (place, method, requests, replies), in order.
    """
    sent, steps = {}, []
    for place, method, requests, replies in noted:
        if method in SENDING:
            sent[tuple(replies)] = place, method, tuple(requests)
        elif method in DELIVERING and tuple(requests[1:]) in sent:
            steps.append(Ask(*sent[tuple(requests[1:])], place, requests[0]))
        else:
            steps.append(Ask(place, method, tuple(requests)))
    return steps
